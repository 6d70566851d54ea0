"""A contraction as a product of matrices: which axes are rows, columns and summed, and what becomes of the sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingot.dims import Dim, symbol
from ingot.dtypes import Array
from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var, strides_of
from ingot.loops.ir import Buffer, Contraction, Index, Load, Local, Scalar, Statement, Store, Var, Winograd, extent
from ingot.loops.rewrite import Reindexed, indices, joined, joins
from ingot.prim.evaluate import evaluate
from ingot.prim.functions import INTEGERS
from ingot.prim.make import count
from ingot.prim.tensor import (
    CallResult,
    Constant,
    Contract,
    Gather,
    Iota,
    Map,
    Pad,
    Permute,
    RegionResult,
    Scatter,
    Tensor,
    View,
    Window,
)

THREADS = symbol("threads")
"""The number of threads of a session, in the size of what each of them needs its own of."""

_SHORTEST = 16
"""Elements of a row that are worth asking first whether it is inside."""

_WIDEST = 256
"""The most bytes of a row of a panel, four vectors, which room is made for where a kernel packs its own."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A constant right side as [batch, k, n], to be stored in panels of columns."""

    array: Array


@dataclass(frozen=True, slots=True)
class Filters:
    """Constant filters as [3, 3, channel, filter], to be transformed for tiles of a side, and stored in panels."""

    array: Array
    side: int


@dataclass(frozen=True, slots=True)
class ContractionNest:
    """A product, where its result is stored, and what those buffers hold that are constant.

    `apart` is the product with an axis for each of the contraction that is longer than one.
    """

    product: Contraction | Winograd
    target: Placed
    order: tuple[int, ...]
    constants: Mapping[Buffer, Packed | Filters | Constant]
    apart: Contraction


