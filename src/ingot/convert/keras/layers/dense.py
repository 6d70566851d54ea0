"""Products with weights, and tables that are looked up: dense layers and embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.keras.products import einsum
from ingot.convert.keras.rule import refusal, rule
from ingot.convert.operands import rank
from ingot.dtypes import DType


@rule("Dense")
def dense(c: Conversion, layer: Any, x: Var) -> Var:
    dtype = name_of(x.dtype)
    bias = None if layer.bias is None else c.weight(layer.bias, dtype)
    if layer.quantization_mode == "int8":
        product = _quantized(c, layer, x)
    elif rank(x) == 2 and bias is not None:
        return c.activation(layer.activation, op.Gemm(x, _kernel(c, layer, dtype), bias))
    else:
        product = op.MatMul(x, _kernel(c, layer, dtype))
    return c.activation(layer.activation, product if bias is None else product + bias)


def _kernel(c: Conversion, layer: Any, dtype: str) -> Var:
    """The weights of a layer, with what was learned on top of them."""
    return c.weight(layer.kernel, dtype, name="kernel")


def _quantized(c: Conversion, layer: Any, x: Var) -> Var:
    """Rows quantised as they come, by their largest element, and multiplied as integers."""
    kernel = as_array(layer._kernel).astype(np.int8)
    scale = c.weight(layer.kernel_scale, name_of(x.dtype))
    if layer.inputs_quantizer is None:
        return op.MatMul(x, c.constant(kernel.astype(x.dtype.numpy), "kernel")) / scale  # type: ignore[union-attr]
    largest = op.ReduceMax(op.Abs(x), [-1], keepdims=1)
    step = c.number(127, x) / (largest + c.number(layer.inputs_quantizer.epsilon, x))
    rounded = op.Clip(op.Round(x * step), c.number(-127, x), c.number(127, x))
    product = op.MatMulInteger(op.Cast(rounded, to=int(DType.INT8)), c.constant(kernel, "kernel"))
    return cast(product, name_of(x.dtype)) / (scale * step)


@refusal("Dense", "EinsumDense", "Embedding", "ReversibleEmbedding")
def unknown_quantization(layer: Any) -> str | None:
    mode = layer.quantization_mode
    known = (None, "int8") if type(layer).__name__ == "Dense" else (None,)
    return None if mode in known else f"quantised to {mode}"


@rule("EinsumDense")
def einsum_dense(c: Conversion, layer: Any, x: Var) -> Var:
    dtype = name_of(x.dtype)
    product = einsum(layer.equation, x, c.weight(layer.kernel, dtype, name="kernel"))
    if layer.bias is not None:
        product = product + c.weight(layer.bias, dtype)
    return c.activation(layer.activation, product)


@rule("Embedding")
def embedding(c: Conversion, layer: Any, x: Var) -> Var:
    places = x if name_of(x.dtype) in ("int32", "int64") else op.Cast(x, to=int(DType.INT32))
    return op.Gather(c.weight(layer.embeddings, layer.compute_dtype, name="embeddings"), places, axis=0)


@rule("ReversibleEmbedding")
def reversible(c: Conversion, layer: Any, x: Var, reverse: bool = False) -> Var:
    """An embedding, or with `reverse` the products with its rows."""
    if not reverse:
        return embedding(c, layer, x)
    dtype = layer.reverse_dtype or layer.compute_dtype
    if layer.tie_weights:
        kernel = c.weight(layer.embeddings, dtype, change=np.transpose, name="reverse_embeddings")
    else:
        kernel = c.weight(layer.reverse_embeddings, dtype)
    logits = op.MatMul(cast(x, dtype), kernel)
    if layer.logit_soft_cap is None:
        return logits
    cap = c.number(layer.logit_soft_cap, logits)
    return op.Tanh(logits / cap) * cap
