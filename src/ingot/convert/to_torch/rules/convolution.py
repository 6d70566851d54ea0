"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand, Size
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.view import flat_pads
from ingot.convert.to_torch.say import ints, tupled
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError


def spatial(x: Operand, w: Operand | None = None) -> int:
    """How many axes a window moves along: one, two or three."""
    rank = x.rank if x.rank is not None else w.rank if w is not None else None
    if rank is None:
        raise UnsupportedError("the number of axes of its input is not known")
    if not 3 <= rank <= 5:
        raise UnsupportedError(f"torch has none along {rank - 2} axes")
    return rank - 2


def kernel_of(w: Operand, kernel_shape: Sequence[int] | None) -> list[int]:
    """The sizes of the window."""
    if kernel_shape is not None:
        return list(kernel_shape)
    if w.shape is not None and all(isinstance(size, int) for size in w.shape[2:]):
        return [size for size in w.shape[2:] if isinstance(size, int)]
    raise UnsupportedError("the size of its window is not known")


def same_pads(
    x: Operand, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], upper: bool
) -> list[int] | None:
    """The padding that leaves as many windows as strides fit in; None where the sizes are not known."""
    if x.shape is None or not all(isinstance(size, int) for size in x.shape[2:]):
        if all(stride == 1 for stride in strides):
            sizes: list[int] = [1] * len(kernel)
        else:
            return None
    else:
        sizes = [size for size in x.shape[2:] if isinstance(size, int)]
    before, after = [], []
    for size, length, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        whole = max((-(-size // stride) - 1) * stride + (length - 1) * dilation + 1 - size, 0)
        before.append(whole // 2 if upper else whole - whole // 2)
        after.append(whole - before[-1])
    return [*before, *after]


def padded(
    site: Site,
    x: Operand,
    auto_pad: str,
    pads: Sequence[int] | None,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[str, list[int]]:
    """The input, padded where torch could not do it by itself, and the padding that is left to torch."""
    count = len(kernel)
    both_pads = [0] * (2 * count) if pads is None or auto_pad == "VALID" else list(pads)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        upper = auto_pad == "SAME_UPPER"
        computed = same_pads(x, kernel, strides, dilations, upper)
        if computed is None:
            options = "" if upper else ", upper=False"
            sizes = f"{tuple(kernel)}, {tuple(strides)}, {tuple(dilations)}"
            return f"{site.use('pad_same')}({x}, {sizes}{options})", [0] * count
        both_pads = computed
    before, after = both_pads[:count], both_pads[count:]
    if before == after and min(before, default=0) >= 0:
        return str(x), before
    pairs = flat_pads([Size.of(one) for one in before], [Size.of(one) for one in after], count)
    return f"F.pad({x}, {pairs})", [0] * count


@rule("Conv")
def conv(
    site: Site,
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    return conv_text(site, x, w, b, auto_pad, dilations, group, kernel_shape, pads, strides)


def conv_text(
    site: Site,
    x: Operand,
    w: Operand,
    b: Operand | None,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> str:
    """A call of one of torch's convolutions."""
    count = spatial(x, w)
    kernel = kernel_of(w, kernel_shape)
    steps, gaps = list(strides or [1] * count), list(dilations or [1] * count)
    text, padding = padded(site, x, auto_pad, pads, kernel, steps, gaps)
    options = _options(stride=steps, padding=padding, dilation=gaps, groups=group)
    return f"F.conv{count}d({text}, {w}{'' if b is None else f', {b}'}{options})"


def _options(
    *, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, **others: Sequence[int]
) -> str:
    """Keywords, of those that differ from the default."""
    options = ""
    for name, values, usual in (("stride", stride, 1), ("padding", padding, 0)):
        if any(value != usual for value in values):
            options += f", {name}={_one_or_all(values)}"
    for name, values in others.items():
        if any(values):
            options += f", {name}={_one_or_all(values)}"
    if groups != 1:
        options += f", groups={groups}"
    return options + (f", dilation={_one_or_all(dilation)}" if any(value != 1 for value in dilation) else "")


def _one_or_all(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else tupled(values)


@rule("ConvTranspose")
def conv_transpose(
    site: Site,
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    count = spatial(x, w)
    kernel = kernel_of(w, kernel_shape)
    steps, gaps = list(strides or [1] * count), list(dilations or [1] * count)
    more = list(output_padding or [0] * count)
    before, after = [0] * count, [0] * count
    if output_shape is not None or auto_pad.startswith("SAME"):
        sizes = list(x.shape[2:]) if x.shape is not None else [None] * count
        for axis, size in enumerate(sizes):
            span = (kernel[axis] - 1) * gaps[axis] + 1
            if output_shape is not None:
                if not isinstance(size, int):
                    raise UnsupportedError("its output_shape needs the sizes of its input")
                wanted = list(output_shape)[-count:][axis]
                whole = steps[axis] * (size - 1) + more[axis] + span - wanted
            else:
                whole = span - steps[axis] + more[axis]
            less = whole // 2
            before[axis] = less if auto_pad == "SAME_UPPER" else whole - less
            after[axis] = whole - before[axis]
    elif pads is not None and auto_pad == "NOTSET":
        before, after = list(pads[:count]), list(pads[count:])
    shared = [min(one, other) for one, other in zip(before, after, strict=True)]
    ending = list(more)
    crop = None
    simple = all(one >= 0 for one in shared)
    if before != after or not simple or any(one >= max(s, d) for one, s, d in zip(more, steps, gaps, strict=True)):
        crop, shared, ending = (before, after, more), [0] * count, [0] * count
    options = _options(stride=steps, padding=shared, output_padding=ending, groups=group, dilation=gaps)
    text = f"F.conv_transpose{count}d({x}, {w}{'' if b is None or crop else f', {b}'}{options})"
    if crop is not None:
        ends = [more - less for more, less in zip(crop[2], crop[1], strict=True)]
        text = f"{site.use('cropped')}({text}, {tupled(crop[0])}, {tupled(ends)})"
        if b is not None:
            text += f" + {b}.reshape(-1{', 1' * count})"
    return text


@rule("DeformConv")
def deform_conv(
    site: Site,
    x: Operand,
    w: Operand,
    offset: Operand,
    b: Operand | None = None,
    mask: Operand | None = None,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    if spatial(x, w) != 2:
        raise UnsupportedError("only images can be deformed")
    kernel = kernel_of(w, kernel_shape)
    settings = [tuple(kernel), tuple(strides or (1, 1)), tuple(dilations or (1, 1)), tuple(pads or (0, 0, 0, 0))]
    options = ", ".join(map(str, settings))
    return f"{site.use('deform_conv')}({x}, {w}, {offset}, {b}, {mask}, {options}, {group}, {offset_group})"


@rule("CausalConvWithState")
def causal_conv_with_state(
    site: Site,
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    past: Operand | None = None,
    *,
    activation: str,
) -> Expression:
    act = ', activation="silu"' if activation in ("silu", "swish") else ""
    if activation not in ("none", "silu", "swish"):
        raise UnsupportedError("its activation is none that is known")
    text = f"{site.use('causal_conv')}({x}, {weight}, {bias}, {past}{act})"
    return text if len(site.node.outputs) == 2 else f"{text}[0]"


@rule("Col2Im")
def col2im(
    site: Site,
    x: Operand,
    image_shape: Operand,
    block_shape: Operand,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:

    count = block_shape.shape[0] if block_shape.shape else None
    if not isinstance(count, int):
        raise UnsupportedError("the number of its axes is not known")
    both_pads = list(pads or [0] * (2 * count))
    gaps, steps = tuple(dilations or [1] * count), tuple(strides or [1] * count)
    if count == 2 and both_pads[:2] == both_pads[2:]:
        options = f"dilation={gaps}, padding={tuple(both_pads[:2])}, stride={steps}"
        return f"F.fold({x}, {ints(image_shape)}, {ints(block_shape)}, {options})"
    return f"{site.use('col2im')}({x}, {ints(image_shape)}, {ints(block_shape)}, {gaps}, {tuple(both_pads)}, {steps})"
