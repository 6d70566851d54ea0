"""What flows in and out of bodies: the types they carry, and how a type seen inside reads outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim, Expr, evaluate, substitute, symbol, symbols
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.tensor import Tensor
from ingot.ir.types import OptionalType, SequenceType, Shape, TensorType, Type, map_shapes
from ingot.ir.value import Value
from ingot.ops.limit import affordable
from ingot.ops.typesets import (
    ALL,
    ALL_3,
    ALL_19,
    ALL_21,
    ALL_23,
    ALL_24,
    ALL_25,
    TypeNames,
    optionals,
    sequences,
    types,
)


def _with_containers(tensors: TypeNames) -> TypeNames:
    """The optionals of sequences were left at the types of opset 16 when the rest grew."""
    return tensors | sequences(tensors) | optionals(tensors | sequences(ALL))


CARRIED = types(
    "V",
    {
        1: ALL_3,
        13: ALL_3 | sequences(ALL_3),
        16: _with_containers(ALL),
        19: _with_containers(ALL_19),
        21: _with_containers(ALL_21),
        23: _with_containers(ALL_23),
        24: _with_containers(ALL_24),
        25: _with_containers(ALL_25),
    },
)
V: TypeAlias = Annotated[Array, CARRIED]

HEADS = 2
"""Inputs of the body of a Loop before its states: the number of the run, and the condition."""

Names: TypeAlias = dict[str, "Dim | None"]
"""What the sizes that a body names are outside; None for one that changes from run to run."""


def scalar(value: Any, name: str) -> Any:
    """The only element of an array; InputError if there is not exactly one."""
    if (type(value) is not np.ndarray and not isinstance(value, (np.ndarray, np.generic))) or value.size != 1:
        shown = f"of shape {list(value.shape)}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise InputError(f"{name} must hold one element, it is {shown}")
    return value.item()


def truth(constant: object) -> bool | None:
    """Whether a constant of one element is true; None where there is none at hand."""
    if not isinstance(constant, Tensor) or constant.size != 1 or (constant.external and not constant.is_loaded):
        return None
    return None if constant.dtype is DType.STRING else bool(constant.item())


def constant_element(value: Value | None) -> Tensor | None:
    """The tensor of one element that a value is, unless it is overridden: a default, or of a Constant node."""
    if value is None:
        return None
    held: Any = value.constant
    if value.producer is not None and value.producer.applies("Constant"):
        held = value.producer.get("value")
    return held if isinstance(held, Tensor) and held.size == 1 else None


def forwarded(value: Value) -> Value:
    """The value that the standard's Identity nodes pass on to this one; itself if none makes it."""
    while (node := value.producer) is not None and node.applies("Identity"):
        if not node.inputs or node.inputs[0] is None:
            break
        value = node.inputs[0]
    return value


def as_true_as(value: Value) -> Value:
    """The value that a condition is, through casts to what it is already, as PyTorch's exporter writes them."""
    value = forwarded(value)
    while (node := value.producer) is not None and node.applies("Cast") and node.get("to") == DType.BOOL.value:
        if not node.inputs or node.inputs[0] is None:
            break
        value = forwarded(node.inputs[0])
    return value


