"""Observed types: what a run shows of values whose rank nobody knew before, such as what If gives by either branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.dtypes import DType
from ingot.ir.types import TensorType
from ingot.prim.functions import STORED
from ingot.prim.tensor import Call
from ingot.runtime.plan import Plan

ObservedTypes: TypeAlias = Mapping[str, TensorType]
"""The element types and ranks that values of a model had in a run, by name."""

OpenResults: TypeAlias = Sequence[tuple[int, str]]
"""Results of a call that another call reads as they come, by number and name: of unknown rank, or no tensors."""


def open_results(plan: Plan) -> dict[Call, OpenResults]:
    """The results of the calls of a plan that other calls read as they come; kernels might, given their types."""
    calls = [segment.call for segment in plan.segments if isinstance(segment.call, Call)]
    read = {tensor for call in calls for tensor in call.arguments}
    results = {call: [result for result in plan.call_results.get(call, ()) if result.opaque] for call in calls}
    return {
        call: [(result.index, call.node.outputs[result.index].name) for result in own if result in read]
        for call, own in results.items()
    }


class TypeNotes:
    """The types that one run shows of results of unknown rank."""

    def __init__(self) -> None:
        self._types: dict[str, TensorType | None] = {}

    def note(self, results: OpenResults, values: Sequence[Any]) -> None:
        """Note the types of results of a call; a value that has several, in a loop, is taken to have none."""
        for index, name in results:
            array = values[index]
            dtype = DType.of(array.dtype) if isinstance(array, np.ndarray) else DType.UNDEFINED
            type_ = TensorType(dtype, (None,) * array.ndim) if dtype in STORED else None
            if self._types.setdefault(name, type_) != type_:
                self._types[name] = None

    @property
    def types(self) -> ObservedTypes:
        """The types by name."""
        return {name: type_ for name, type_ in self._types.items() if type_ is not None}
