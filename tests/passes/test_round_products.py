"""Products of a float32 model in fewer bits: which are, which are not and why, and that the rest stays as it is."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot import DType, InputError, Session, encode, save, to_text
from ingot.builder import Float32, build, op
from ingot.ir.model import Model
from ingot.ir.verify import verify
from ingot.loops.ir import Contraction, Winograd, kernels_in, nests_in
from ingot.passes.precisions import PRECISIONS, Precision
from ingot.passes.round_products import products, refuses, round_products
from ingot.queries.lenient_inference import gather

RNG = np.random.default_rng(7)


def weights(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(body: Any, *shape: int) -> Model:
    return build(body, Float32[shape], opset=21)


CASES: dict[str, tuple[tuple[int, ...], Any]] = {
    "MatMul": ((2, 9, 33), lambda x: op.MatMul(x, weights(33, 20))),
    "MatMul, weights on the left": ((33, 20), lambda x: op.MatMul(weights(9, 33), x)),
    "Gemm": ((9, 33), lambda x: op.Relu(op.Gemm(x, weights(20, 33), weights(20), transB=1))),
    "Conv, 1 x 1": ((2, 24, 6, 7), lambda x: op.Conv(x, weights(20, 24, 1, 1), weights(20))),
    "Conv, strided": ((1, 5, 12, 12), lambda x: op.Conv(x, weights(8, 5, 3, 3), strides=[2, 2])),
    "Conv, padded": ((1, 5, 12, 12), lambda x: op.Conv(x, weights(64, 5, 3, 3), pads=[1, 0, 2, 1], strides=[2, 2])),
    "Conv, 3 x 3 of few places": ((1, 128, 9, 9), lambda x: op.Conv(x, weights(128, 128, 3, 3))),
    "transposed weights": ((9, 33), lambda x: op.MatMul(x, op.Transpose(weights(20, 33), perm=[1, 0]))),
}
TYPES: dict[Precision, set[DType]] = {
    "bf16": {DType.BFLOAT16},
    "fp16": {DType.FLOAT32, DType.FLOAT16},
    "int8-dynamic": {DType.UINT8, DType.INT8},
}
LEAST: dict[Precision, float] = {"bf16": 50, "fp16": 71, "int8-dynamic": 34}
"""Decibels of signal over noise. Rounding to p binary digits is off by 2**-p / sqrt(3) at most, root mean square, for
each operand that is rounded: 50 dB for two of 8 digits, 71 dB for one of 11, and mantissas lie in between. Bytes of
normal numbers, the largest of which are three or four times the deviation, are off by about 1 % for each operand."""


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_a_session_multiplies_in_fewer_bits(name: str, precision: Precision) -> None:
    shape, body = CASES[name]
    model = model_of(body, *shape)
    x = RNG.standard_normal(shape).astype(np.float32)
    exact = Session(model, providers=("cpu",), fallback=False)(x)
    session = Session(model, providers=("cpu",), fallback=False, precision=precision)
    difference = session(x) - exact
    if (precision, name) in (("int8-dynamic", "MatMul, weights on the left"), ("fp16", "Conv, 3 x 3 of few places")):
        assert not difference.any()
        return
    assert 10 * np.log10((exact**2).sum() / (difference**2).sum()) > LEAST[precision]
    assert types_of_products(session) == TYPES[precision]


def types_of_products(session: Session) -> set[DType]:
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in nests_in(kernel)]
    operands = [(nest.lhs, nest.rhs) for nest in nests if isinstance(nest, Contraction | Winograd)]
    return {operand.dtype for pair in operands for operand in pair}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_standard_and_the_reference_agrees(name: str, precision: Precision) -> None:
    shape, body = CASES[name]
    model = model_of(body, *shape)
    x = RNG.standard_normal(shape).astype(np.float32)
    session = Session(model, providers=("cpu",), fallback=False, precision=precision)
    facts = gather(model)
    round_products(model, facts, precision)
    verify(model)
    wanted = Session(model, providers=("reference",))(x)
    np.testing.assert_allclose(session(x), wanted, rtol=1e-5, atol=1e-4)  # sums of up to 1,152 products near 1


def gates(count: int, hidden: int, inputs: int = 4, directions: int = 1) -> tuple[Any, Any]:
    """The weights of a recurrent network for what it reads, and for its states."""
    w, r = (weights(directions, count * hidden, size) / hidden**0.5 for size in (inputs, hidden))
    return w, r


STAYING: dict[str, tuple[tuple[int, ...], Any, Precision, str]] = {
    "depthwise": ((1, 8, 9, 9), lambda x: op.Conv(x, weights(8, 1, 3, 3), group=8), "bf16", "depthwise"),
    "Winograd": ((1, 16, 12, 12), lambda x: op.Conv(x, weights(16, 16, 3, 3)), "bf16", "Winograd"),
    "large": ((3, 4), lambda x: op.MatMul(x, weights(4, 5) * 1e6), "fp16", "too large"),
    "small": ((3, 4), lambda x: op.MatMul(x, weights(4, 5) * 1e-9), "fp16", "too small"),
    "Winograd, of bytes": ((1, 16, 12, 12), lambda x: op.Conv(x, weights(16, 16, 3, 3)), "int8-dynamic", "Winograd"),
    "padded": ((1, 4, 9, 9), lambda x: op.Conv(x, weights(8, 4, 3, 3), pads=[1, 1, 1, 1]), "int8-dynamic", "pad"),
    "scaled": ((3, 4), lambda x: op.Gemm(x, weights(4, 5), alpha=2.0), "int8-dynamic", "scaled"),
    "not finite": ((3, 4), lambda x: op.MatMul(x, weights(4, 5) + np.inf), "int8-dynamic", "finite"),
    "a GRU": ((3, 1, 4), lambda x: op.GRU(x, *gates(3, 64), hidden_size=64, outputs=1), "int8-dynamic", "no operator"),
    "few units": ((3, 1, 4), lambda x: op.LSTM(x, *gates(4, 8), hidden_size=8, outputs=1), "int8-dynamic", "short"),
    "batch first": (
        (1, 3, 4),
        lambda x: op.LSTM(x, *gates(4, 64), hidden_size=64, layout=1, outputs=1),
        "int8-dynamic",
        "batch",
    ),
    "infinite gates": (
        (3, 1, 4),
        lambda x: op.LSTM(x, gates(4, 64)[0] + np.inf, gates(4, 64)[1], hidden_size=64, outputs=1),
        "int8-dynamic",
        "finite",
    ),
}


@pytest.mark.parametrize("name", STAYING)
def test_a_product_that_stays_in_float32_has_a_reason(name: str) -> None:
    shape, body, precision, reason = STAYING[name]
    model = model_of(body, *shape)
    facts = gather(model)
    (node,) = products(model, facts)
    assert reason in (refuses(node, facts, precision) or "")
    before = to_text(model)
    assert round_products(model, facts, precision) == 0
    assert to_text(model) == before


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_weights_without_elements_have_their_product(shape: tuple[int, int], precision: Precision) -> None:
    model = model_of(lambda x: op.MatMul(x, np.zeros(shape, np.float32)), 3, shape[0])
    session = Session(model, providers=("cpu",), fallback=False, precision=precision)
    np.testing.assert_array_equal(session(weights(3, shape[0])), np.zeros((3, shape[1]), np.float32))


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_what_a_recurrent_network_reads_and_its_weights_are_in_16_bits(operator: str) -> None:
    w, r = gates({"LSTM": 4, "GRU": 3, "RNN": 1}[operator], 20, inputs=50)
    model = model_of(lambda x: getattr(op, operator)(x, w, r, hidden_size=20, outputs=1), 7, 2, 50)
    x = RNG.standard_normal((7, 2, 50)).astype(np.float32)
    session = Session(model, providers=("cpu",), fallback=False, precision="bf16")
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    [product] = [nest for nest in nests if isinstance(nest, Contraction)]
    assert {product.lhs.dtype, product.rhs.dtype} == {DType.BFLOAT16}
    assert types_of_products(session) == {DType.FLOAT32, DType.BFLOAT16}  # states stay as they are
    exact = Session(model)(x)
    assert 10 * np.log10((exact**2).sum() / ((session(x) - exact) ** 2).sum()) > 40


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_multiplies_bytes(direction: str) -> None:
    directions = 1 + (direction == "bidirectional")
    w, r = gates(4, 64, inputs=33, directions=directions)
    b, state = weights(directions, 512), weights(directions, 3, 64)
    lengths = np.array([9, 4, 7], np.int32)

    def network(x: Any) -> Any:
        options: dict[str, Any] = {"hidden_size": 64, "direction": direction, "outputs": 3}
        y, h, c = op.LSTM(x, w, r, b, lengths, state, state, **options)
        return op.Identity(y), h, op.Neg(c)

    model = model_of(network, 9, 3, 33)
    x = RNG.standard_normal((9, 3, 33)).astype(np.float32)
    session = Session(model, providers=("cpu",), fallback=False, precision="int8-dynamic")
    assert types_of_products(session) == {DType.UINT8, DType.INT8}
    fed = {model.graph.inputs[0].name: x}
    results = session.run(None, fed)
    for y, exact in zip(results, Session(model).run(None, fed), strict=True):
        assert 10 * np.log10((exact**2).sum() / ((y - exact) ** 2).sum()) > 28
    round_products(model, gather(model), "int8-dynamic")
    verify(model)
    for y, wanted in zip(results, Session(model, providers=("reference",)).run(None, fed), strict=True):
        np.testing.assert_allclose(y, wanted, atol=2e-2)  # a state near a tie is rounded to another byte


def test_what_several_products_read_is_rounded_once() -> None:
    model = model_of(lambda x: op.MatMul(x, weights(8, 5)) + op.MatMul(x, weights(8, 5)), 3, 8)
    assert round_products(model, gather(model), "bf16") == 2
    assert sum(node.applies("Cast") for node in model.graph) == 4  # two of what is read, one of each weight
    assert round_products(model, gather(model), "bf16") == 0


def test_products_of_two_activations_stay_in_float32() -> None:
    model = model_of(lambda x: op.MatMul(x, x), 8, 8)
    assert products(model, gather(model)) == []


def test_an_unknown_precision_is_refused_by_name() -> None:
    model = model_of(lambda x: op.MatMul(x, weights(8, 5)), 3, 8)
    with pytest.raises(InputError, match="there is no precision 'bf15'; there are bf16, fp16, int8-dynamic") as raised:
        Session(model, precision="bf15")  # type: ignore[arg-type]
    assert "bf16" in (raised.value.hint or "")


def test_plans_of_precisions_are_different_files_and_sessions_keep_theirs(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    save(model_of(lambda x: op.MatMul(x, weights(33, 20)), 9, 33), path)
    x = RNG.standard_normal((9, 33)).astype(np.float32)
    results = []
    for precision in (None, "bf16", None, "bf16"):
        with Session(path, precision=precision, providers=("cpu",)) as session:
            session(x)
            results.append(session(x))
    exact, rounded, again, rounded_again = results
    np.testing.assert_array_equal(exact, again)
    np.testing.assert_array_equal(rounded, rounded_again)
    assert (exact != rounded).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(session))(x), rounded)


def test_the_model_of_a_session_stays_as_it_is() -> None:
    model = model_of(lambda x: op.MatMul(x, weights(33, 20)), 9, 33)
    before = encode(model)
    session = Session(model, precision="bf16")
    assert encode(model) == before == encode(session.model)
