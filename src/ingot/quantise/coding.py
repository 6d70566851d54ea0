"""The weights of products in codes: rounded to nearest, with the scales that the options ask for."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.ops.quantization.parameters import Parameters
from ingot.quantise.hqq import refine
from ingot.quantise.options import Options
from ingot.quantise.products import Product
from ingot.quantise.weights import Coded, coded, weight_parameters

_MOST_BIAS = float(np.iinfo(np.int32).max) - 256
"""The largest code of a bias, less what float32 scales may be off by."""


def scale_axis(product: Product, options: Options) -> tuple[int | None, int]:
    """The axis of the weight that has scales, None for one scale, and the size of blocks along it, 0 for none."""
    array = product.weight_array()
    if product.is_recurrent and options.scales != "tensor":
        if options.scales == "block":
            return product.sum_axis, options.block_size
        return (product.channel_axis, 0) if array.shape[0] == 1 else (product.sum_axis, array.shape[2])
    if options.scales == "block" and product.sum_axis is not None and array.ndim == 2:
        return product.sum_axis, options.block_size
    if options.scales == "tensor":
        return None, 0
    needs_one = options.mode == "dynamic" and not options.symmetric_weights
    if needs_one and (product.node.applies("Conv") or array.ndim > 2):
        return None, 0  # products of integers have zero points of channels for matrices alone
    return product.channel_axis, 0


def weight_scales(product: Product, options: Options, array: Array) -> Parameters:
    """Scales and zero points of a weight: from its extremes, or by `hqq` where the options ask for it."""
    chosen = extreme_scales(product, options, array)
    if "hqq" not in options.methods:
        return chosen
    return refine(array, chosen, *scale_axis(product, options), options.symmetric_weights)


def extreme_scales(product: Product, options: Options, array: Array) -> Parameters:
    """Scales and zero points from the extremes of a weight."""
    axis, block_size = scale_axis(product, options)
    return weight_parameters(
        array,
        options.weight_dtype,
        axis,
        symmetric=options.symmetric_weights,
        reduced=options.reduced,
        block_size=block_size,
    )


def coded_weight(product: Product, options: Options, input_scale: Array | None = None) -> Coded:
    """The weight of a product; where its input has a scale, those of the weight leave its bias a code of 32 bits."""
    array = product.weight_array()
    chosen = weight_scales(product, options, array)
    bias = product.bias_array()
    codes_bias = options.integer_biases and options.symmetric_weights
    if bias is not None and input_scale is not None and codes_bias:
        reach = np.abs(bias.astype(np.float64)).reshape(-1, array.shape[product.channel_axis or 0]).max(0)
        least = (reach if chosen.scale.ndim else reach.max()) / _MOST_BIAS / float(input_scale)
        scale = np.maximum(chosen.scale, least).astype(np.float32)
        chosen = Parameters(scale, chosen.zero_point, chosen.dtype, chosen.low, chosen.high)
    return coded(array, chosen, *scale_axis(product, options))
