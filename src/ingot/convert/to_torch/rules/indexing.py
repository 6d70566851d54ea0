"""Taking elements out of tensors and putting them in, by index."""

from __future__ import annotations

from ingot.convert.to_torch.operand import Operand, Sizes
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import integer, ints
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_REDUCTIONS = ("none", "add", "mul", "max", "min")


@rule("Gather")
def gather(_site: Site, data: Operand, indices: Operand, *, axis: int) -> Expression:
    numbers = indices.numbers
    if data.sizes is not None and numbers is not None and data.rank == 1:
        return Sizes(tuple(data.sizes[number] for number in numbers), is_scalar=indices.rank == 0)
    if indices.rank == 0 and indices.sizes is not None:
        index = str(indices.sizes[0])
    elif indices.rank == 1 and numbers is not None and 0 < len(numbers) <= 8 and indices.constant is not None:
        index = str(numbers)
    else:
        index = _index(indices)
    if axis < 0 and data.rank is not None:
        axis += data.rank
    if axis < 0:
        return f"{data}[..., {index}{', :' * (-axis - 1)}]"
    return f"{data}[{':, ' * axis}{index}]"


@rule("GatherElements")
def gather_elements(site: Site, data: Operand, indices: Operand, *, axis: int) -> Expression:
    constant = indices.constant
    if constant is not None and (not constant.size or constant.numpy().min() >= 0):
        return f"{data}.gather({axis}, {_long(indices)})"
    return f"{data}.gather({axis}, {site.use('counted_from_front')}({_long(indices)}, {data}.shape[{axis}]))"


@rule("GatherND")
def gather_nd(site: Site, data: Operand, indices: Operand, *, batch_dims: int) -> Expression:
    return f"{site.use('gather_nd')}({data}, {indices}{f', batch_dims={batch_dims}' if batch_dims else ''})"


@rule("ScatterElements", "Scatter", widens=True)
def scatter_elements(
    site: Site, data: Operand, indices: Operand, updates: Operand, *, axis: int, reduction: str = "none"
) -> Expression:
    _refuse_unknown(reduction)
    places = f"{site.use('counted_from_front')}({_long(indices)}, {data}.shape[{axis}])"
    if reduction == "none":
        return f"{data}.scatter({axis}, {places}, {updates})"
    if reduction == "add":
        return f"{data}.scatter_add({axis}, {places}, {updates})"
    torch_reduction = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return f'{data}.scatter_reduce({axis}, {places}, {updates}, "{torch_reduction}")'


@rule("ScatterND", widens=True)
def scatter_nd(site: Site, data: Operand, indices: Operand, updates: Operand, *, reduction: str) -> Expression:
    _refuse_unknown(reduction)
    how = "" if reduction == "none" else f', reduction="{reduction}"'
    return f"{site.use('scatter_nd')}({data}, {indices}, {updates}{how})"


@rule("TensorScatter")
def tensor_scatter(
    site: Site, past_cache: Operand, update: Operand, write_indices: Operand | None = None, *, axis: int, mode: str
) -> Expression:
    circular = ", circular=True" if mode == "circular" else ""
    return f"{site.use('tensor_scatter')}({past_cache}, {update}, {write_indices}, {axis}{circular})"


@rule("NonZero")
def non_zero(_site: Site, x: Operand) -> Expression:
    return f"{x}.nonzero().T" if x.rank else f"{x}.reshape(1).nonzero().T"


@rule("Compress")
def compress(_site: Site, x: Operand, condition: Operand, *, axis: int | None) -> Expression:
    if axis is None:
        return f"{x}.flatten()[{condition}.nonzero().flatten()]"
    return f"{x}.index_select({axis}, {condition}.nonzero().flatten())"


@rule("OneHot")
def one_hot(site: Site, indices: Operand, depth: Operand, values: Operand, *, axis: int) -> Expression:
    return f"{site.use('one_hot')}({indices}, {integer(depth)}, {values}, {axis})"


@rule("Unique", widens=True)
def unique(site: Site, x: Operand, *, axis: int | None, sorted_: int) -> Expression:
    options = f", axis={axis}" * (axis is not None) + ", in_order=False" * (not sorted_)
    text = f"{site.use('unique')}({x}{options})"
    return text if len(site.node.outputs) == 4 else _first_outputs(text, len(site.node.outputs))


def _first_outputs(text: str, count: int) -> str:
    return f"{text}[0]" if count == 1 else f"{text}[:{count}]"


@rule("ReverseSequence")
def reverse_sequence(site: Site, x: Operand, sequence_lens: Operand, *, batch_axis: int, time_axis: int) -> Expression:
    return f"{site.use('reverse_sequence')}({x}, {sequence_lens}, {batch_axis}, {time_axis})"


@rule("Trilu")
def trilu(_site: Site, x: Operand, k: Operand | None = None, *, upper: int) -> Expression:
    diagonal = "" if k is None or k.numbers == [0] else f"diagonal={integer(k)}"
    return f"{x}.{'triu' if upper else 'tril'}({diagonal})"


@rule("CenterCropPad")
def center_crop_pad(site: Site, x: Operand, shape: Operand, *, axes: tuple[int, ...] | None) -> Expression:
    return f"{site.use('center_crop_pad')}({x}, {ints(shape)}, {None if axes is None else tuple(axes)})"


def _index(indices: Operand) -> str:
    return str(indices) if indices.dtype in (DType.INT64, DType.INT32) else f"{indices}.to(torch.int64)"


def _long(indices: Operand) -> str:
    return str(indices) if indices.dtype is DType.INT64 else f"{indices}.to(torch.int64)"


def _refuse_unknown(reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise UnsupportedError("its reduction is none that is known")
