"""MoE and QMoE: each token goes through a few of many small networks, which a router chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import Type
from ingot.ops.contrib.domain import HALF, MICROSOFT, SMALL_FLOATS, may_omit
from ingot.ops.contrib.mixed_experts import CodedLayer, activation, highest, mixed, mixed_one_by_one
from ingot.ops.contrib.mixed_experts import Layer as Experts
from ingot.ops.contrib.packed import check_whole, unpacked
from ingot.ops.define import operator
from ingot.ops.facts import Fact
from ingot.ops.linalg.coded_weights import known_array, packed_weights
from ingot.ops.math.sigmoids import logistic
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.typesets import FLOAT32, UINT8, types
from ingot.prim.coded import Coded
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
T1: TypeAlias = Annotated[Array, types("T1", UINT8)]
T2: TypeAlias = Annotated[Array, types("T2", FLOAT32 | HALF)]
T4: TypeAlias = Annotated[Array, types("T4", FLOAT32)]

Layer: TypeAlias = Callable[[int, Array], Array]
"""What a layer of an expert makes of rows."""


@operator("MoE", since=1, domain=MICROSOFT)
def moe(
    x: T,
    router_probs: T,
    fc1_experts_weights: T,
    fc1_experts_bias: T | None,
    fc2_experts_weights: T,
    fc2_experts_bias: T | None = None,
    fc3_experts_weights: T | None = None,
    fc3_experts_bias: T | None = None,
    /,
    *,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    k: int = 1,
    normalize_routing_weights: int = 0,
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    use_sparse_mixer: int = 0,
) -> T:
    """The sum, over the `k` experts whose `router_probs` are highest, of their outputs times the softmax of these.

    An expert is `fc2(act(fc1(x)))`, times `fc3(x)` within if that is given. The softmax is over all experts, and scaled
    so that the chosen add up to one with `normalize_routing_weights`. Computed in float32.
    """
    _check(activation_type, k, use_sparse_mixer)
    tokens = _tokens(x, router_probs)
    logits = router_probs.astype(np.float32)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    shares = shares / shares.sum(axis=1, keepdims=True)
    chosen = _highest(shares, k)
    weights = np.take_along_axis(shares, chosen, axis=1)
    if normalize_routing_weights:
        weights = weights / weights.sum(axis=1, keepdims=True)
    layers = [
        _dense(fc1_experts_weights, fc1_experts_bias, "fc1"),
        _dense(fc2_experts_weights, fc2_experts_bias, "fc2"),
    ]
    third = None if fc3_experts_weights is None else _dense(fc3_experts_weights, fc3_experts_bias, "fc3")
    act = _activation(
        activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit, third is not None
    )
    y = _mixed(tokens, chosen, weights, layers[0], layers[1], third, act)
    return y.reshape(x.shape).astype(x.dtype)


@operator("QMoE", since=1, domain=MICROSOFT)
def qmoe(
    x: T,
    router_probs: T,
    fc1_experts_weights: T1,
    fc1_scales: T2 | None,
    fc1_experts_bias: T | None,
    fc2_experts_weights: T1,
    fc2_scales: T2 | None = None,
    fc2_experts_bias: T | None = None,
    fc3_experts_weights: T1 | None = None,
    fc3_scales: T2 | None = None,
    fc3_experts_bias: T | None = None,
    fc1_zero_points: T1 | None = None,
    fc2_zero_points: T1 | None = None,
    fc3_zero_points: T1 | None = None,
    router_weights: T | None = None,
    fc1_global_scale: T4 | None = None,
    fc2_global_scale: T4 | None = None,
    fc1_act_scale: T4 | None = None,
    fc2_act_scale: T4 | None = None,
    fc1_act_block_scale: T2 | None = None,
    fc2_act_block_scale: T2 | None = None,
    /,
    *,
    accuracy_level: int = 0,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    activation_type: str = "relu",
    block_size: int | None = None,
    expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int | None = None,
    fc2_expert_weight_bits: int | None = None,
    fc3_expert_weight_bits: int | None = None,
    k: int = 1,
    normalize_routing_weights: int = 0,
    quant_type: str = "int",
    swiglu_fusion: int = 0,
    swiglu_limit: float | None = None,
    use_sparse_mixer: int = 0,
    weights_prepacked: int = -1,
) -> T:
    """MoE with weights `(codes - zero_point) * scale`, by row or by block of a row, as MatMulNBits packs them.

    The outputs of the chosen experts are weighted by the softmax of their `router_probs` alone, or by `router_weights`,
    which may be scaled to add up to one.
    """
    _check(activation_type, k, use_sparse_mixer)
    if quant_type != "int":
        raise UnsupportedError(f"quant_type is '{quant_type}', which is for CUDA", hint="quantise to integers")
    tokens = _tokens(x, router_probs)
    logits = router_probs.astype(np.float32)
    chosen = _highest(logits, k)
    if router_weights is None:
        weights: Array = np.take_along_axis(logits, chosen, axis=1)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True, initial=-np.inf))
        weights = weights / weights.sum(axis=1, keepdims=True)
    else:
        if router_weights.shape != router_probs.shape:
            raise ShapeError(f"router_weights has shape {list(router_weights.shape)}, expected {list(logits.shape)}")
        weights = np.take_along_axis(router_weights.astype(np.float32), chosen, axis=1)
        if normalize_routing_weights:
            total = weights.sum(axis=1, keepdims=True)
            weights = weights / np.where(total == 0, np.float32(1), total)
    packed = (
        (fc1_experts_weights, fc1_scales, fc1_zero_points, fc1_experts_bias, fc1_expert_weight_bits, "fc1"),
        (fc2_experts_weights, fc2_scales, fc2_zero_points, fc2_experts_bias, fc2_expert_weight_bits, "fc2"),
        (fc3_experts_weights, fc3_scales, fc3_zero_points, fc3_experts_bias, fc3_expert_weight_bits, "fc3"),
    )
    first, second, third = (
        None if codes is None else _blocks(codes, scales, points, bias, bits or expert_weight_bits, block_size, name)
        for codes, scales, points, bias, bits, name in packed
    )
    assert first is not None
    assert second is not None
    act = _activation(
        activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit, third is not None
    )
    return _mixed(tokens, chosen, weights, first, second, third, act).reshape(x.shape).astype(x.dtype)


may_omit(moe, "fc1_experts_bias")
may_omit(qmoe, "fc1_scales", "fc1_experts_bias")


@moe.infer
@qmoe.infer
def infer(
    x: Fact, router_probs: Fact, /, *_: Fact | None, activation_type: str, k: int, use_sparse_mixer: int, **__: object
) -> Type | None:
    _check(activation_type, k, use_sparse_mixer)
    if x.rank not in (None, 2, 3):
        raise ShapeError(f"x has {x.rank} axes, expected 2 or 3")
    return x.type


@moe.lower
def lower(
    x: prim.Tensor,
    router_probs: prim.Tensor,
    fc1_experts_weights: prim.Tensor,
    fc1_experts_bias: prim.Tensor | None,
    fc2_experts_weights: prim.Tensor,
    fc2_experts_bias: prim.Tensor | None = None,
    fc3_experts_weights: prim.Tensor | None = None,
    fc3_experts_bias: prim.Tensor | None = None,
    /,
    *,
    activation_alpha: float,
    activation_beta: float,
    activation_type: str,
    k: int,
    normalize_routing_weights: int,
    swiglu_fusion: int,
    swiglu_limit: float | None,
    use_sparse_mixer: int,
    read: SizeReader,
) -> prim.Tensor:
    _check(activation_type, k, use_sparse_mixer)
    experts = _experts(router_probs, fc1_experts_weights, k)
    _require_gates(activation_type, swiglu_fusion, fc3_experts_weights)
    tokens = prim.reshape(x, (prim.count(x.shape[:-1]), x.shape[-1]))
    logits = prim.assume_shape(router_probs, (tokens.shape[0], experts))
    shares = prim.apply("exp", logits - prim.reduce_("maximum", logits, [1]))
    shares = shares / prim.reduce_("add", shares, [1])
    chosen = highest(shares, k)
    weights = prim.gather(shares, [0, chosen], chosen.shape, in_range=True)
    if normalize_routing_weights:
        weights = weights / prim.reduce_("add", weights, [1])
    third = None if fc3_experts_weights is None else Experts(fc3_experts_weights, fc3_experts_bias)
    act = activation(activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit, third is not None)
    first, second = Experts(fc1_experts_weights, fc1_experts_bias), Experts(fc2_experts_weights, fc2_experts_bias)
    return prim.reshape(mixed(tokens, chosen, weights, first, second, third, act, read), x.shape)


@qmoe.lower
def lower_qmoe(
    x: prim.Tensor,
    router_probs: prim.Tensor,
    fc1_experts_weights: prim.Tensor,
    fc1_scales: prim.Tensor | None,
    fc1_experts_bias: prim.Tensor | None,
    fc2_experts_weights: prim.Tensor,
    fc2_scales: prim.Tensor | None = None,
    fc2_experts_bias: prim.Tensor | None = None,
    fc3_experts_weights: prim.Tensor | None = None,
    fc3_scales: prim.Tensor | None = None,
    fc3_experts_bias: prim.Tensor | None = None,
    fc1_zero_points: prim.Tensor | None = None,
    fc2_zero_points: prim.Tensor | None = None,
    fc3_zero_points: prim.Tensor | None = None,
    router_weights: prim.Tensor | None = None,
    /,
    *_: prim.Tensor | None,
    activation_alpha: float,
    activation_beta: float,
    activation_type: str,
    block_size: int | None,
    expert_weight_bits: int,
    fc1_expert_weight_bits: int | None,
    fc2_expert_weight_bits: int | None,
    fc3_expert_weight_bits: int | None,
    k: int,
    normalize_routing_weights: int,
    quant_type: str,
    swiglu_fusion: int,
    swiglu_limit: float | None,
    use_sparse_mixer: int,
    read: SizeReader,
    **__: object,
) -> prim.Tensor:
    """Each expert multiplies the tokens that chose it by its codes, where these are known."""
    _check(activation_type, k, use_sparse_mixer)
    experts = _experts(router_probs, fc1_experts_weights, k)
    _require_gates(activation_type, swiglu_fusion, fc3_experts_weights)
    if quant_type != "int":
        raise prim.Refused(f"quant_type '{quant_type}'")
    packed = (
        (fc1_experts_weights, fc1_scales, fc1_zero_points, fc1_experts_bias, fc1_expert_weight_bits),
        (fc2_experts_weights, fc2_scales, fc2_zero_points, fc2_experts_bias, fc2_expert_weight_bits),
        (fc3_experts_weights, fc3_scales, fc3_zero_points, fc3_experts_bias, fc3_expert_weight_bits),
    )
    first, second, third = (
        None if codes is None else _coded_layer(codes, scales, points, bias, bits or expert_weight_bits, block_size)
        for codes, scales, points, bias, bits in packed
    )
    assert first is not None
    assert second is not None
    tokens = prim.cast(prim.reshape(x, (prim.count(x.shape[:-1]), x.shape[-1])), DType.FLOAT32)
    logits = prim.cast(prim.assume_shape(router_probs, (tokens.shape[0], experts)), DType.FLOAT32)
    chosen = highest(logits, k)
    if router_weights is None:
        weights = prim.gather(logits, [0, chosen], chosen.shape, in_range=True)
        weights = prim.apply("exp", weights - prim.reduce_("maximum", weights, [1]))
        weights = weights / prim.reduce_("add", weights, [1])
    else:
        every = prim.cast(prim.assume_shape(router_weights, logits.shape), DType.FLOAT32)
        weights = prim.gather(every, [0, chosen], chosen.shape, in_range=True)
        if normalize_routing_weights:
            total = prim.reduce_("add", weights, [1])
            weights = weights / prim.apply("where", prim.apply("equal", total, 0.0), 1.0, total)
    act = activation(activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit, third is not None)
    y = mixed_one_by_one(tokens, chosen, weights, first, second, third, act, read)
    return prim.reshape(prim.cast(y, x.dtype), x.shape)


def _experts(router_probs: prim.Tensor, weights: prim.Tensor, k: int) -> int:
    """How many experts there are; Refused unless that is known, the same everywhere, and enough."""
    experts = router_probs.shape[1]
    if not isinstance(experts, int) or k > experts or weights.shape[0] != experts:
        raise prim.Refused(f"{k} of {experts} experts")
    return experts


def _require_gates(activation_type: str, swiglu_fusion: int, third: prim.Tensor | None) -> None:
    """Refused unless it is known where the gates of swiglu come from."""
    if activation_type == "swiglu" and third is None and swiglu_fusion not in (1, 2):
        raise prim.Refused(f"swiglu_fusion {swiglu_fusion} without fc3")


def _coded_layer(
    codes: prim.Tensor,
    scales: prim.Tensor | None,
    points: prim.Tensor | None,
    bias: prim.Tensor | None,
    bits: int,
    block_size: int | None,
) -> CodedLayer:
    """A layer of matrices of codes; refused where these are not known, or are none that kernels read."""
    packed, steps, zeros = (None if x is None else known_array(x) for x in (codes, scales, points))
    if packed is None or steps is None or (points is not None and zeros is None) or packed.ndim != 3:
        raise prim.Refused("weights that a run computes")
    count, rows, size = len(packed), packed.shape[1], packed.shape[2] * (8 // bits)
    block = block_size or size
    if block < 1 or size % block or steps.size != count * rows * (size // block) or 8 % bits:
        raise prim.Refused(f"rows of {size} codes of {bits} bits in blocks of {block}")
    blocks = size // block
    matrices: list[Coded] = []
    for expert in range(count):
        point = None
        if zeros is not None:
            flat = zeros[expert].reshape(rows, -1) if block_size else zeros[expert].reshape(-1)
            point = unpacked(flat, bits)[..., :blocks] if block_size else unpacked(flat, bits)[:rows, None]
        matrix = packed_weights(
            prim.constant(packed[expert]),
            prim.constant(steps[expert].reshape(rows, blocks)),
            None if point is None else prim.constant(point.astype(np.float32)),
            bits,
            block,
            size,
            rows,
            rounded=False,
        )
        if matrix is None:
            raise prim.Refused("codes that no kernel reads")
        matrices.append(matrix)
    return CodedLayer(matrices, None if bias is None else prim.cast(bias, DType.FLOAT32))


def _mixed(
    tokens: Array,
    chosen: Array,
    weights: Array,
    first: Layer,
    second: Layer,
    third: Layer | None,
    act: Callable[[Array], Array],
) -> Array:
    """The weighted outputs of the chosen experts, each of which sees the tokens that chose it at once."""
    y = np.zeros_like(tokens)
    for expert in np.unique(chosen):
        rows, place = np.nonzero(chosen == expert)
        seen = tokens[rows]
        hidden = first(int(expert), seen)
        if third is not None:
            hidden = np.concatenate([hidden, third(int(expert), seen)], axis=1)
        out = second(int(expert), act(hidden))
        if out.shape[1] != y.shape[1]:
            raise ShapeError(f"fc2 makes rows of {out.shape[1]}, expected {y.shape[1]}")
        y[rows] += out * weights[rows, place][:, None]  # no token chooses an expert twice
    return y


def _activation(
    kind: str, fusion: int, alpha: float, beta: float, limit: float | None, beside: bool
) -> Callable[[Array], Array]:
    """What is made of the rows of fc1, or of those of fc1 and fc3 side by side."""
    if kind == "swiglu":
        if not beside and fusion not in (1, 2):
            raise CheckError(f"swiglu_fusion is {fusion}, and there is no fc3", hint="1 or 2 if fc1 holds both parts")
        bound = np.float32(np.inf if limit is None else limit)

        def gated(rows: Array) -> Array:
            half = rows.shape[1] // 2
            gate, linear = (rows[:, :half], rows[:, half:]) if beside or fusion == 2 else (rows[:, ::2], rows[:, 1::2])
            gate, linear = np.minimum(gate, bound), np.clip(linear, -bound, bound)
            return np.asarray(gate * logistic(np.float32(alpha) * gate) * (linear + np.float32(beta)))

        return gated
    function = _ACTIVATIONS[kind]

    def multiplied(rows: Array) -> Array:
        half = rows.shape[1] // 2
        return function(rows[:, :half]) * rows[:, half:]

    return multiplied if beside else function


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3))))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": _gelu,
    "silu": lambda x: np.asarray(x * logistic(x)),
    "identity": lambda x: x,
}


def _dense(weights: Array, bias: Array | None, name: str) -> Layer:
    if weights.ndim != 3 or (bias is not None and bias.shape != weights.shape[:2]):
        raise ShapeError(f"{name} has weights of shape {list(weights.shape)}, expected experts, outputs and inputs")

    def layer(expert: int, rows: Array) -> Array:
        _check_expert(expert, weights, name)
        y = rows @ np.require(weights[expert], np.float32, ["ALIGNED"]).T
        return np.asarray(y if bias is None else y + bias[expert].astype(np.float32))

    return layer


def _blocks(
    codes: Array,
    scales: Array | None,
    points: Array | None,
    bias: Array | None,
    bits: int,
    block_size: int | None,
    name: str,
) -> Layer:
    if scales is None or codes.ndim != 3 or scales.ndim not in (2, 3) or scales.shape[:2] != codes.shape[:2]:
        raise ShapeError(f"{name} has codes of shape {list(codes.shape)} and needs scales for their rows")
    check_whole(bits)
    size = codes.shape[2] * (8 // bits)
    block = block_size or size
    if block < 1 or size % block:
        raise ShapeError(f"{name} has rows of {size} codes, no whole number of blocks of {block}")
    blocks = size // block
    if scales.size != scales.shape[0] * scales.shape[1] * blocks:
        raise ShapeError(f"{name} has scales of shape {list(scales.shape)}, expected {blocks} for each row")

    def layer(expert: int, rows: Array) -> Array:
        _check_expert(expert, codes, name)
        refuse_huge((codes.shape[1], size), np.dtype(np.float32))
        values = unpacked(codes[expert], bits).astype(np.float32)
        scale = scales[expert].reshape(-1, blocks).astype(np.float32)
        point: Array = np.asarray(2 ** (bits - 1), np.float32)
        if points is not None and block_size:
            point = unpacked(points[expert].reshape(len(values), -1), bits)[:, :blocks].astype(np.float32)
        elif points is not None:
            point = unpacked(points[expert].reshape(-1), bits)[: len(values), None].astype(np.float32)
        centred = values.reshape(-1, blocks, block) - (point if point.ndim == 0 else point[..., None])
        weights = (centred * scale[..., None]).reshape(values.shape)
        if rows.shape[1] != size:
            raise ShapeError(f"{name} takes rows of {size}, these have {rows.shape[1]}")
        y = rows @ weights.T
        return np.asarray(y if bias is None else y + bias[expert].astype(np.float32))

    return layer


def _tokens(x: Array, router_probs: Array) -> Array:
    if x.ndim not in (2, 3) or router_probs.ndim != 2 or router_probs.shape[0] != x.size // max(1, x.shape[-1]):
        raise ShapeError(f"x of shape {list(x.shape)} does not fit router_probs of shape {list(router_probs.shape)}")
    return x.reshape(-1, x.shape[-1]).astype(np.float32, copy=False)


def _highest(values: Array, k: int) -> Array:
    """The places of the `k` highest of each row, of equals the later first."""
    if k > values.shape[1]:
        raise CheckError(f"k is {k}, there are {values.shape[1]} experts")
    return np.asarray(values.shape[1] - 1 - np.argsort(-values[:, ::-1], axis=1, kind="stable")[:, :k])


def _check(activation: str, k: int, sparse_mixer: int) -> None:
    if activation not in (*_ACTIVATIONS, "swiglu"):
        raise CheckError(f"activation_type is '{activation}'", hint=f"one of {', '.join(_ACTIVATIONS)}, swiglu")
    if k < 1:
        raise CheckError(f"k is {k}, expected at least 1")
    if sparse_mixer:
        raise UnsupportedError("use_sparse_mixer is for CUDA", hint="set it to 0")


def _check_expert(expert: int, weights: Array, name: str) -> None:
    if expert >= len(weights):
        raise ShapeError(f"{name} has weights of {len(weights)} experts, one is {expert}")
