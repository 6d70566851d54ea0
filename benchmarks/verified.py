"""The sizes that inference finds, held against those of every value when the model runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

import ingot
from benchmarks.found import names_of, undeclared
from ingot.dims import Dim, evaluate, symbol
from ingot.infer.stepwise import types_of
from ingot.ir.types import TensorType

RUNS: tuple[dict[str, int], ...] = (
    {"batch": 3, "tokens": 5, "frames": 7, "before": 4, "height": 40, "width": 72},
    {"batch": 1, "tokens": 9, "frames": 12, "before": 1, "height": 64, "width": 33},
)
"""The sizes with which the exported models run."""


def verified(model: onnx.ModelProto) -> tuple[int, list[str], list[str]]:
    """How many sizes of how many values the runs bear out, which they do not, and the names made up, with where."""
    bare = undeclared(model)
    loaded = ingot.from_onnx(bare)
    found = types_of(loaded, name_sizes=True)
    computed = [value for node in loaded.graph for value in node.outputs if value.name]
    session = ingot.Session(bare)
    held = 0
    wrong: list[str] = []
    made: dict[str, str] = {}
    for run in RUNS:
        feeds, sizes = _feeds(loaded, run)
        results = session.run([value.name for value in computed], feeds)
        for value, result in zip(computed, results, strict=True):
            type_ = found.get(value)
            if not isinstance(type_, TensorType) or type_.shape is None or len(type_.shape) != result.ndim:
                wrong.append(f"{value.name} is {type_}, in a run {result.shape}")
                continue
            for dim, size in zip(type_.shape, result.shape, strict=True):
                lone = _lone_name(dim)
                if lone is not None and lone not in sizes:
                    sizes[lone] = size
                    made[lone] = f"`{lone}`, of {value.producer.op_type if value.producer else '?'}"
                if dim is not None and evaluate(dim, sizes) == size:
                    held += 1
                else:
                    wrong.append(f"{value.name} is {type_}, in a run {result.shape}")
    return held, wrong, list(made.values())


def _lone_name(dim: Dim | None) -> str | None:
    names = names_of(dim)
    return next(iter(names)) if len(names) == 1 and dim == symbol(next(iter(names))) else None


def _feeds(model: ingot.Model, run: dict[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
    """Random inputs of the sizes of a run, and those sizes."""
    rng = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for value in model.inputs:
        assert isinstance(value.type, TensorType)
        shape = [evaluate(dim, run) for dim in value.type.shape or () if dim is not None]
        if value.type.dtype is ingot.DType.INT64:
            feeds[value.name] = rng.integers(0, 2, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape, np.float32)
    return feeds, dict(run)
