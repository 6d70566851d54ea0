"""Inputs whose shapes do not go together: the reference refuses them, and so does compiled code, sizes known or not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.errors import IngotError
from ops.contrib.peer import MICROSOFT, PROVIDERS, agrees, of_one_node

NCHWC = "com.microsoft.nchwc"
RNG = np.random.default_rng(3)


def f(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def i(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def h(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float16)


def codes(*shape: int) -> Array:
    return RNG.integers(0, 256, shape).astype(np.uint8)


class Case(NamedTuple):
    op_type: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = MappingProxyType({})
    outputs: int = 1
    domain: str = MICROSOFT
    constant: tuple[int, ...] = ()


LINEAR = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
GATED = {**LINEAR, "update_rule": "gated_delta"}
GROUPS = {"groups": 2, "activation": 0}
HEADS = {"num_heads": 2}

SHARED = {"num_heads": 4, "kv_num_heads": 2}
CACHE = (f(1, 2, 4, 8), f(1, 2, 4, 8), i(4), i(5))

CASES = {
    "linear attention, fewer keys": Case("LinearAttention", (f(1, 3, 8), f(1, 1, 8), f(1, 3, 4)), LINEAR, 2),
    "linear attention, fewer values": Case("LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 1, 4)), LINEAR, 2),
    "linear attention, another batch": Case("LinearAttention", (f(2, 3, 8), f(1, 3, 8), f(2, 3, 4)), LINEAR, 2),
    "linear attention, fewer decays": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 1, 2), f(1, 3, 2)), GATED, 2
    ),
    "linear attention, one decay": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 3, 1), f(1, 3, 2)), GATED, 2
    ),
    "linear attention, fewer rates": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 3, 2), f(1, 2, 2)), GATED, 2
    ),
    "reordered, too many channels": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": 32}, domain=NCHWC),
    "reordered, no channels": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": 0}, domain=NCHWC),
    "reordered, fewer than none": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": -4}, domain=NCHWC),
    "crops of two numbers": Case("CropAndResize", (f(1, 2, 4, 4), f(3, 2), i(0, 0, 0), i(2, 2)), constant=(3,)),
    "crops of fewer images": Case("CropAndResize", (f(1, 2, 4, 4), f(3, 4), i(0, 0), i(2, 2)), constant=(3,)),
    "words, filters of another size": Case(
        "WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 5), f(4), f(7, 3))
    ),
    "words, filters of no channel": Case("WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 0, 2, 3), f(4), f(7, 3))),
    "words, one bias": Case("WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 3), f(1), f(7, 3))),
    "words, another window": Case(
        "WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 3), f(4), f(7, 3)), {"conv_window_size": 3}
    ),
    "heads, a short bias": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 8), f(9)), HEADS),
    "heads, a bias of two axes": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 8), f(1, 24)), HEADS),
    "heads, one part": Case("MultiHeadAttention", (f(1, 3, 2, 1, 4),), HEADS),
    "heads, other heads": Case("MultiHeadAttention", (f(1, 3, 4, 3, 4),), HEADS),
    "heads, packed pairs of one part": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 5, 2, 1, 4)), HEADS),
    "heads, packed with a bias": Case("MultiHeadAttention", (f(1, 3, 2, 3, 4), None, None, f(24)), HEADS),
    "heads, packed pairs with a bias": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 5, 2, 2, 4), None, f(24)), HEADS),
    "heads, keys of another batch": Case("MultiHeadAttention", (f(2, 3, 8), f(1, 3, 8), f(2, 3, 8)), HEADS),
    "heads, fewer values than keys": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 2, 8)), HEADS),
    "attention, a short bias": Case("Attention", (f(1, 2, 4), f(4, 24), f(3)), HEADS),
    "attention, one bias": Case("Attention", (f(1, 2, 4), f(4, 24), f(1)), HEADS),
    "attention, a past of keys alone": Case(
        "Attention", (f(1, 3, 6), f(6, 24), f(24), None, f(1, 1, 2, 2, 4)), HEADS, 2
    ),
    "attention, a past of other heads": Case(
        "Attention", (f(1, 3, 6), f(6, 24), f(24), None, f(2, 1, 2, 2, 5)), HEADS, 2
    ),
    "decoding, queries of three tokens": Case(
        "DecoderMaskedMultiHeadAttention", (f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)), HEADS
    ),
    "decoding, a past that is no buffer": Case(
        "DecoderMaskedMultiHeadAttention",
        (f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, f(2, 2, 6, 4), f(2, 2, 6, 4)),
        HEADS,
        3,
    ),
    "decoding, beams of no cache": Case(
        "DecoderMaskedMultiHeadAttention",
        (f(2, 1, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), None, None, None, None, None, i(2)),
        HEADS,
    ),
    "groups of queries, a negative total": Case(
        "GroupQueryAttention",
        (f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), f(1, 2, 4, 8), f(1, 2, 4, 8), i(4), i(-4)),
        SHARED,
        3,
        constant=(6,),
    ),
    "a sum, one bias": Case("BiasAdd", (f(2, 3, 4), f(1), f(2, 3, 4))),
    "halves, one bias": Case("BiasSplitGelu", (f(2, 3, 4), f(1))),
    "a softmax, more axes": Case("BiasSoftmax", (f(2, 3), f(1, 2, 3)), {"axis": 1, "is_inner_broadcast": 0}),
    "a softmax, another bias": Case("BiasSoftmax", (f(2, 3), f(2, 2)), {"axis": 1, "is_inner_broadcast": 0}),
    "groups, one factor": Case("GroupNorm", (f(2, 3, 3, 4), f(1), f(4)), GROUPS),
    "groups, one addend": Case("GroupNorm", (f(2, 3, 3, 4), f(4), f(1)), GROUPS),
    "groups of sums, one bias": Case("SkipGroupNorm", (f(2, 3, 3, 4), f(4), f(4), f(2, 3, 3, 4), f(1)), GROUPS, 2),
    "sums, one factor": Case("SkipLayerNormalization", (f(2, 3, 4), f(2, 3, 4), f(1), f(4))),
    "sums, one bias": Case("SkipLayerNormalization", (f(2, 3, 4), f(2, 3, 4), f(4), f(4), f(1))),
    "branches, a scale of one branch": Case("BranchwiseRMSNorm", (f(2, 3, 4), f(1, 4))),
    "branches, a scale the other way": Case("BranchwiseRMSNorm", (f(2, 3, 4), f(4, 3))),
    "gates, queries of one token": Case("EngramGate", (f(2, 3, 2, 4), f(1, 1, 2, 4), f(2, 3, 4), f(2, 4), f(2, 4))),
    "gates, scales of one feature": Case("EngramGate", (f(2, 3, 2, 4), f(2, 3, 2, 4), f(2, 3, 4), f(2, 1), f(1))),
    "gates, one value": Case("EngramGate", (f(2, 3, 2, 4), f(2, 3, 2, 4), f(2, 3, 1), f(2, 4), f(2, 4))),
    "embeddings, positions of one feature": Case(
        "EmbedLayerNormalization", (i(0, 0, 0).reshape(1, 3), None, f(9, 8), f(3, 1), None, f(8), f(8)), outputs=2
    ),
    "embeddings, one factor": Case(
        "EmbedLayerNormalization", (i(0, 0, 0).reshape(1, 3), None, f(9, 8), f(3, 8), None, f(1), f(8)), outputs=2
    ),
    "a convolution, an addend of one image": Case(
        "FusedConv", (f(2, 3, 4, 4), f(5, 3, 1, 1), None, f(1, 5, 1, 1)), {"activation": "Relu"}
    ),
    "a convolution of blocks, an addend of one pixel": Case(
        "Conv", (f(1, 16, 4, 4), f(16, 16, 1, 1), None, f(1, 16, 1, 1)), domain=NCHWC
    ),
    "a convolution, channels last, an addend of one pixel": Case(
        "NhwcFusedConv", (h(1, 4, 4, 3), h(5, 3, 1, 1), None, h(1, 1, 1, 5))
    ),
    "a convolution with a state, one bias": Case("CausalConvWithState", (f(2, 4, 6), f(4, 1, 3), f(1)), outputs=2),
    "a convolution with a state, a longer state": Case(
        "CausalConvWithState", (f(2, 4, 6), f(4, 1, 3), None, f(2, 4, 5)), outputs=2
    ),
    "a convolution with a state, more filters": Case("CausalConvWithState", (f(2, 4, 6), f(8, 1, 3)), outputs=2),
    "two axes": Case("ExpandDims", (f(2, 3), i(0, 1)), constant=(1,)),
    "no axis": Case("ExpandDims", (f(2, 3), i()), constant=(1,)),
    "experts, blocks that do not fill a row": Case(
        "QMoE",
        (f(5, 32), f(5, 4), codes(4, 32, 16), f(4, 32, 5), None, codes(4, 32, 16), f(4, 32, 5)),
        {"k": 2, "expert_weight_bits": 4, "block_size": 7},
    ),
    "streams, a mix of one": Case("HyperConnectionPostMix", (f(2, 5, 3, 4), f(2, 5, 4), f(2, 5, 3), f(2, 5, 3, 1))),
    "complex numbers of other counts": Case("ComplexMul", (f(3, 3, 2), f(2, 3, 2))),
    "codes of one zero point": Case("DequantizeLinear", (codes(2, 3), f(3), codes(1)), {"axis": 1}),
    "codes of one scale": Case("QuantizeLinear", (f(2, 3), f(1), codes(3)), {"axis": 1}),
    "turned, positions of one sequence": Case("RotaryEmbedding", (f(2, 3, 8), np.array([[0, 1, 2]]), f(5, 4), f(5, 4))),
    "turned, one sine": Case("RotaryEmbedding", (f(1, 3, 8), np.array([[0, 1, 2]]), f(5, 4), f(5, 1))),
    "attention of bytes, one bias": Case(
        "QAttention", (codes(1, 3, 6), codes(6, 24), f(1), np.array(0.1, np.float32), np.array(0.1, np.float32)), HEADS
    ),
    "attention, a bias of three axes": Case("Attention", (f(2, 3, 6), f(6, 24), f(24), None, None, f(2, 3, 3)), HEADS),
    "groups of queries, more keys": Case(
        "GroupQueryAttention", (f(1, 1, 32), f(1, 2, 16), f(1, 1, 16), *CACHE), SHARED, 3, constant=(6,)
    ),
    "groups of queries, more values": Case(
        "GroupQueryAttention", (f(1, 1, 32), f(1, 1, 16), f(1, 2, 16), *CACHE), SHARED, 3, constant=(6,)
    ),
    "groups of queries, a past of one head": Case(
        "GroupQueryAttention",
        (f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), f(1, 1, 4, 8), *CACHE[1:]),
        SHARED,
        3,
        constant=(6,),
    ),
    "groups of queries, a past of small heads": Case(
        "GroupQueryAttention",
        (f(1, 1, 32), f(1, 1, 16), f(1, 1, 16), CACHE[0], f(1, 2, 4, 1), *CACHE[2:]),
        SHARED,
        3,
        constant=(6,),
    ),
    "groups of sums, another skip": Case("SkipGroupNorm", (f(2, 3, 3, 4), f(4), f(4), f(2, 2, 3, 4)), GROUPS, 2),
}


@pytest.mark.parametrize("named", ["no sizes", "all but the last", "all"])
@pytest.mark.parametrize("name", CASES)
def test_shapes_that_the_reference_refuses_are_refused_by_compiled_code(name: str, named: str) -> None:
    case = CASES[name]
    model = of_one_node(case.op_type, case.inputs, case.outputs, case.domain, case.constant, dict(case.attributes))
    if named != "no sizes":
        for place, value in enumerate(model.graph.input):
            sizes = value.type.tensor_type.shape.dim
            for axis, size in enumerate(sizes if named == "all" else sizes[:-1]):
                size.dim_param = f"d{place}_{axis}"
    feeds = {f"x{n}": x for n, x in enumerate(case.inputs) if x is not None and n not in case.constant}
    for providers in PROVIDERS.values() if named == "no sizes" else [PROVIDERS["cpu"]]:
        with pytest.raises(IngotError):
            ingot.Session(model.SerializeToString(), providers=providers, fallback=False).run(None, feeds)


def test_branches_of_features_whose_number_has_a_name_are_no_error() -> None:
    model = of_one_node("HyperConnectionPreMix", (f(2, 12), f(2, 3)), 1, MICROSOFT, (), {"num_branches": 3})
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "N"
    x, mix = f(2, 12), f(2, 3)
    for providers in PROVIDERS.values():
        [y] = ingot.Session(model.SerializeToString(), providers=providers).run(None, {"x0": x, "x1": mix})
        np.testing.assert_allclose(y, (x.reshape(2, 3, 4) * mix[..., None]).sum(axis=1), rtol=1e-5, atol=1e-6)


def test_crops_of_images_without_pixels_are_what_is_outside() -> None:
    inputs = (f(1, 2, 0, 4), f(3, 4), i(0, 0, 0), i(2, 2))
    [y] = agrees("CropAndResize", *inputs, constant=(3,), compiled=False, extrapolation_value=7.0)
    assert (y == 7).all()
