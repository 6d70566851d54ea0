"""Shapes: what a tensor's is, and other views of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import axis_in, ints, rank_of, tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("Shape")
def shape(_site: Site, x: Operand, *, start: int, end: int | None) -> Expression:
    if x.rank is None:
        bounds = f"[{start or ''}:{'' if end is None else end}]" if start or end is not None else ""
        return f"torch.tensor({x}.shape{bounds})"
    places = range(x.rank)[slice(start, end)]
    whole = f"{x}.shape" if len(places) == x.rank and x.rank > 1 and x.constant is None and x.sizes is None else None
    return Sizes(tuple(size_of(x, axis) for axis in places), whole=whole)


@rule("Size")
def size(_site: Site, x: Operand) -> Expression:
    return Sizes((Size(f"{x}.numel()", True),), is_scalar=True)


def size_of(x: Operand, axis: int) -> Size:
    """The text for the size of an axis: of a constant the number."""
    if x.constant is not None:
        return Size.of(x.constant.shape[axis])
    if x.sizes is not None:
        return Size.of(len(x.sizes))
    return Size(f"{x}.shape[{axis}]", True)


@rule("Identity")
def identity(_site: Site, x: Operand) -> Expression:
    return x


@rule("Reshape")
def reshape(site: Site, data: Operand, shape: Operand, *, allowzero: int) -> Expression:
    if shape.sizes is None:
        return f"{site.use('reshape_to')}({data}, {ints(shape)}{', allowzero=True' if allowzero else ''})"
    sizes = []
    for axis, one in enumerate(shape.sizes):
        sizes.append(size_of(data, axis) if one.number == 0 and not allowzero else one)
    if data.sizes is not None and len(sizes) <= 1 and all(one.number in (-1, 1, len(data.sizes)) for one in sizes):
        return Sizes(data.sizes, is_scalar=not sizes)
    nothing = data.shape is not None and 0 in data.shape
    if nothing and any(one.number == -1 for one in sizes):
        return f"{site.use('reshape_to')}({data}, {tupled(sizes)})"
    return f"{data}.reshape({', '.join(map(str, sizes)) if sizes else '()'})"


@rule("Transpose")
def transpose(_site: Site, data: Operand, *, perm: Sequence[int] | None) -> Expression:
    if perm is None and data.rank is None:
        return f"{data}.permute(*range({data}.ndim - 1, -1, -1))"
    order = list(range(data.rank or 0))[::-1] if perm is None else list(perm)
    if order == sorted(order):
        return data
    moved = [axis for axis, source in enumerate(order) if axis != source]
    if order == [1, 0]:
        return f"{data}.T" if data.transposed is None else Operand(data.transposed, _site.type())
    if len(moved) == 2:
        return f"{data}.transpose({moved[0]}, {moved[1]})"
    return f"{data}.permute({', '.join(map(str, order))})"


@rule("Squeeze")
def squeeze(_site: Site, data: Operand, axes: Operand | None = None) -> Expression:
    if data.sizes is not None and len(data.sizes) == 1 and data.rank == 1:
        return Sizes(data.sizes, is_scalar=True)
    if axes is None:
        return f"{data}.squeeze()"
    if axes.numbers is not None and len(axes.numbers) == 1:
        return f"{data}.squeeze({axes.numbers[0]})"
    return f"{data}.squeeze({ints(axes) if axes.sizes is not None else f'tuple({ints(axes)})'})"


@rule("Unsqueeze")
def unsqueeze(site: Site, data: Operand, axes: Operand) -> Expression:
    if axes.numbers is None:
        return f"{site.use('unsqueeze_at')}({data}, {ints(axes)})"
    if not axes.numbers:
        return data
    if data.sizes is not None and data.rank == 0 and len(axes.numbers) == 1:
        return Sizes(data.sizes)
    if len(axes.numbers) == 1:
        return f"{data}.unsqueeze({axes.numbers[0]})"
    rank = rank_of(data) + len(axes.numbers)
    places = sorted(axis_in(axis, rank) for axis in axes.numbers)
    return f"{data}{''.join(f'.unsqueeze({axis})' for axis in places)}"


@rule("Flatten")
def flatten(_site: Site, x: Operand, *, axis: int) -> Expression:
    if axis < 0 or x.rank is not None:
        rank = rank_of(x)
        axis = axis_in(axis, rank)
        if rank == 2 and axis == 1:
            return x
        if axis == rank:
            return f"{x}.reshape(-1, 1)"
    if axis == 0:
        return f"{x}.reshape(1, -1)"
    return f"{x}.flatten(1)" if axis == 1 else f"{x}.flatten(0, {axis - 1}).flatten(1)"


@rule("Expand")
def expand(_site: Site, x: Operand, shape: Operand) -> Expression:
    if shape.sizes is None or x.shape is None:
        return f"{x}.expand(torch.broadcast_shapes({x}.shape, {ints(shape)}))"
    before = len(shape.sizes) - len(x.shape)
    if before >= 0:
        sizes = []
        for axis, one in enumerate(shape.sizes):
            own = x.shape[axis - before] if axis >= before else 1
            if one.number == 1 and axis >= before:
                sizes.append("-1")
            elif axis < before or own == 1 or one.number is not None:
                sizes.append(str(one))
            else:
                break
        else:
            return x if all(one == "-1" for one in sizes) else f"{x}.expand({', '.join(sizes)})"
    return f"{x}.expand(torch.broadcast_shapes({x}.shape, {ints(shape)}))"


@rule("Concat")
def concat(_site: Site, *inputs: Operand, axis: int) -> Expression:
    if all(one.sizes is not None and one.rank == 1 for one in inputs) and inputs[0].dtype in (DType.INT64, DType.INT32):
        return Sizes(tuple(size for one in inputs for size in one.sizes or ()))
    if len(inputs) == 1:
        return inputs[0]
    return f"torch.cat({tupled(inputs)}, dim={axis})"


@rule("Split")
def split(site: Site, x: Operand, lengths: Operand | None = None, *, axis: int, num_outputs: int | None) -> Expression:
    count = len(site.node.outputs)
    if count == 1:
        return x
    if lengths is not None:
        if x.sizes is not None and lengths.numbers is not None:
            ends = [sum(lengths.numbers[:at]) for at in range(count + 1)]
            return [Sizes(x.sizes[low:high]) for low, high in pairwise(ends)]
        equal = lengths.numbers is not None and len(set(lengths.numbers)) == 1 and lengths.numbers[0]
        return f"{x}.split({lengths.numbers[0] if equal and lengths.numbers else ints(lengths)}, dim={axis})"
    size = x.shape[axis] if x.shape is not None else None
    if isinstance(size, int):
        step = -(-size // (num_outputs or count))
        parts = [min(step, max(size - step * at, 0)) for at in range(count)]
        if len(set(parts)) == 1 and step:
            return f"{x}.split({step}, dim={axis})"
        return f"{x}.split({tupled(parts)}, dim={axis})"
    return f"{x}.chunk({num_outputs or count}, dim={axis})"


_END = (1 << 31) - 1


@rule("Slice")
def slice_(
    site: Site,
    data: Operand,
    starts: Operand,
    ends: Operand,
    axes: Operand | None = None,
    steps: Operand | None = None,
) -> Expression:
    along = None if axes is None else axes.numbers
    count = None if starts.sizes is None else len(starts.sizes)
    if count is None and starts.shape and isinstance(starts.shape[0], int):
        count = starts.shape[0]
    if axes is None and count is not None:
        along = list(range(count))
    by = [1] * (count or 0) if steps is None else steps.numbers
    if along is None or count is None or by is None or (data.rank is None and any(axis < 0 for axis in along)):
        arguments = [ints(one) if one is not None else "None" for one in (axes, steps)]
        return f"{site.use('slice_along')}({data}, {ints(starts)}, {ints(ends)}, {arguments[0]}, {arguments[1]})"
    low, high = (_each(site, one, count) for one in (starts, ends))
    if data.sizes is not None and count == 1 and low[0].number is not None and high[0].number is not None:
        return Sizes(data.sizes[slice(low[0].number, high[0].number, by[0])])
    if any(step < 0 for step in by):
        arguments = [tupled(low), tupled(high), tupled(along), tupled(by)]
        return f"{site.use('slice_along')}({data}, {', '.join(arguments)})"
    along = [axis_in(axis, data.rank or 0) for axis in along]
    parts = [":"] * (max(along, default=-1) + 1)
    for axis, start, end, step in zip(along, low, high, by, strict=True):
        first = "" if start.number == 0 else str(start)
        last = "" if end.number is not None and end.number >= _END else str(end)
        parts[axis] = f"{first}:{last}" + (f":{step}" if step != 1 else "")
    if all(part == ":" for part in parts):
        return data
    return f"{data}[{', '.join(parts)}]"


def _each(site: Site, bounds: Operand, count: int) -> list[Size]:
    """The bounds one by one: those that only a tensor holds are read from it once."""
    if bounds.sizes is not None:
        return list(bounds.sizes)
    names = [site.fresh("n") for _ in range(count)]
    site.line(f"{', '.join(names)}{',' if count == 1 else ''} = {ints(bounds)}")
    return [Size(name) for name in names]


@rule("Tile")
def tile(_site: Site, x: Operand, repeats: Operand) -> Expression:
    return f"{x}.repeat({ints(repeats)})"


@rule("DepthToSpace")
def depth_to_space(site: Site, x: Operand, *, blocksize: int, mode: str) -> Expression:
    if mode == "CRD":
        return f"F.pixel_shuffle({x}, {blocksize})"
    return f"{site.use('depth_to_space')}({x}, {blocksize})"


@rule("SpaceToDepth")
def space_to_depth(site: Site, x: Operand, *, blocksize: int, mode: str) -> Expression:
    if mode == "CRD":
        return f"F.pixel_unshuffle({x}, {blocksize})"
    return f"{site.use('space_to_depth')}({x}, {blocksize})"


@rule("Pad")
def pad(
    site: Site,
    data: Operand,
    pads: Operand,
    constant_value: Operand | None = None,
    axes: Operand | None = None,
    *,
    mode: str,
) -> Expression:
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedError("its mode is none that is known")
    rank = data.rank
    along = list(range(rank)) if axes is None and rank is not None else axes.numbers if axes is not None else None
    if rank is None or along is None or pads.sizes is None:
        value = "" if constant_value is None else f", value={constant_value}"
        places = "None" if axes is None else ints(axes)
        return f'{site.use("pad_along")}({data}, {ints(pads)}, {places}, "{mode}"{value})'
    before, after = [Size.of(0)] * rank, [Size.of(0)] * rank
    for place, axis in enumerate(along):
        before[axis], after[axis] = pads.sizes[place], pads.sizes[place + len(along)]
    flat = flat_pads(before, after)
    if mode == "constant":
        value = "" if constant_value is None else _pad_value(constant_value)
        return f"F.pad({data}, {flat}{value})" if flat != "()" else data
    known = [one.number for one in (*before, *after)]
    inner = 3 <= rank <= 5 and all(one == 0 for one in (*known[:2], *known[rank : rank + 2]))
    floats = data.dtype in (DType.FLOAT32, DType.FLOAT64)
    if mode != "wrap" and inner and floats and all(one is not None and one >= 0 for one in known):
        whole = flat_pads(before, after, rank - 2)
        return f'F.pad({data}, {whole}, mode="{"replicate" if mode == "edge" else mode}")'
    return f'{site.use("pad_along")}({data}, {tupled(pads.sizes)}, {tupled(along)}, "{mode}")'


def flat_pads(before: Sequence[Size], after: Sequence[Size], count: int | None = None) -> str:
    """Padding as F.pad takes it: the last axis first, and none for the first axes that have none."""
    pairs = list(zip(before, after, strict=True))[::-1]
    if count is not None:
        pairs = pairs[:count]
    while count is None and pairs and pairs[-1][0].number == 0 and pairs[-1][1].number == 0:
        pairs.pop()
    return tupled(one for pair in pairs for one in pair)


def _pad_value(value: Operand) -> str:
    if value.literal is not None:
        return "" if value.literal in ("0.0", "0", "False") else f", value={value.literal}"
    return f", value={value}.item()"
