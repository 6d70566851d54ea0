"""Mixtures of experts against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from ingot import Session
from ingot.errors import CheckError, UnsupportedError
from ops.contrib.peer import agrees, of_one_node, same
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(16)
EXPERTS, HIDDEN, INNER = 5, 32, 64


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return (RNG.standard_normal(shape) / 2).astype(dtype)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize(("k", "normal", "bias"), [(1, 0, True), (2, 1, False)])
def test_tokens_go_through_the_experts_chosen(activation: str, k: int, normal: int, bias: bool) -> None:
    width = 2 * INNER if activation == "swiglu" else INNER
    args = [floats(2, 3, HIDDEN), floats(6, EXPERTS), floats(EXPERTS, width, HIDDEN)]
    args += [floats(EXPERTS, width) if bias else None, floats(EXPERTS, HIDDEN, INNER)]
    args += [floats(EXPERTS, HIDDEN)] if bias else []
    options: dict[str, Any] = {"activation_type": activation, "k": k, "normalize_routing_weights": normal}
    if activation == "swiglu":
        options |= {"swiglu_fusion": 1, "swiglu_limit": 1.5, "activation_alpha": 1.702, "activation_beta": 1.0}
    agrees("MoE", *args, compiled=False, rtol=1e-4, atol=1e-5, **options)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize(("points", "weights"), [(False, True), (True, False)])
def test_experts_of_few_bits(bits: int, block: int, points: bool, weights: bool) -> None:
    each = 8 // bits

    def codes(*shape: int) -> Any:
        return RNG.integers(0, 256, shape).astype(np.uint8)

    def scales(rows: int, size: int) -> Any:
        return np.abs(floats(EXPERTS, rows, size // block) if block else floats(EXPERTS, rows)) / 2**bits

    def zeros(rows: int, size: int) -> Any:
        if not points:
            return None
        return codes(EXPERTS, rows, size // block // each) if block else codes(EXPERTS, rows // each)

    args: list[Any] = [floats(4, HIDDEN), floats(4, EXPERTS)]
    args += [codes(EXPERTS, INNER, HIDDEN // each), scales(INNER, HIDDEN)]
    args += [
        floats(EXPERTS, INNER),
        codes(EXPERTS, HIDDEN, INNER // each),
        scales(HIDDEN, INNER),
        floats(EXPERTS, HIDDEN),
    ]
    args += [None, None, None, zeros(INNER, HIDDEN), zeros(HIDDEN, INNER), None]
    args += [np.abs(floats(4, EXPERTS)) if weights else None]
    while args[-1] is None:
        args.pop()
    options: dict[str, Any] = {"k": 2, "expert_weight_bits": bits, "activation_type": "silu"} | (
        {"block_size": block} if block else {}
    )
    options["normalize_routing_weights"] = 1
    expected = agrees("QMoE", *args, compiled=False, rtol=1e-3, atol=1e-4, **options)
    # known weights are compiled; onnxruntime would round what they are multiplied by to 8 bits
    known = [place for place in range(len(args)) if place not in (0, 1, 14) and args[place] is not None]
    model = of_one_node("QMoE", args, 1, "com.microsoft", known, options)
    feeds = {f"x{place}": args[place] for place in (0, 1, 14) if place < len(args)}
    session = Session(model.SerializeToString(), providers=("cpu", "reference"), fallback=False)
    assert not nodes_left(session)
    same(session.run(None, feeds), expected, 1e-3, 1e-4)


def nodes_left(session: Session) -> list[str]:
    """The operators that a compiled model leaves to the reference."""
    assert session.compiled is not None
    return [call.node.op_type for call in session.compiled.program.calls.values()]


def few_bit_experts(experts: int, width: int, third: bool = False) -> dict[str, Any]:
    """The codes of 4 bits (w), scales by blocks of 16 (s) and biases (b) of two layers of experts, or of three."""
    layers = {"1": (width, HIDDEN), "2": (HIDDEN, INNER)} | ({"3": (width, HIDDEN)} if third else {})
    weights: dict[str, Any] = {}
    for name, (rows, size) in layers.items():
        weights[f"w{name}"] = RNG.integers(0, 256, (experts, rows, size // 2)).astype(np.uint8)
        weights[f"s{name}"] = np.abs(floats(experts, rows, size // 16)) / 16 + np.float32(0.01)
        weights[f"b{name}"] = floats(experts, rows)
    return weights


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("experts", "activation", "fusion", "third"),
    [
        (5, "silu", 0, False),
        (5, "swiglu", 1, False),
        (5, "swiglu", 2, False),
        (40, "gelu", 0, False),
        (5, "silu", 0, True),
        (5, "swiglu", 0, True),
    ],
)
def test_compiled_experts_of_few_bits_read_what_each_run_chooses(
    experts: int, activation: str, fusion: int, third: bool, dtype: Any
) -> None:
    width = 2 * INNER if fusion else INNER
    weights = few_bit_experts(experts, width, third)
    names = ["w1", "s1", "b1", "w2", "s2", "b2", *(["w3", "s3", "b3"] if third else [])]
    constants = [
        numpy_helper.from_array(weights[name] if name[0] == "w" else weights[name].astype(dtype), name)
        for name in names
    ]
    node = helper.make_node("QMoE", ["x", "r", *names], ["y"], domain="com.microsoft")
    options = {"k": 2, "block_size": 16, "activation_type": activation, "swiglu_fusion": fusion}
    node.attribute.extend(helper.make_attribute(key, option) for key, option in options.items())
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info(name, kind, ["n", size]) for name, size in (("x", HIDDEN), ("r", experts))]
    results = [helper.make_tensor_value_info("y", kind, ["n", HIDDEN])]
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", inputs, results, constants)
    model = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    reference = Session(model, providers=("reference",))
    assert not nodes_left(session)
    for rows in (1, 1, 7, 3, 0, 7, 40):
        feeds = {"x": floats(rows, HIDDEN, dtype=dtype), "r": floats(rows, experts, dtype=dtype) * dtype(9)}
        expected = reference.run(None, feeds)[0].astype(np.float32)
        tolerance = 1e-5 if dtype is np.float32 else 2e-3
        np.testing.assert_allclose(
            session.run(None, feeds)[0].astype(np.float32), expected, rtol=tolerance, atol=tolerance
        )


def test_a_third_layer_gates_the_first() -> None:
    x, probs = floats(3, 4), np.zeros((3, 1), np.float32)
    first, second, third = floats(1, 6, 4), floats(1, 4, 6), floats(1, 6, 4)
    args = [x, probs, first, None, second, None, third]
    y = evaluate("MoE", *args, domain="com.microsoft", version=1, activation_type="silu")
    hidden = x @ first[0].T
    np.testing.assert_allclose(
        y, (hidden / (1 + np.exp(-hidden)) * (x @ third[0].T)) @ second[0].T, rtol=1e-4, atol=1e-6
    )


def test_what_only_cuda_has_is_refused() -> None:
    args = [floats(3, 4), floats(3, 2), floats(2, 6, 4), None, floats(2, 4, 6)]

    def run(**attributes: Any) -> Any:
        return evaluate("MoE", *args, domain="com.microsoft", version=1, **attributes)

    with pytest.raises(UnsupportedError, match="use_sparse_mixer is for CUDA"):
        run(use_sparse_mixer=1)
    with pytest.raises(CheckError, match="activation_type is 'tanh'"):
        run(activation_type="tanh")
    with pytest.raises(CheckError, match="k is 3, there are 2 experts"):
        run(k=3)
