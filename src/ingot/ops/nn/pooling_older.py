"""Pools in older versions: what their attributes could not express yet, by padding or as a convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.nn.pooling import average_pool, lp_pool, lp_pool_1, max_pool
from ingot.ops.nn.through import again, cast, through_float32, wide_of
from ingot.ops.nn.windows import Sweep, windows
from ingot.ops.older import dtype_of, shape_of

_INTEGERS = (DType.INT8, DType.UINT8)


@average_pool.downgrade
def downgrade_average_pool(op: Any, x: Value, /, *, version: int, **attributes: Any) -> Any:
    if dtype_of(x) is DType.BFLOAT16:
        return through_float32(op, average_pool, (x,), attributes, version=version)
    if version < 19 and _dilated(attributes):
        return _mean(op, x, attributes)
    if version < 10 and _rounded_up(attributes):
        sweeps = _sweeps(x, attributes)
        if attributes["count_include_pad"] and any(sweep.covered - sweep.size > _padding(sweep) for sweep in sweeps):
            return _mean(op, x, attributes)
        attributes["pads"] = _pads(sweeps)
    if version < 7 and attributes["count_include_pad"]:
        x, attributes = _padded_before(op, x, attributes)
    return again(op, average_pool, (x,), attributes, version=version)


@lp_pool.downgrade
def downgrade_lp_pool(op: Any, x: Value, /, *, version: int, **attributes: Any) -> Any:
    if dtype_of(x) is DType.BFLOAT16:
        return through_float32(op, lp_pool, (x,), attributes, version=version)
    if version < lp_pool.since[0]:
        return again(op, lp_pool_1, (x,), {**attributes, "p": float(attributes["p"])}, version=version)
    if _dilated(attributes):
        return _norm(op, x, attributes)
    if _rounded_up(attributes):
        attributes["pads"] = _pads(_sweeps(x, attributes))
    return again(op, lp_pool, (x,), attributes, version=version)


@max_pool.downgrade
def downgrade_max_pool(op: Any, x: Value, /, *, version: int, outputs: int, **attributes: Any) -> Any:
    dtype = dtype_of(x)
    if dtype is DType.BFLOAT16:
        return through_float32(op, max_pool, (x,), attributes, version=version, outputs=outputs)
    if version < 10 and _dilated(attributes):
        raise UnsupportedError("dilations came with version 10")
    if version < 10 and _rounded_up(attributes):
        attributes["pads"] = _pads(_sweeps(x, attributes))
    if version < 8:
        outputs = 1
    if dtype not in _INTEGERS:
        return again(op, max_pool, (x,), attributes, version=version, outputs=outputs)
    wide = op.Cast(x, to=int(DType.FLOAT32))
    y, *indices = again(op, max_pool, (wide,), attributes, version=version, outputs=outputs)
    if any(attributes["pads"] or ()) or attributes["auto_pad"].startswith("SAME"):
        y = op.Max(y, np.float32(np.iinfo(dtype.numpy).min))  # of a window in the padding alone
    return op.Cast(y, to=int(dtype)), *indices


def _dilated(attributes: Mapping[str, Any]) -> bool:
    return any(step != 1 for step in attributes["dilations"] or ())


def _rounded_up(attributes: Mapping[str, Any]) -> bool:
    """Whether a last window may reach beyond the padding: only where that is given."""
    return bool(attributes["ceil_mode"]) and attributes["auto_pad"] == "NOTSET"


def _sweeps(x: Value, attributes: Mapping[str, Any]) -> tuple[Sweep, ...]:
    sizes = [size for size in shape_of(x)[2:] if isinstance(size, int)]
    if len(sizes) < len(shape_of(x)) - 2:
        raise UnsupportedError(f"the spatial sizes of '{x.name}' are not known, on which the padding depends")
    named = ("strides", "dilations", "pads", "auto_pad", "ceil_mode")
    settings = {name: attributes[name] for name in named if name in attributes}
    return windows(len(sizes), attributes["kernel_shape"], **settings).over(sizes)


def _padding(sweep: Sweep) -> int:
    return sweep.before + sweep.after


def _pads(sweeps: Sequence[Sweep]) -> list[int]:
    """The padding with which as many windows fit."""
    ends = [max(sweep.covered - sweep.size - sweep.before, 0) for sweep in sweeps]
    return [*(sweep.before for sweep in sweeps), *ends]


def _padded_before(op: Any, x: Value, attributes: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """`x` with zeros around it, and the attributes to pool it without padding."""
    pads = attributes["pads"] or ()
    if attributes["auto_pad"].startswith("SAME"):
        pads = _pads(_sweeps(x, attributes))
    plain = {**attributes, "auto_pad": "NOTSET", "pads": None}
    if not any(pads):
        return x, plain
    rank = len(pads) // 2
    return op.Pad(x, mode="constant", pads=[0, 0, *pads[:rank], 0, 0, *pads[rank:]], value=0.0), plain


def _mean(op: Any, x: Value, attributes: Mapping[str, Any]) -> Any:
    sweeps = _sweeps(x, attributes)
    count: Array = np.ones((), np.int64)
    for axis, sweep in enumerate(sweeps):
        low, high = (-sweep.before, sweep.size + sweep.after) if attributes["count_include_pad"] else (0, sweep.size)
        inside = ((sweep.positions >= low) & (sweep.positions < high)).sum(axis=1)
        count = count * inside.reshape(-1, *(1,) * (len(sweeps) - 1 - axis))
    dtype = dtype_of(x)
    wide = wide_of(dtype)
    sums = _sums(op, x, cast(op, x, dtype, wide), wide, sweeps)
    return cast(op, op.Div(sums, count.astype(wide.numpy)), wide, dtype)


def _norm(op: Any, x: Value, attributes: Mapping[str, Any]) -> Any:
    sweeps, p, dtype = _sweeps(x, attributes), attributes["p"], dtype_of(x)
    wide = wide_of(dtype)
    values = cast(op, x, dtype, wide)
    if p == 2:
        return cast(op, op.Sqrt(_sums(op, x, op.Mul(values, values), wide, sweeps)), wide, dtype)
    powers = op.Abs(values) if p == 1 else op.Pow(op.Abs(values), np.asarray(p, wide.numpy))
    sums = _sums(op, x, powers, wide, sweeps)
    return cast(op, sums if p == 1 else op.Pow(sums, np.asarray(1 / p, wide.numpy)), wide, dtype)


def _sums(op: Any, x: Value, values: Any, wide: DType, sweeps: Sequence[Sweep]) -> Any:
    """The sum of each window of `values`, which have the shape of `x`: a convolution with ones for each channel."""
    channels = shape_of(x)[1]
    if not isinstance(channels, int) or channels < 1:
        raise UnsupportedError(f"the number of channels of '{x.name}' is not known")
    ones = np.ones((channels, 1, *(sweep.kernel for sweep in sweeps)), wide.numpy)
    steps = {"strides": [s.stride for s in sweeps], "dilations": [s.dilation for s in sweeps]}
    return op.Conv(values, ones, group=channels, pads=_pads(sweeps), **steps)
