"""Cases from the standard's own node tests: as they are, and with their sizes multiplied.

Which sizes of a test may grow is asked of onnxruntime: axes of equal size in all inputs grow together, and a size whose
growth it refuses stays as it is. Arrays grow by repetition, so that indices stay in range, and arguments in the domain
of a function.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from benchmarks.tables.case import IR_VERSION, OPSET, SIZES, Case, declared
from benchmarks.tables.peer import DTYPES, opset_of, peer_session

ELEMENTS = {"typical": 1 << 14, "large": 1 << 20}
"""Elements of the largest input that sizes are multiplied for."""
_LONGEST, _MOST_BYTES = 0.03, 1 << 26
"""Seconds and bytes of results past which a case grows no further: products and pairs grow faster than their inputs."""
_ARGUMENT = 16
"""Elements up to which an input of integers behind the first is an argument, such as axes, which models fix."""

_OF_LINES = {"Conv", "ConvInteger", "ConvTranspose", "Col2Im", "DeformConv", "QLinearConv"}
"""Operators whose tests have equal sizes of axes that have nothing to do with each other: they grow by lines alone."""

VARIANTS = ("", ", constant arguments")
"""What is behind the name of a test in that of a form."""

Arrays = Mapping[str, Any]


@cache
def node_tests() -> dict[str, Any]:
    """The tests of single operators, without those that spell an operator out in others."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it overflows casts on purpose
        tests = {test.name.removeprefix("test_"): test for test in load_model_tests(kind="node")}
    return {name: test for name, test in sorted(tests.items()) if "_expanded" not in name and _common(test)}


def cases(name: str) -> Iterator[Case]:
    """A test in all sizes that it can be given, with computed arguments, and with constant ones if it has any."""
    test = node_tests()[name]
    model = _readable(test.model)
    inputs, _ = test.data_sets[0]
    feeds = dict(zip((value.name for value in model.graph.input), map(_plain, inputs), strict=False))
    grown = _grown(model, feeds)
    arguments = [key for key, value in list(feeds.items())[1:] if _is_argument(value)]
    for rest, constants in zip(VARIANTS, ([], arguments), strict=True):
        if not rest or constants:
            for size, arrays in grown:
                yield Case(operator_of(test), f"{name}{rest}", size, *_fixed(model, arrays, constants))


def operator_of(test: Any) -> str:
    """The operator that a test is of."""
    return str(test.model.graph.node[-1].op_type)


def _common(test: Any) -> bool:
    """Whether a test has inputs of the types of the tables alone, and operators that models for running have."""
    if not {entry.domain for entry in test.model.opset_import} <= {"", "ai.onnx.ml"}:
        return False
    arrays = [_plain(item) for item in test.data_sets[0][0]]
    return all(_dtype(item) in DTYPES for item in arrays if isinstance(item, np.ndarray))


def _dtype(array: Any) -> str:
    return "string" if array.dtype.kind in "OUS" else str(array.dtype)


def _readable(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model in a version that onnxruntime takes, whose results have the types that follow from its inputs."""
    changed = copy.deepcopy(model)
    changed.ir_version = min(changed.ir_version, IR_VERSION)
    for entry in changed.opset_import:
        if not entry.domain:
            entry.version = min(entry.version, *(opset_of(node.op_type, OPSET) for node in changed.graph.node))
    return changed


def _grown(model: onnx.ModelProto, feeds: Arrays) -> list[tuple[str, Arrays]]:
    """Inputs for the sizes that a case can be given."""
    sizes: list[tuple[str, Arrays]] = [(SIZES[0], feeds)]
    arrays = {name: value for name, value in feeds.items() if isinstance(value, np.ndarray)}
    if not arrays or len(arrays) < len(feeds) or not all(array.size for array in arrays.values()):
        return sizes
    growing = _growing(model, arrays)
    for size, elements in ELEMENTS.items():
        larger = _of_elements(model, arrays, growing, elements)
        if larger is not None and _elements(larger) > 4 * _elements(sizes[-1][1]):
            sizes.append((size, larger))
    return sizes


def _growing(model: onnx.ModelProto, arrays: Arrays) -> list[int]:
    """Sizes of axes that can be multiplied, alone and together; those of arguments alone never."""
    growing: list[int] = []
    if any(node.op_type in _OF_LINES for node in model.graph.node):
        return growing
    arrays_but_arguments = [array for array in arrays.values() if not _is_argument(array)]
    for size in sorted({size for array in arrays_but_arguments for size in array.shape if size > 1}, reverse=True):
        if all(_runs(model, _multiplied(arrays, sizes, 2)) is not None for sizes in ([size], [*growing, size])):
            growing.append(size)
    return growing


def _of_elements(model: onnx.ModelProto, arrays: Arrays, growing: Sequence[int], elements: int) -> Arrays | None:
    """The inputs multiplied until the largest has so many elements, or a run takes too long; None if none can."""
    if not growing:
        return None
    largest, factor = None, 2
    while True:
        larger = _multiplied(arrays, growing, factor)
        seconds = _runs(model, larger) if _elements(larger) <= 2 * elements else None
        if seconds is None:
            return largest
        largest = larger
        if seconds > _LONGEST or _elements(larger) >= elements // 2:
            return largest
        factor += max(1, factor // 2)


def _elements(arrays: Arrays) -> int:
    return max(int(array.size) for array in arrays.values())


def _multiplied(arrays: Arrays, sizes: Iterable[int], factor: int) -> dict[str, Any]:
    """Arrays repeated along the axes of these sizes."""
    growing = set(sizes)
    return {
        name: np.tile(array, [factor if size in growing else 1 for size in array.shape])
        for name, array in arrays.items()
    }


def _runs(model: onnx.ModelProto, arrays: Arrays) -> float | None:
    """Seconds of a run by onnxruntime; None if it refuses."""
    if _elements(arrays) > 1 << 23:
        return None
    try:
        session = peer_session(_fixed(model, arrays, ())[0].SerializeToString())
        start = perf_counter()
        results = session.run(None, arrays)
    except Exception:  # whatever it has against a model
        return None
    seconds = perf_counter() - start
    return seconds if sum(getattr(result, "nbytes", 0) for result in results) < _MOST_BYTES else None


def _fixed(model: onnx.ModelProto, arrays: Arrays, constants: Sequence[str]) -> tuple[onnx.ModelProto, Arrays]:
    """A model for inputs of these shapes, some of them constants of it, and the arrays that are left."""
    changed = copy.deepcopy(model)
    graph = changed.graph
    types = {value.name: value for value in graph.input}
    names = [value.name for value in graph.input]
    del graph.input[:]
    for name in names:
        array = arrays.get(name)
        if name in constants:
            graph.initializer.append(numpy_helper.from_array(array, name))
        elif isinstance(array, np.ndarray):
            graph.input.append(declared(name, array))
        else:
            graph.input.append(types[name])
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.ClearField("type")
    return changed, {name: value for name, value in arrays.items() if name not in constants}


def _is_argument(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iub" and value.ndim < 2 and value.size <= _ARGUMENT


def _plain(item: Any) -> Any:
    """An array or a list for what a test has, which may be a message of protobuf."""
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, onnx.SequenceProto):
        return numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return numpy_helper.to_optional(item)
    return np.asarray(item) if isinstance(item, np.generic) else item
