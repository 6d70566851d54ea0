"""The verifier of primitives: types and sizes follow the rule of each, and regions are closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.prim.coded import BITS, Coded, Dequantised
from ingot.prim.descent import Descent
from ingot.prim.functions import CONVERSIONS, FUNCTIONS, NARROW_FLOATS
from ingot.prim.make import count, is_byte_contraction, is_narrow_contraction
from ingot.prim.order import SORTED, Order
from ingot.prim.region import BodyArgument, Branch, RegionResult, Repeat
from ingot.prim.show import names_of
from ingot.prim.suppression import Suppression
from ingot.prim.tensor import (
    AssumeShape,
    CallResult,
    Concat,
    Constant,
    Contract,
    Expand,
    Gather,
    Iota,
    Map,
    Pad,
    Parameter,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Scatter,
    Size,
    Sizes,
    Slice,
    Tensor,
    View,
    Window,
)
from ingot.prim.walk import in_order

_REDUCTIONS = {"add", "multiply", "maximum", "minimum", "and", "or"}


def verify(results: Sequence[Tensor]) -> None:
    """CompileError, with the place, if a tensor that `results` are computed from breaks the rule of its primitive.

    So does one that is computed from itself, and one that reads an argument of a body outside of it.
    """
    _refuse_cycles(results)
    free: dict[Tensor, frozenset[Tensor]] = {}
    for tensor in in_order(results):
        reason = next(_problems(tensor), None)
        free[tensor] = _free_arguments(tensor, free)
        if reason is None and isinstance(tensor, RegionResult) and isinstance(tensor.region, Repeat):
            own = {tensor.region.number, *tensor.region.states}
            if any(own & free[operand] for operand in tensor.region.before):
                reason = "what is read before the first run depends on an argument of the body"
        if reason is not None:
            where = f"in {names_of(results)[tensor]}: {_named(tensor)}"
            raise CompileError(f"a primitive breaks its rule: {reason}", where=(where,))
    for result in results:
        for argument in free[result]:
            message = "an argument of a body is read outside of it"
            raise CompileError(message, where=(f"argument {_named(argument)}", f"read by {_named(result)}"))


def _refuse_cycles(results: Sequence[Tensor]) -> None:
    done: set[Tensor] = set()
    open_: set[Tensor] = set()
    pending: list[tuple[Tensor, bool]] = [(result, False) for result in results]
    while pending:
        tensor, is_complete = pending.pop()
        if is_complete:
            open_.discard(tensor)
            done.add(tensor)
        elif tensor in open_:
            raise CompileError("a tensor is computed from itself", where=(_named(tensor),))
        elif tensor not in done:
            open_.add(tensor)
            pending.append((tensor, True))
            pending.extend((operand, False) for operand in tensor.reads if operand not in done)


def _free_arguments(tensor: Tensor, free: dict[Tensor, frozenset[Tensor]]) -> frozenset[Tensor]:
    """The arguments of bodies that a tensor depends on and is not inside the region of."""
    if isinstance(tensor, BodyArgument):
        return frozenset({tensor})
    read = frozenset[Tensor]().union(*(free[operand] for operand in tensor.reads))
    if isinstance(tensor, RegionResult) and isinstance(tensor.region, Repeat):
        return read - {tensor.region.number, *tensor.region.states}
    return read


def _problems(tensor: Tensor) -> Iterator[str]:
    """The rules that a tensor breaks, if what it reads is valid."""
    if any(isinstance(size, int) and size < 0 for size in tensor.shape):
        yield "a size is negative"
    match tensor:
        case Constant():
            yield from _same("sizes", tensor.array.shape, tensor.shape)
            yield from _same("element types", DType.of(tensor.array.dtype), tensor.dtype)
        case Coded():
            yield from _coded(tensor)
        case Iota():
            yield from _same("element types", DType.INT64, tensor.dtype)
            yield from _axes((tensor.axis,), tensor.rank)
        case Size():
            yield from _same("element types", DType.INT64, tensor.dtype)
            yield from _same("sizes", (), tensor.shape)
        case Map():
            yield from _map(tensor)
        case Reduce():
            yield from _reduction(tensor.function, tensor, tensor.x)
            yield from _axes(tensor.axes, tensor.x.rank)
            shape = tuple(1 if axis in tensor.axes else size for axis, size in enumerate(tensor.x.shape))
            yield from _same("sizes", shape, tensor.shape)
        case Scan():
            yield from _reduction(tensor.function, tensor, tensor.x)
            yield from _axes((tensor.axis,), tensor.rank)
            yield from _same("sizes", tensor.x.shape, tensor.shape)
        case Contract():
            yield from _contract(tensor)
        case View():
            yield from _same("element types", tensor.x.dtype, tensor.dtype)
            yield from _view(tensor)
        case Gather():
            yield from _same("element types", tensor.x.dtype, tensor.dtype)
            yield from _places(tensor.places, tensor.x, tensor.shape)
        case Scatter():
            yield from _same("element types", tensor.x.dtype, tensor.dtype, tensor.updates.dtype)
            yield from _same("sizes", tensor.x.shape, tensor.shape)
            yield from _places(tensor.places, tensor.x, tensor.updates.shape)
            if tensor.function is not None and tensor.function not in _REDUCTIONS:
                yield f"'{tensor.function}' is no reduction"
        case Concat():
            yield from _concat(tensor)
        case Descent():
            yield from _descent(tensor)
        case Order():
            yield from _order(tensor)
        case Suppression():
            yield from _suppression(tensor)
        case RegionResult():
            yield from _region(tensor)
        case CallResult() | Parameter() | BodyArgument():
            pass
        case _:
            yield "there is no such primitive"


def _map(tensor: Map) -> Iterator[str]:
    for argument in tensor.arguments:
        yield from _same("sizes", argument.shape, tensor.shape)
    dtypes = [argument.dtype for argument in tensor.arguments]
    if tensor.function in CONVERSIONS:
        if len(dtypes) != 1:
            yield f"{tensor.function} of {len(dtypes)} arguments"
        elif tensor.function == "bitcast":
            yield from _same("widths", dtypes[0].numpy.itemsize, tensor.dtype.numpy.itemsize)
        return
    function = FUNCTIONS.get(tensor.function)
    if function is None:
        yield f"there is no function '{tensor.function}'"
    elif function.arity != len(dtypes):
        yield f"{function.name} of {len(dtypes)} arguments, which takes {function.arity}"
    elif function.result == "bool":
        yield from _same("element types", *dtypes)
        yield from _same("element types", DType.BOOL, tensor.dtype)
    elif function.result == "second":
        yield from _same("element types", DType.BOOL, dtypes[0])
        yield from _same("element types", *dtypes[1:], tensor.dtype)
    else:
        yield from _same("element types", *dtypes, tensor.dtype)


def _reduction(function: str, tensor: Tensor, x: Tensor) -> Iterator[str]:
    if function not in _REDUCTIONS:
        yield f"'{function}' is no reduction"
    yield from _same("element types", x.dtype, tensor.dtype)


def _contract(tensor: Contract) -> Iterator[str]:
    types = tensor.lhs.dtype, tensor.rhs.dtype, tensor.dtype
    if not is_byte_contraction(*types) and not is_narrow_contraction(*types):
        yield from _same("element types", tensor.lhs.dtype, tensor.rhs.dtype, tensor.dtype)
    sizes: dict[str, Dim] = {}
    for labels, operand in zip(tensor.labels, (tensor.lhs, tensor.rhs, tensor), strict=True):
        if len(set(labels)) != len(labels) or len(labels) != operand.rank:
            yield f"labels '{labels}' for {operand.rank} axes"
            return
        for label, size in zip(labels, operand.shape, strict=True):
            if operand is tensor and label not in sizes:
                yield f"label '{label}' is of the result alone"
            yield from _same(f"sizes of '{label}'", sizes.setdefault(label, size), size)


def _coded(tensor: Coded) -> Iterator[str]:
    yield from _same("element types", DType.FLOAT32, tensor.dtype)
    if tensor.bits not in BITS or tensor.rank != 2:
        yield f"{tensor.rank} axes of codes of {tensor.bits} bits"
        return
    rows, depth = tensor.shape
    blocks = (rows, -(-depth // tensor.block))
    yield from _same("sizes of scales", blocks, tensor.scale.shape)
    if not isinstance(tensor.zero, int):
        yield from _same("sizes of zeros", blocks, tensor.zero.shape)
    if tensor.meaning is not None:
        yield from _same("numbers of codes", 1 << tensor.bits, len(tensor.meaning.numbers()))
        if not isinstance(tensor.zero, int) or tensor.zero:
            yield "zeros of codes that stand for other numbers"


def _view(tensor: View) -> Iterator[str]:
    x = tensor.x
    match tensor:
        case Permute():
            if sorted(tensor.order) != list(range(x.rank)):
                yield f"{list(tensor.order)} is no order of {x.rank} axes"
            else:
                yield from _same("sizes", tuple(x.shape[axis] for axis in tensor.order), tensor.shape)
        case Expand():
            yield from _same("ranks", x.rank, tensor.rank)
            for size, whole in zip(x.shape, tensor.shape, strict=False):
                if size != 1:
                    yield from _same("sizes", size, whole)
        case Reshape():
            yield from _same("numbers of elements", count(x.shape), count(tensor.shape))
        case Dequantised():
            yield from _same("sizes", x.shape, tensor.shape, tensor.coded.shape)
            yield from _same("element types", tensor.dtype, x.dtype)
            if x.dtype not in NARROW_FLOATS:
                yield from _same("element types", x.dtype, tensor.coded.dtype)
        case AssumeShape():
            yield from _same("ranks", x.rank, tensor.rank)
            for size, other in zip(x.shape, tensor.shape, strict=False):
                if isinstance(size, int) and isinstance(other, int):
                    yield from _same("sizes", size, other)
        case Slice():
            yield from _slice(tensor)
        case Pad():
            yield from _same("ranks", x.rank, tensor.rank, len(tensor.before))
            for before, size, whole in zip(tensor.before, x.shape, tensor.shape, strict=False):
                after = whole - (before + size)
                if any(isinstance(width, int) and width < 0 for width in (before, after)):
                    yield f"less than nothing around: {before} and {after}"
        case Window():
            yield from _window(tensor)


def _slice(tensor: Slice) -> Iterator[str]:
    yield from _same("ranks", tensor.x.rank, tensor.rank, len(tensor.starts), len(tensor.steps))
    for start, step, size, whole in zip(tensor.starts, tensor.steps, tensor.shape, tensor.x.shape, strict=False):
        if step == 0:
            yield "a step of zero"
        last = start + (size - 1) * step
        if isinstance(size, int) and size > 0:
            for place in (start, last):
                beyond = place - whole
                if (isinstance(place, int) and place < 0) or (isinstance(beyond, int) and beyond >= 0):
                    yield f"index {place} of {whole} elements"


def _window(tensor: Window) -> Iterator[str]:
    shape, inner = list(tensor.x.shape), tensor.shape[tensor.x.rank :]
    yield from _axes(tensor.axes, tensor.x.rank)
    yield from _same("numbers of axes", len(tensor.axes), len(inner), len(tensor.strides), len(tensor.dilations))
    if any(step < 1 for step in (*tensor.strides, *tensor.dilations)):
        yield "a stride or dilation that is not positive"
    for axis, size, stride, dilation in zip(tensor.axes, inner, tensor.strides, tensor.dilations, strict=False):
        shape[axis] = (shape[axis] - ((size - 1) * dilation + 1)) // stride + 1
    yield from _same("sizes", tuple(shape), tensor.shape[: tensor.x.rank])


def _places(places: Sequence[Tensor | int], x: Tensor, shape: Sizes) -> Iterator[str]:
    yield from _same("numbers of axes", len(places), x.rank)
    for place, whole in zip(places, x.shape, strict=False):
        if isinstance(place, Tensor):
            yield from _same("element types", DType.INT64, place.dtype)
            yield from _same("sizes", place.shape, shape)
        elif not 0 <= place < len(shape):
            yield f"axis {place} of {len(shape)}"
        else:
            beyond = shape[place] - whole
            if isinstance(beyond, int) and beyond > 0:
                yield f"{shape[place]} places along an axis of {whole}"


def _descent(tensor: Descent) -> Iterator[str]:
    trees = tensor.trees
    yield from _same("element types", DType.FLOAT64, tensor.dtype)
    yield from _same("sizes", (tensor.x.shape[0], tensor.shape[-1]), tensor.shape)
    if tensor.function not in ("add", "minimum", "maximum"):
        yield f"'{tensor.function}' does not reduce votes"
    if tensor.x.dtype not in (DType.FLOAT32, DType.FLOAT64):
        yield f"rows of {tensor.x.dtype} are compared"
    if not all(isinstance(table, Constant) for table in trees.tables):
        yield "a table of trees is not constant"
    if trees.targets is None:
        yield from _same("sizes", trees.votes.shape[1:], tensor.shape[1:])


def _order(tensor: Order) -> Iterator[str]:
    yield from _same("element types", DType.INT64, tensor.dtype)
    if tensor.x.dtype not in SORTED:
        yield f"rows of {tensor.x.dtype} are sorted"
    if not tensor.rank:
        yield "there is no axis to sort along"
        return
    yield from _same("sizes", tensor.x.shape[:-1], tensor.shape[:-1])
    beyond = tensor.shape[-1] - tensor.x.shape[-1]
    if isinstance(beyond, int) and beyond > 0:
        yield f"{tensor.shape[-1]} places of {tensor.x.shape[-1]} elements"


def _suppression(tensor: Suppression) -> Iterator[str]:
    yield from _same("element types", DType.INT64, tensor.dtype, tensor.most.dtype)
    floats = (tensor.boxes, tensor.scores, tensor.overlap, *(() if tensor.floor is None else (tensor.floor,)))
    yield from _same("element types", DType.FLOAT32, *(operand.dtype for operand in floats))
    yield from _same("numbers of axes", 3, tensor.rank, tensor.boxes.rank, tensor.scores.rank)
    yield from _same("sizes", tensor.scores.shape[:2], tensor.shape[:2])
    yield from _same("sizes", (tensor.scores.shape[0], tensor.scores.shape[2], 4), tensor.boxes.shape)


def _concat(tensor: Concat) -> Iterator[str]:
    yield from _axes((tensor.axis,), tensor.rank)
    total: Dim = 0
    for part in tensor.parts:
        yield from _same("element types", part.dtype, tensor.dtype)
        yield from _same("ranks", part.rank, tensor.rank)
        for axis, (size, whole) in enumerate(zip(part.shape, tensor.shape, strict=True)):
            if axis != tensor.axis:
                yield from _same("sizes", size, whole)
        total = total + part.shape[tensor.axis]
    yield from _same("sizes", total, tensor.shape[tensor.axis])


def _region(tensor: RegionResult) -> Iterator[str]:
    region, index = tensor.region, tensor.index
    if isinstance(region, Branch):
        yield from _same("numbers of results", len(region.then), len(region.otherwise))
        if not 0 <= index < len(region.then):
            yield f"result {index} of {len(region.then)}"
            return
        yield from _same("element types", DType.BOOL, region.condition.dtype)
        yield from _alike(tensor, region.then[index], region.otherwise[index])
        return
    yield from _same("numbers of states", len(region.initial), len(region.states), len(region.results))
    if not 0 <= index < len(region.states) + len(region.rows):
        yield f"result {index} of {len(region.states) + len(region.rows)}"
    elif tensor.is_rows:
        row = region.rows[index - len(region.states)]
        yield from _same("element types", row.dtype, tensor.dtype)
        yield from _same("sizes", row.shape, tensor.shape[1:])
    else:
        yield from _alike(tensor, *(tensors[index] for tensors in (region.initial, region.states, region.results)))


def _alike(tensor: Tensor, *others: Tensor) -> Iterator[str]:
    for other in others:
        yield from _same("element types", other.dtype, tensor.dtype)
        yield from _same("sizes", other.shape, tensor.shape)


def _axes(axes: Sequence[int], rank: int) -> Iterator[str]:
    if len(set(axes)) != len(axes) or not all(0 <= axis < rank for axis in axes):
        yield f"{list(axes)} are no axes of {rank}"


def _same(what: str, *values: object) -> Iterator[str]:
    if any(value != values[0] for value in values[1:]):
        yield f"{what} that differ: {' and '.join(map(_text, dict.fromkeys(values)))}"


def _text(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _named(tensor: Tensor) -> str:
    return f"{type(tensor).__name__} {tensor.dtype}{_text(tensor.shape)}"
