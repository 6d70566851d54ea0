"""FusedConv, FusedGemm and FusedMatMul: products with something done to their factors or their result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, nearest
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.activations import activated
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.gemm import gemm
from ingot.ops.linalg.matmul import product, product_in_primitives, product_shape
from ingot.ops.math.sigmoids import log_of_one_more, logistic
from ingot.ops.nn.convolution import conv, convolved, per_channel
from ingot.ops.nn.precision import widened
from ingot.ops.typesets import FLOATS, FLOATS_3, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
TGemm: TypeAlias = Annotated[Array, types("T", WIDE_3)]
TMatMul: TypeAlias = Annotated[Array, types("T", FLOATS)]


@operator("FusedConv", since=1, domain=MICROSOFT)
def fused_conv(
    x: T,
    w: T,
    b: T | None = None,
    z: T | None = None,
    /,
    *,
    activation: str | None = None,
    activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """A convolution with its bias, `z` added, and an activation of the sum."""
    y = convolved(
        *widened(x, w),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    if b is not None:
        y = y + per_channel(b, y, "the bias")
    if z is not None:
        if z.shape != y.shape:
            raise ShapeError(f"z has shape {list(z.shape)}, the convolution {list(y.shape)}")
        y = y + z.astype(y.dtype)
    return np.asarray(_activation(activation, activation_params or ())(y), x.dtype)


@fused_conv.infer
def infer_conv(
    x: Fact,
    w: Fact,
    b: Fact | None = None,
    z: Fact | None = None,
    /,
    *,
    activation: str | None,
    activation_params: Sequence[float] | None,
    **attributes: Any,
) -> Inferred:
    _activation(activation, activation_params or ())
    result: Inferred = conv.rules["infer"](x, w, b, **attributes)
    return result


@operator("FusedGemm", since=1, domain=MICROSOFT)
def fused_gemm(
    a: TGemm,
    b: TGemm,
    c: TGemm | None = None,
    /,
    *,
    activation: str | None = None,
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> TGemm:
    """An activation of `alpha * a @ b + beta * c`."""
    y = gemm.evaluate(*_wide(a, b, c), alpha=alpha, beta=beta, transA=transA, transB=transB)
    params = _of_gemm(activation, activation_alpha, activation_beta, activation_gamma)
    _check_integers(activation, y.dtype.kind != "f")
    return np.asarray(_activation(activation, params)(y), a.dtype)


@fused_gemm.infer
def infer_gemm(
    a: Fact,
    b: Fact,
    c: Fact | None = None,
    /,
    *,
    activation: str | None,
    activation_alpha: float | None,
    activation_beta: float | None,
    activation_gamma: float | None,
    **attributes: Any,
) -> Inferred:
    params = _of_gemm(activation, activation_alpha, activation_beta, activation_gamma)
    _activation(activation, params)
    result: Inferred = gemm.rules["infer"](a, b, c, **attributes)
    return result


@operator("FusedMatMul", since=1, domain=MICROSOFT)
def fused_matmul(
    a: TMatMul,
    b: TMatMul,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
    transBatchA: int = 0,  # noqa: N803
    transBatchB: int = 0,  # noqa: N803
) -> TMatMul:
    """`alpha` times the matrix product of `a` and `b`, each with its last two axes swapped if so asked.

    Before that, a transposed batch has its first axis moved to the last but one place.
    """
    left, right = widened(
        a.transpose(_order(a.ndim, transA, transBatchA)), b.transpose(_order(b.ndim, transB, transBatchB))
    )
    y = product(left, right)
    return np.asarray(y * y.dtype.type(alpha), a.dtype)


@fused_matmul.infer
def infer_matmul(
    a: Fact,
    b: Fact,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
    transBatchA: int,  # noqa: N803
    transBatchB: int,  # noqa: N803
) -> Inferred:
    dtype = a.dtype or b.dtype
    left, right = _ordered(a.shape, transA, transBatchA), _ordered(b.shape, transB, transBatchB)
    return None if dtype is None else TensorType(dtype, product_shape(left, right))


@fused_conv.lower
def lower_conv(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    z: prim.Tensor | None = None,
    /,
    *,
    activation: str | None,
    activation_params: Sequence[float] | None,
    **attributes: Any,
) -> prim.Tensor:
    y: prim.Tensor = conv.rules["lower"](x, w, b, **attributes)
    return activated(y if z is None else y + prim.assume_shape(z, y.shape), activation, activation_params or ())


@fused_gemm.lower
def lower_gemm(
    a: prim.Tensor,
    b: prim.Tensor,
    c: prim.Tensor | None = None,
    /,
    *,
    activation: str | None,
    activation_alpha: float | None,
    activation_beta: float | None,
    activation_gamma: float | None,
    **attributes: Any,
) -> prim.Tensor:
    params = _of_gemm(activation, activation_alpha, activation_beta, activation_gamma)
    if a.dtype.is_integer and activation not in (None, "", "Relu"):
        raise prim.Refused(f"{activation} of integers")
    return activated(gemm.rules["lower"](a, b, c, **attributes), activation, params)


@fused_matmul.lower
def lower_matmul(
    a: prim.Tensor,
    b: prim.Tensor,
    /,
    *,
    alpha: float,
    transA: int,  # noqa: N803
    transB: int,  # noqa: N803
    transBatchA: int,  # noqa: N803
    transBatchB: int,  # noqa: N803
) -> prim.Tensor:
    left = prim.permute(a, _order(a.rank, transA, transBatchA))
    right = prim.permute(b, _order(b.rank, transB, transBatchB))
    y = product_in_primitives(left, right)
    return y if alpha == 1 else y * alpha


def _ordered(shape: Shape | None, swap: int, batch: int) -> Shape | None:
    return None if shape is None else tuple(shape[axis] for axis in _order(len(shape), swap, batch))


def _order(rank: int, swap: int, batch: int) -> list[int]:
    axes = list(range(rank))
    if batch and rank > 2:
        axes.insert(rank - 2, axes.pop(0))
    if swap and rank > 1:
        axes[-2:] = axes[:-3:-1]
    return axes


def _wide(*arrays: Array | None) -> list[Array | None]:
    """Halves as float32; all else as it is."""
    return [x.astype(np.float32) if x is not None and x.dtype == np.float16 else x for x in arrays]


_ACTIVATIONS: dict[str, tuple[tuple[float, ...], Callable[..., Any]]] = {
    "Relu": ((), lambda x: np.maximum(x, 0)),
    "Tanh": ((), np.tanh),
    "Sigmoid": ((), logistic),
    "Softplus": ((), log_of_one_more),
    "ParametricSoftplus": ((1.0, 1.0), lambda x, a, b: a * log_of_one_more(b * x)),
    "ScaledTanh": ((1.0, 1.0), lambda x, a, b: a * np.tanh(b * x)),
    "Softsign": ((), lambda x: x / (1 + np.abs(x))),
    "LeakyRelu": ((0.01,), lambda x, a: np.where(x < 0, a * x, x)),
    "ThresholdedRelu": ((1.0,), lambda x, a: np.where(x > a, x, 0)),
    "Elu": ((1.0,), lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x)),
    "Clip": ((-np.inf, np.inf), lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    "HardSigmoid": ((0.2, 0.5), lambda x, a, b: np.clip(a * x + b, 0, 1)),
    "HardSwish": ((), lambda x: x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1)),
    "Selu": (
        (1.6732632423543772, 1.0507009873554805),
        lambda x, a, g: g * np.where(x <= 0, a * np.expm1(np.minimum(x, 0)), x),
    ),
}
"""What each takes by default, and what it computes."""


def _of_gemm(activation: str | None, *params: float | None) -> list[float]:
    """The parameters that are given and that the activation takes; onnxruntime leaves the others alone."""
    present = [param for param in params if param is not None]
    return present[: len(_ACTIVATIONS[activation][0])] if activation in _ACTIVATIONS else present


def _check_integers(activation: str | None, integers: bool) -> None:
    if integers and activation not in (None, "", "Relu"):
        raise CheckError(f"activation is '{activation}', which takes floats")


def _activation(name: str | None, params: Sequence[float]) -> Callable[[Array], Any]:
    """The activation of that name, with the parameters given and its own defaults for the rest."""
    if not name:
        return lambda x: x
    if name not in _ACTIVATIONS:
        raise CheckError(
            f"activation is '{name}'", hint=nearest(name, _ACTIVATIONS) or f"one of {', '.join(_ACTIVATIONS)}"
        )
    defaults, compute = _ACTIVATIONS[name]
    if len(params) > len(defaults):
        raise CheckError(f"{name} takes {len(defaults)} parameters, {len(params)} are given")
    values = (*params, *defaults[len(params) :])
    return lambda x: compute(x, *(x.dtype.type(value) for value in values))