class Collection:
    """Tensors of one type and shape that the runs of a body give, to be stacked."""

    def __init__(self, source: Value, place: int, sizes: Callable[[], Mapping[str, int]]) -> None:
        """`sizes` are named sizes that are known, asked for where there is nothing to stack."""
        self._source = source
        self._place = place
        self._sizes = sizes
        self._stacks: list[Array] = []
        self._count = 0
        self._shape: tuple[int, ...] = ()
        self._dtype: Any = None

    def add(self, item: Any) -> None:
        """Keep one more; ShapeError if it is not like the first."""
        if type(item) is not np.ndarray:
            if isinstance(item, np.generic):
                item = np.asarray(item)
            if not isinstance(item, np.ndarray):
                raise InputError(f"the body collects output {self._place}, which is no tensor: {type(item).__name__}")
        if item.shape != self._shape or item.dtype is not self._dtype:
            self._require_like(item.shape, item.dtype)
        self._stacks.append(item[None])
        self._count += 1

    def extend(self, rows: Array) -> None:
        """Keep some that are stacked already, along the first axis; ShapeError if they are not like the first."""
        self._require_like(rows.shape[1:], rows.dtype)
        self._stacks.append(rows)
        self._count += len(rows)

    def _require_like(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Note the shape and type of the first; ShapeError if others have another."""
        if not self._stacks:
            self._shape, self._dtype = shape, dtype
        if shape != self._shape or dtype != self._dtype:
            raise ShapeError(
                f"output {self._place} of the body was {self._dtype}{list(self._shape)}, "
                f"in run {self._count} it is {dtype}{list(shape)}"
            )

    def stacked(self, axis: int = 0, *, reverse: bool = False) -> Array:
        """All of them along a new axis; with no runs, an empty tensor of the type the body declares.

        Its sizes are numbers or follow from those that are known; others are zero.
        """
        if not self._stacks:
            return self._nothing(axis)
        first = self._stacks[0]
        if len(self._stacks) > 1:
            affordable((self._count, *first.shape[1:]), first.dtype)
        place = _inside(axis, first.ndim) if axis else 0
        rows = np.concatenate(self._stacks) if len(self._stacks) > 1 else first
        rows = rows[::-1] if reverse else rows
        return np.ascontiguousarray(np.moveaxis(rows, 0, place)) if reverse or place else rows

    def _nothing(self, axis: int) -> Array:
        type_ = self._source.type
        if not isinstance(type_, TensorType) or type_.dtype is DType.UNDEFINED:
            raise UnsupportedError(
                f"a body that never runs says nothing of its output '{self._source.name}'",
                hint="declare the type of the output in the body",
            )
        known = self._sizes()
        sizes = [_known(size, known) for size in type_.shape or ()]
        sizes.insert(_inside(axis, len(sizes) + 1), 0)
        try:
            return np.empty(sizes, type_.dtype.numpy)
        except ValueError:
            raise InputError(f"'{self._source.name}' would have shape {sizes}") from None


def _known(size: Dim | None, sizes: Mapping[str, int]) -> int:
    """A size as a number; zero if it does not follow from the named ones."""
    if size is None or not symbols(size) <= sizes.keys():
        return 0
    try:
        return max(evaluate(size, sizes), 0)
    except ZeroDivisionError:
        return 0


def named_sizes(*pairs: tuple[Value, Sequence[int]]) -> dict[str, int]:
    """The named sizes of values that have these shapes; without those that would be two sizes."""
    sizes: dict[str, int] = {}
    twofold: set[str] = set()
    for value, shape in pairs:
        declared = value.type.shape if isinstance(value.type, TensorType) else None
        if declared is None or len(shape) != len(declared):
            continue
        for dim, size in zip(declared, shape, strict=True):
            if isinstance(dim, Expr) and symbols(dim) == {str(dim)} and sizes.setdefault(str(dim), size) != size:
                twofold.add(str(dim))
    return {name: size for name, size in sizes.items() if name not in twofold}


def _inside(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ShapeError(f"outputs of {rank - 1} axes cannot be stacked along axis {axis}")
    return axis % rank


def moved(body: Graph, name: str) -> Graph:
    """The graph, taken out of the node that holds it under `name`: what upgrades that node puts it elsewhere."""
    if body.parent is not None:
        del body.parent.attributes[name]
    return body


def require_arity(body: Graph, inputs: int, outputs: int) -> None:
    """CheckError unless a body takes `inputs` values and gives at least `outputs`."""
    if len(body.inputs) != inputs:
        raise CheckError(f"the body takes {len(body.inputs)} inputs, it is given {inputs}")
    if len(body.outputs) < outputs:
        raise CheckError(f"the body gives {len(body.outputs)} outputs, expected at least {outputs}")


def joined(a: Type | None, b: Type | None) -> Type | None:
    """A type that holds of both, with the sizes on which they agree; CheckError where they are of two kinds."""
    return _combined(a, b, lambda x, y: x if x == y else None)


def after_runs(initial: Type | None, body_input: Type | None, body_output: Type | None) -> Type | None:
    """The type of a state after any number of runs of a body with these types of its input and output.

    A size that is the same in input and output is invariant; another is known where it is one number. Where the input
    is an optional and the output its element, as in cases of the standard, the result is the element.
    """
    if isinstance(initial, OptionalType) and body_output is not None and not isinstance(body_output, OptionalType):
        return body_output if initial.element is None or type(body_output) is type(initial.element) else None
    constant = (
        _combined(body_input, body_output, lambda x, y: x if x == y else None)
        if _alike(body_input, body_output)
        else None
    )
    joint = joined(initial, body_output)
    return (
        joint if constant is None or initial is None else _combined(initial, constant, _where_both_agree, joint=joint)
    )


def bound(pairs: Iterable[tuple[Type | None, Type | None]]) -> Names:
    """The sizes that the inputs of a body name, bound by the types of the arguments."""
    names: Names = {}
    for inside, outside in pairs:
        while isinstance(inside, SequenceType | OptionalType) and type(inside) is type(outside):
            inside, outside = inside.element, outside.element
        if not isinstance(inside, TensorType) or inside.shape is None:
            continue
        shape = outside.shape if isinstance(outside, TensorType) else None
        if shape is None or len(shape) != len(inside.shape):
            shape = (None,) * len(inside.shape)
        for dim, actual in zip(inside.shape, shape, strict=True):
            if isinstance(dim, Expr):
                _bind(names, dim, actual)
    return names


def _bind(names: Names, dim: Expr, actual: Dim | None) -> None:
    for name in symbols(dim):
        bound_size = actual if dim == symbol(name) else None
        names[name] = bound_size if names.get(name, bound_size) == bound_size else None


def outward(type_: Type | None, names: Names, *, varies: bool = False) -> Type | None:
    """A type seen in a body, with its sizes as they are called outside; None for those that have no name there.

    With `varies`, sizes which only the body names may differ from run to run.
    """
    return None if type_ is None else map_shapes(type_, lambda shape: tuple(_outside(d, names, varies) for d in shape))


def _outside(dim: Dim | None, names: Names, varies: bool) -> Dim | None:
    if not isinstance(dim, Expr):
        return dim
    actual = {name: names.get(name) for name in symbols(dim) if varies or name in names}
    known = {name: size for name, size in actual.items() if size is not None}
    if len(known) < len(actual):
        return None
    try:
        return substitute(dim, known)
    except ValueError:  # too large an expression to follow, or a size that would be negative
        return None


def _alike(a: Type | None, b: Type | None) -> bool:
    return a is not None and type(a) is type(b)


def _where_both_agree(initial: Dim | None, constant: Dim | None) -> Dim | None:
    """A size that no run changes: what it was, or the number the body insists on."""
    if constant is None:
        return None
    return constant if isinstance(constant, int) and not isinstance(initial, int) else initial


def _combined(
    a: Type | None,
    b: Type | None,
    choose: Callable[[Dim | None, Dim | None], Dim | None],
    *,
    joint: Type | None = None,
) -> Type | None:
    """Two types in one, each size by `choose`; where that is unknown, the size of `joint` if it is given."""
    if a is None or b is None:
        return None
    match a, b:
        case TensorType(), TensorType():
            if a.dtype and b.dtype and a.dtype is not b.dtype:
                raise CheckError(f"one value would be {a} and {b}")
            other = joint.shape if isinstance(joint, TensorType) else None
            return TensorType(a.dtype or b.dtype, _combined_shapes(a.shape, b.shape, choose, other))
        case SequenceType(), SequenceType():
            inner = joint.element if isinstance(joint, SequenceType) else None
            return SequenceType(_combined(a.element, b.element, choose, joint=inner))
        case OptionalType(), OptionalType():
            inner = joint.element if isinstance(joint, OptionalType) else None
            return OptionalType(_combined(a.element, b.element, choose, joint=inner))
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        return None  # the standard's own cases give an optional and take what it holds
    if type(a) is not type(b):
        raise CheckError(f"one value would be {a} and {b}")
    return a if a == b else None


def _combined_shapes(
    a: Shape | None,
    b: Shape | None,
    choose: Callable[[Dim | None, Dim | None], Dim | None],
    other: Shape | None,
) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    chosen = [choose(x, y) for x, y in zip(a, b, strict=True)]
    if other is not None and len(other) == len(chosen):
        chosen = [y if x is None else x for x, y in zip(chosen, other, strict=True)]
    return tuple(chosen)
