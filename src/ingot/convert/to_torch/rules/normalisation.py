"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import axis_in, rank_of, short, tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType


@rule("BatchNormalization")
def batch_normalization(
    site: Site,
    x: Operand,
    scale: Operand,
    b: Operand,
    mean: Operand,
    var: Operand,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> Expression:
    if training_mode:
        settings = f"{short(epsilon)}, {short(momentum)}"
        text = f"{site.use('batch_norm_training')}({x}, {scale}, {b}, {mean}, {var}, {settings})"
        count = len(site.node.outputs)
        return text if count == 3 else f"{text}[0]" if count == 1 else f"{text}[:{count}]"
    alike = all(one.dtype is x.dtype for one in (scale, b, mean, var))
    if not alike or x.rank == 1:
        return f"{site.use('batch_norm')}({x}, {scale}, {b}, {mean}, {var}, {short(epsilon)})"
    eps = "" if short(epsilon) == "1e-05" else f", eps={short(epsilon)}"
    return f"F.batch_norm({x}, {mean}, {var}, {scale}, {b}{eps})"


@rule("LayerNormalization")
def layer_normalization(
    site: Site, x: Operand, scale: Operand, b: Operand | None = None, *, axis: int, epsilon: float, stash_type: int
) -> Expression:
    shape = _normal_shape(x, axis)
    whole = _is_whole(x, axis, scale, b)
    count = len(site.node.outputs)
    mixed = x.dtype in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64)
    if count == 1 and whole and scale.dtype is x.dtype and not mixed:
        bias = "" if b is None else f", {b}"
        eps = "" if short(epsilon) == "1e-05" else f", eps={short(epsilon)}"
        return f"F.layer_norm({x}, {shape}, {scale}{bias}{eps})"
    wide = "" if stash_type == 1 and x.dtype is not DType.FLOAT64 else ", wide=None"
    text = f"{site.use('layer_norm')}({x}, {scale}, {b}, {axis}, {short(epsilon)}{wide})"
    return text if count == 3 else f"{text}[0]" if count == 1 else f"{text}[:{count}]"


@rule("RMSNormalization")
def rms_normalization(
    site: Site, x: Operand, scale: Operand, *, axis: int, epsilon: float, stash_type: int
) -> Expression:
    mixed = x.dtype in (DType.FLOAT16, DType.BFLOAT16)
    if _is_whole(x, axis, scale, None) and scale.dtype is x.dtype and not mixed:
        return f"F.rms_norm({x}, {_normal_shape(x, axis)}, {scale}, eps={short(epsilon)})"
    wide = "" if stash_type == 1 and x.dtype is not DType.FLOAT64 else ", wide=None"
    return f"{site.use('rms_norm')}({x}, {scale}, {axis}, {short(epsilon)}{wide})"


@rule("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    site: Site, x: Operand, scale: Operand, *, axis: int, epsilon: float, stash_type: int
) -> Expression:
    return rms_normalization(site, x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


@rule("GroupNormalization")
def group_normalization(
    _site: Site, x: Operand, scale: Operand, bias: Operand, *, num_groups: int, epsilon: float, stash_type: int
) -> Expression:
    return f"F.group_norm({x}, {num_groups}, {scale}, {bias}, eps={short(epsilon)})"


@rule("InstanceNormalization")
def instance_normalization(_site: Site, x: Operand, scale: Operand, b: Operand, *, epsilon: float) -> Expression:
    return f"F.instance_norm({x}, weight={scale}, bias={b}, eps={short(epsilon)})"


@rule("LpNormalization")
def lp_normalization(_site: Site, x: Operand, *, axis: int, p: int) -> Expression:
    least = {DType.FLOAT16: "1e-7", DType.FLOAT64: "1e-300"}.get(x.dtype or DType.FLOAT32, "1e-37")
    return f"F.normalize({x}, p={p}, dim={axis}, eps={least})"


@rule("MeanVarianceNormalization")
def mean_variance_normalization(site: Site, x: Operand, *, axes: Sequence[int]) -> Expression:
    return f"{site.use('mean_variance_norm')}({x}, {tuple(axes)})"


@rule("LRN")
def lrn(site: Site, x: Operand, *, size: int, alpha: float, beta: float, bias: float) -> Expression:
    settings = f"{size}, alpha={short(alpha)}, beta={short(beta)}, k={short(bias)}"
    if size % 2 and x.rank is not None and x.rank >= 3:
        return f"F.local_response_norm({x}, {settings})"
    return f"{site.use('local_response_norm')}({x}, {settings})"


def _normal_shape(x: Operand, axis: int) -> str:
    if x.shape is not None:
        sizes = x.shape[axis_in(axis, rank_of(x)) :]
        if all(isinstance(size, int) for size in sizes):
            return tupled(sizes)
    return f"{x}.shape[{axis}:]"


def _is_whole(x: Operand, axis: int, *scales: Operand | None) -> bool:
    """Whether scale and bias have the shape of what is normalised, as torch wants it."""
    if x.shape is None:
        return False
    sizes = x.shape[axis_in(axis, rank_of(x)) :]
    return all(isinstance(size, int) for size in sizes) and all(one is None or one.shape == sizes for one in scales)
