"""A contraction as a matrix product (GEMM): which axes are rows, columns and summed, and the epilogue of the sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.fuse.coded import code_blocks, coded_matrix
from ingot.fuse.limits import FusionLimits
from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var
from ingot.fuse.reshaped import joined_axes, reshaped_order
from ingot.fuse.sides import Sides, window_in
from ingot.loops.ir import Buffer, Contraction, Index, Load, Local, Scalar, Statement, Store, Var
from ingot.loops.join_axes import join_axes
from ingot.prim.coded import Coded
from ingot.prim.evaluate import evaluate
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.make import count
from ingot.prim.tensor import (
    Contract,
    Pad,
    Permute,
    Reshape,
    Tensor,
    View,
    Window,
)

_FEW_LINES = 4
"""Vectors of channels up to which a place of an image is read channel by channel: each is in another cache line, and
these may all fall into the same few places of a cache."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A constant right operand, to be packed into panels of columns, of each group as many.

    `array` has its axes as they are in memory, which are copied when it is packed, in whatever thread that is: those of
    the batch, those that are summed, and those of the columns, by how many there are of each in `axes`.
    """

    array: Array
    axes: tuple[int, int, int] = (1, 1, 1)
    groups: int = 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """[batch, k, n]."""
        sizes, (batch, summed, _) = self.array.shape, self.axes
        return prod(sizes[:batch]), prod(sizes[batch : batch + summed]), prod(sizes[batch + summed :])


@dataclass(frozen=True, slots=True)
class ContractionNest:
    """A contraction with an axis for each of its own that is longer than one; `packed` is a constant right operand."""

    product: Contraction
    packed: Packed | Coded | None


def contraction_order(chain: Sequence[Tensor], sides: Sides) -> tuple[int, ...]:
    """The order of axes of the last of a chain if sums are stored as its sides want them."""
    contract = chain[0]
    assert isinstance(contract, Contract)
    return order_after(chain, [contract.labels[2].index(label) for label in sides.stored])


def contraction_nest(
    chain: Sequence[Tensor],
    sides: Sides,
    target: Placed,
    placed: Mapping[Tensor, Placed],
    name: str,
    limits: FusionLimits,
) -> ContractionNest:
    """The contraction that stores the last of a chain, its epilogue, at `target`.

    StoreFirst if an operand, or what else is read, has to be stored before.
    """
    contract, tensor = chain[0], chain[-1]
    assert isinstance(contract, Contract)
    result, lhs, rhs, left, right = contract.labels[2], sides.lhs, sides.rhs, sides.left, sides.right
    batch, rows, columns, summed = sides.batch, sides.rows, sides.columns, sides.summed
    sizes = dict(zip(left + right, lhs.shape + rhs.shape, strict=True))
    variables = {label: Var(label, size) for label, size in sizes.items()}
    places = _places(chain, tuple(of_var(variables[label]) for label in result))
    reader = Reader(placed, lambda read, at: _in_chain(read, at, contract, places, reader))
    require_stored(lhs, placed)
    left_load = require_load(lhs, reader.read(lhs, _place(left, variables, sizes)))
    along = not sides.constant_left and _few_last(left_load, [variables[label] for label in summed], limits.padded_row)
    if along:
        summed = (summed[-1], *summed[:-1])
    if sides.constant_left:
        summed = tuple(sorted(summed, key=lambda label: -_whole(left_load.index.factor(variables[label]))))
    at = places[tensor]
    value: Scalar = Local(contract.dtype, "sum") if tensor is contract else reader.read(tensor, at)
    body: list[Statement] = [Store(target.buffer, linear(at, target.strides), value)]
    packed: Packed | Coded | None = None
    codes = None
    matrix = coded_matrix(rhs, right, columns, summed)
    if matrix is not None and limits.refuses_codes(matrix) is None:
        if left_load.where:
            raise StoreFirst(lhs, "a product with codes reads it", in_order=True)
        packed, codes = matrix, code_blocks(matrix)
        right_load = Load(DType.UINT8, Buffer(f"{name}_weights", DType.UINT8, matrix.nbytes), Index())
    elif rhs.is_constant:
        array = evaluate([rhs], {}, {})[0]
        array = array.transpose([right.index(label) for label in (*batch, *summed, *columns)])
        packed = Packed(array, (len(batch), len(summed), len(columns)))
        right_load = Load(rhs.dtype, Buffer(f"{name}_weights", rhs.dtype, count(rhs.shape)), Index())
    else:
        require_stored(rhs, placed)
        right_load = require_load(rhs, reader.read(rhs, _place(right, variables, sizes)))
        if sides.source is not None and sides.source not in placed:
            raise StoreFirst(sides.source, "windows slide over it", order=sides.source_order)
    product = Contraction(
        contract.dtype,
        tuple(variables[label] for label in batch if sizes[label] != 1),
        tuple(variables[label] for label in rows if sizes[label] != 1),
        tuple(variables[label] for label in columns if sizes[label] != 1),
        tuple(variables[label] for label in summed if sizes[label] != 1),
        left_load,
        right_load,
        tuple(body),
        packed is not None,
        codes=codes,
    )
    if sides.constant_left:
        return ContractionNest(_with_one_column_axis(product), None)
    whole = join_axes(product)
    if len(whole.n) > 1:
        if tensor is not contract and (packed is not None or rhs in placed):  # its epilogue is in the way
            raise StoreFirst(contract, "its columns lie in several axes")
        raise StoreFirst(rhs, "its columns lie in several axes", in_order=True)
    _require_readable(whole, lhs, placed, along, limits)
    return ContractionNest(product, packed)


def _with_one_column_axis(product: Contraction) -> Contraction:
    """A contraction whose columns lie in one axis once axes are joined: those around it are of the batch."""
    while len(join_axes(product).n) > 1:
        product = replace(product, batch=(*product.batch, product.n[0]), n=product.n[1:])
    return product


def _in_chain(
    tensor: Tensor, at: Place, contract: Contract, places: Mapping[Tensor, Place], reader: Reader
) -> Scalar | None:
    """The sum, or what is read through a reshape of it; None for any other tensor."""
    if tensor is not contract and not (isinstance(tensor, Reshape) and tensor in places):
        return None
    if at != places[tensor]:
        raise StoreFirst(contract, "it is read elsewhere than where it is summed")
    if isinstance(tensor, Reshape):
        return reader.read(tensor.x, places.get(tensor.x) or places[contract])
    return Local(contract.dtype, "sum")


def require_stored(tensor: Tensor, placed: Mapping[Tensor, Placed]) -> None:
    """StoreFirst if the tensor that an operand is a view of is not stored."""
    while isinstance(tensor, View) and tensor not in placed:
        tensor = tensor.x
    if tensor not in placed:
        raise StoreFirst(tensor, "a product reads it")


def require_load(tensor: Tensor, value: Scalar) -> Load:
    """An operand of a product as a load; StoreFirst if it is computed."""
    if not isinstance(value, Load) or any(not isinstance(term, Var) for term, _ in value.index.terms):
        raise StoreFirst(tensor, "a product reads it", in_order=True)
    if value.where and value.fill != 0:
        padded = _under_windows(tensor)[1]
        why = "a product reads it, padded with something else than zero"
        raise StoreFirst(tensor if padded is None else padded, why, in_order=padded is not None)
    return value


def _place(labels: str, variables: Mapping[str, Var], sizes: Mapping[str, Dim]) -> Place:
    return tuple(of_var(variables[label]) if sizes[label] != 1 else Index() for label in labels)


def place_after(chain: Sequence[Tensor], at: Place) -> Place:
    """Where the last of a chain is read when the first is read at `at`."""
    return _places(chain, at)[chain[-1]]


def _places(chain: Sequence[Tensor], at: Place) -> dict[Tensor, Place]:
    """Where each of a chain is read when the first is read at `at`."""
    places: dict[Tensor, Place] = {}
    for tensor in chain:
        if isinstance(tensor, Permute):
            at = tuple(at[axis] for axis in tensor.order)
        elif isinstance(tensor, Reshape):
            joined = joined_axes(tensor.x.shape, tensor.shape)
            assert joined is not None
            at = tuple(_joined(tensor.x.shape, at, joined.get(axis, ())) for axis in range(tensor.rank))
        at = tuple(Index() if size == 1 else index for size, index in zip(tensor.shape, at, strict=True))
        places[tensor] = at
    return places


def _joined(shape: Sequence[Dim], at: Place, axes: Sequence[int]) -> Index:
    """One index into axes that are joined."""
    index = Index()
    for axis in axes:
        index = index.times(shape[axis]) + at[axis]
    return index


def order_after(chain: Sequence[Tensor], order: Sequence[int]) -> tuple[int, ...]:
    """How the axes of the last of a chain lie when those of the first lie in `order`."""
    for tensor in chain:
        if isinstance(tensor, Permute):
            order = [tensor.order.index(axis) for axis in order]
        elif isinstance(tensor, Reshape):
            order = reshaped_order(tensor.x.shape, order, tensor.shape) or range(tensor.rank)
    return tuple(order)


def _few_last(load: Load, summed: Sequence[Var], few: int) -> bool:
    """Whether the innermost summed axis is short and strided, and the one before it is contiguous.

    The few channels of an image in NCHW are: each is summed on its own, instead of copying them side by side first.
    """
    if len(summed) < 2 or load.index.factor(summed[-1]) == 1 or load.index.factor(summed[-2]) != 1:
        return False
    return isinstance(summed[-1].extent, int) and summed[-1].extent < few


def _require_readable(
    product: Contraction, lhs: Tensor, placed: Mapping[Tensor, Placed], along: bool, limits: FusionLimits
) -> None:
    """StoreFirst for what the left operand is a view of, where another layout is needed.

    Rows in the padding are read as zeros: their length must be known, the condition invariant along them, and the rows
    not too short. Windows that slide over memory want their innermost axis contiguous; `along` means that another axis
    was made the innermost because it is. Those of one element are read wherever few of them lie.
    """
    inner = product.k[-1]
    factor = product.lhs.index.factor(inner)
    source, padded = _under_windows(lhs)
    packs = product.is_of_bytes or product.lhs.dtype in NARROW_FLOATS
    if packs and factor != 1 and inner.extent != 1 and source is lhs and lhs not in placed:
        raise StoreFirst(lhs, "a product reads several elements of it at once", in_order=True)
    single = window_in(lhs) is None and isinstance(inner.extent, int) and inner.extent <= _FEW_LINES * limits.columns
    if source is not lhs and factor != 1 and inner.extent != 1 and source not in placed and not single:
        raise StoreFirst(source, "a product slides windows over it", in_order=True)
    for condition in product.lhs.where:
        short = isinstance(inner.extent, int) and inner.extent < limits.padded_row
        if (
            condition.index.factor(inner) != 0
            or not isinstance(inner.extent, int)
            or not isinstance(factor, int)
            or short
        ):
            why = "its padding is read in short pieces"
            raise StoreFirst(lhs if padded is None else padded, why, in_order=not along)


def _under_windows(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """The tensor that the windows of a view slide over: without its padding, and with it if there is any."""
    source, padded = tensor, None
    view: Tensor = tensor
    while isinstance(view, View):
        if isinstance(view, Window):
            source = view.x
        if isinstance(view, Pad) and source is view:
            source, padded = view.x, padded or view
        view = view.x
    return source, padded


def _whole(size: Dim) -> int:
    assert isinstance(size, int)
    return size