def contraction_nest(
    chain: Sequence[Tensor], placed: Mapping[Tensor, Placed], name: str, fixed: bool
) -> ContractionNest:
    """The product that stores the last of a chain of maps and permutations over a contraction, the first of it.

    It is stored in the order of its axes, if `fixed`. StoreFirst if one of the sides, or what else is read, has to be
    stored before.
    """
    contract, tensor = chain[0], chain[-1]
    assert isinstance(contract, Contract)
    lhs, rhs, (left, right, result) = contract.lhs, contract.rhs, contract.labels
    if is_constant(lhs) and not is_constant(rhs):
        lhs, rhs, left, right = rhs, lhs, right, left
    sizes = dict(zip(left + right, lhs.shape + rhs.shape, strict=True))
    variables = {label: Var(label, size) for label, size in sizes.items()}
    batch = [label for label in result if label in left and label in right]
    rows = [label for label in result if label in left and label not in right]
    columns = [label for label in result if label in right and label not in left]
    summed = [label for label in left if label in right and label not in result]
    reader = Reader(placed, lambda each, at: _sum(each, at, contract, [variables[label] for label in result]))
    require_stored(lhs, placed)
    left_load = require_load(lhs, reader.read(lhs, _place(left, variables, sizes)))
    along = _few_last(left_load, [variables[label] for label in summed])
    if along:
        summed = [summed[-1], *summed[:-1]]
    own = {label: position for position, label in enumerate(result)}
    natural = [own[label] for label in (*batch, *rows, *columns)]
    at, order = located(chain, [of_var(variables[label]) for label in result], natural)
    if fixed:
        order = tuple(range(tensor.rank))
    buffer = Buffer(f"{name}_out", tensor.dtype, count(tensor.shape))
    target = Placed(buffer, strides_of(tensor.shape, order))
    at = tuple(Index() if size == 1 else each for size, each in zip(tensor.shape, at, strict=True))
    value: Scalar = Local(contract.dtype, "sum") if tensor is contract else reader.read(tensor, at)
    body: list[Statement] = [Store(buffer, linear(at, target.strides), value)]
    packed = None
    if is_constant(rhs):
        array = evaluate([rhs], {}, {})[0]
        array = array.transpose([right.index(label) for label in (*batch, *summed, *columns)])
        stack = _size(sizes, batch)
        packed = Packed(array.reshape([_whole(each) for each in (stack, _size(sizes, summed), _size(sizes, columns))]))
        right_load = Load(rhs.dtype, Buffer(f"{name}_weights", rhs.dtype, count(rhs.shape)), Index())
    else:
        require_stored(rhs, placed)
        right_load = require_load(rhs, reader.read(rhs, _place(right, variables, sizes)))
    apart = Contraction(
        contract.dtype,
        tuple(variables[label] for label in batch if sizes[label] != 1),
        tuple(variables[label] for label in rows if sizes[label] != 1),
        tuple(variables[label] for label in columns if sizes[label] != 1),
        tuple(variables[label] for label in summed if sizes[label] != 1),
        left_load,
        right_load,
        tuple(body),
        packed is not None,
    )
    product = _joined(apart)
    if len(product.n) > 1:
        if tensor is not contract and (packed is not None or rhs in placed):  # what is made of the sums is in the way
            raise StoreFirst(contract, "its columns lie in several axes")
        raise StoreFirst(rhs, "its columns lie in several axes", in_order=True)
    _require_readable(product, lhs, placed, along)
    if product.lhs.where:
        inner = product.k[-1]
        length = inner.extent * product.lhs.index.factor(inner)
        product = _with(product, zeros=Buffer(f"{name}_zeros", lhs.dtype, length))
    if packed is None:
        depth = extent(product.k)
        scratch = Buffer(f"{name}_panel", rhs.dtype, depth * THREADS * (_WIDEST // rhs.dtype.numpy.itemsize))
        product = _with(product, scratch=(scratch,))
    return ContractionNest(product, target, order, {} if packed is None else {right_load.buffer: packed}, apart)


def packed_before(product: Contraction, name: str) -> tuple[Contraction, Contraction]:
    """A product that packs its right side, in two: one that stores all panels, and one that reads them."""
    assert not product.packed
    width = _WIDEST // product.rhs.dtype.numpy.itemsize
    room = extent(product.batch) * extent(product.k) * (extent(product.n) + width - 1)
    buffer = Buffer(f"{name}_panels", product.rhs.dtype, room)
    first = _with(product, lhs=product.rhs, body=(), scratch=(), zeros=None, panels=buffer)
    return first, _with(product, rhs=Load(product.rhs.dtype, buffer, Index()), packed=True, scratch=())


def _sum(tensor: Tensor, at: Place, contract: Contract, variables: Sequence[Var]) -> Scalar | None:
    if tensor is not contract:
        return None
    wanted = tuple(of_var(var) if var.extent != 1 else Index() for var in variables)
    if at != wanted:
        raise StoreFirst(contract, "it is read elsewhere than where it is summed")
    return Local(contract.dtype, "sum")


def require_stored(tensor: Tensor, placed: Mapping[Tensor, Placed]) -> None:
    """StoreFirst if what a side of a product is a view of is computed."""
    while isinstance(tensor, View) and tensor not in placed:
        tensor = tensor.x
    if tensor not in placed:
        raise StoreFirst(tensor, "a product reads it")


def require_load(tensor: Tensor, value: Scalar) -> Load:
    """One side of a product as a load; StoreFirst if it is computed."""
    if not isinstance(value, Load) or any(not isinstance(term, Var) for term, _ in value.index.terms):
        raise StoreFirst(tensor, "a product reads it", in_order=True)
    if value.where and value.fill != 0:
        raise StoreFirst(tensor, "a product reads it, padded with something else than zero")
    return value


def _place(labels: str, variables: Mapping[str, Var], sizes: Mapping[str, Dim]) -> Place:
    return tuple(of_var(variables[label]) if sizes[label] != 1 else Index() for label in labels)


def located(chain: Sequence[Tensor], at: list[Index], order: list[int]) -> tuple[Place, tuple[int, ...]]:
    """Where the last of a chain is read, and how its axes lie, when the first is read at `at` with axes in `order`."""
    for tensor in chain:
        if isinstance(tensor, Permute):
            at = [at[axis] for axis in tensor.order]
            order = [tensor.order.index(axis) for axis in order]
    return tuple(at), tuple(order)


def _joined(product: Contraction) -> Contraction:
    """Neighbouring axes joined where everything that is read and written goes through them as through one."""
    left = [product.lhs.index, *(each.index for each in product.lhs.where)]
    right = [] if product.packed else [product.rhs.index, *(each.index for each in product.rhs.where)]
    body = list(indices(*product.body))
    for role, seen in (("k", left + right), ("n", right + body), ("m", left + body), ("batch", left + right + body)):
        variables: tuple[Var, ...] = getattr(product, role)
        position = len(variables) - 2
        while position >= 0:
            outer, inner = variables[position : position + 2]
            if joins(outer, inner, seen):
                both, change = joined(outer, inner)
                variables = (*variables[:position], both, *variables[position + 2 :])
                product = _with(_changed(product, change), **{role: variables})
                return _joined(product)
            position -= 1
    ones = {role: (Var(role, 1),) for role in ("n", "k") if not getattr(product, role)}
    return _with(product, **ones)


def _changed(product: Contraction, change: Reindexed) -> Contraction:
    left, right = change.scalar(product.lhs), change.scalar(product.rhs)
    assert isinstance(left, Load)
    assert isinstance(right, Load)
    return _with(product, lhs=left, rhs=right, body=tuple(map(change.statement, product.body)))


def _with(product: Contraction, **changes: object) -> Contraction:
    return replace(product, **changes)  # type: ignore[arg-type]


def _few_last(load: Load, summed: Sequence[Var]) -> bool:
    """Whether the last axis that is summed is short and lies apart, and the one before it is contiguous.

    So the few channels of an image lie, each of which is summed on its own rather than all put side by side first.
    """
    if len(summed) < 2 or load.index.factor(summed[-1]) == 1 or load.index.factor(summed[-2]) != 1:
        return False
    return isinstance(summed[-1].extent, int) and summed[-1].extent < _SHORTEST


def _require_readable(product: Contraction, lhs: Tensor, placed: Mapping[Tensor, Placed], along: bool) -> None:
    """StoreFirst for what the left side is a view of, where that had better lie otherwise.

    Rows outside are read as zeros: their length must be known, what is outside not change along it, and the rows not be
    too short. Windows that slide over memory want their innermost axis contiguous; `along` says that another was made
    the innermost because it is.
    """
    inner = product.k[-1]
    factor = product.lhs.index.factor(inner)
    source, padded = _under_windows(lhs)
    if source is not lhs and factor != 1 and inner.extent != 1 and source not in placed:
        raise StoreFirst(source, "a product slides windows over it", in_order=True)
    for each in product.lhs.where:
        short = isinstance(inner.extent, int) and inner.extent < _SHORTEST
        if each.index.factor(inner) != 0 or not isinstance(inner.extent, int) or not isinstance(factor, int) or short:
            why = "its padding is read in short pieces"
            raise StoreFirst(lhs if padded is None else padded, why, in_order=not along)


def _under_windows(tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """What the windows of a view slide over, without its padding, and with it if there is any."""
    source, padded = tensor, None
    each: Tensor = tensor
    while isinstance(each, View):
        if isinstance(each, Window):
            source = each.x
        if isinstance(each, Pad) and source is each:
            source, padded = each.x, padded or each
        each = each.x
    return source, padded


def is_constant(tensor: Tensor) -> bool:
    """Whether a tensor is known when the model is compiled: made of constants, by what cannot go wrong."""
    pending, seen = [tensor], {tensor}
    while pending:
        each = pending.pop()
        if not each.reads and not isinstance(each, Constant | Iota):
            return False
        if not all(isinstance(size, int) for size in each.shape):
            return False
        if isinstance(each, Gather | Scatter | CallResult | RegionResult):
            return False  # of an index out of range, a run tells; what the reference computes is there then
        if isinstance(each, Map) and each.function in ("divide", "remainder") and each.dtype in INTEGERS:
            return False
        pending.extend(read for read in each.reads if read not in seen)
        seen.update(each.reads)
    return True


def _size(sizes: Mapping[str, Dim], labels: Sequence[str]) -> Dim:
    total: Dim = 1
    for label in labels:
        total = total * sizes[label]
    return total


def _whole(size: Dim) -> int:
    assert isinstance(size, int)
    return size
