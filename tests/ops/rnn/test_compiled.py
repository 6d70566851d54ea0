"""Recurrent networks compiled: every form agrees with the reference, and with onnxruntime where it has the form."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ingot
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.loops.ir import Contraction, Kernel, Recurrence, kernels_in

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}
HIDDEN, SIZE = 5, 3
RNG = np.random.default_rng(7)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(op: str, inputs: list[Array | None], varying: dict[int, list[Any]], **attributes: Any) -> Any:
    """A model of one node; the inputs in `varying` are given with these sizes, the others held."""
    names = [f"x{place}" if given is not None else "" for place, given in enumerate(inputs)]
    kinds = {4: TensorProto.INT32}
    declared = [
        helper.make_tensor_value_info(names[place], kinds.get(place, TensorProto.FLOAT), sizes)
        for place, sizes in varying.items()
        if inputs[place] is not None
    ]
    held = [
        numpy_helper.from_array(given, names[place])
        for place, given in enumerate(inputs)
        if given is not None and place not in varying
    ]
    outputs = [f"y{place}" for place in range(OUTPUTS[op])]
    node = helper.make_node(op, names, outputs, hidden_size=HIDDEN, **attributes)
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "net", declared, made, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def given_to(op: str, direction: str, batch: int, time: int, *, lengths: bool, states: bool, bias: bool) -> Any:
    directions = 2 if direction == "bidirectional" else 1
    gates = GATES[op] * HIDDEN
    inputs: list[Array | None] = [floats(time, batch, SIZE), floats(directions, gates, SIZE)]
    inputs += [floats(directions, gates, HIDDEN), floats(directions, 2 * gates) if bias else None]
    lens = RNG.integers(1, time + 1, batch).astype(np.int32)  # of a length of zero onnxruntime forgets the state
    inputs += [lens if lengths else None]
    inputs += [floats(directions, batch, HIDDEN) if states else None for _ in range(OUTPUTS[op] - 1)]
    return inputs


def compiled(model: Any, threads: int = 1) -> ingot.Session:
    session = ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    return session


FORMS = list(
    itertools.product(GATES, ("forward", "reverse", "bidirectional"), (False, True), (False, True), (False, True))
)


@pytest.mark.parametrize(("op", "direction", "lengths", "states", "first"), FORMS)
def test_a_network_is_what_the_reference_and_onnxruntime_say(
    op: str, direction: str, lengths: bool, states: bool, first: bool
) -> None:
    ort = pytest.importorskip("onnxruntime")
    inputs = given_to(op, direction, 3, 4, lengths=lengths, states=states, bias=states or lengths)
    attributes: dict[str, Any] = {"direction": direction}
    if op == "LSTM" and states:
        inputs += [floats(2 if direction == "bidirectional" else 1, 3 * HIDDEN)]
    if op == "GRU" and first:
        attributes["linear_before_reset"] = 1
    if op == "LSTM" and first:
        attributes |= {"input_forget": 1}
    if op == "RNN" and first:
        attributes |= {"activations": ["Affine"] * (2 if direction == "bidirectional" else 1), "clip": 0.9}
        attributes |= {"activation_alpha": [0.5, 0.6], "activation_beta": [0.1, 0.2]}
    varying: dict[int, list[Any]] = {0: ["time", "batch", SIZE], 4: ["batch"], 5: [None, "batch", HIDDEN]}
    model = model_of(
        op, inputs, {place: sizes for place, sizes in varying.items() if place < len(inputs)}, **attributes
    )
    feeds = {f"x{place}": inputs[place] for place in (0, 4, 5) if place < len(inputs) and inputs[place] is not None}
    session = compiled(model)
    found = session.run(None, feeds)
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    for one, other in zip(compiled(model, 2).run(None, feeds), found, strict=True):
        assert one.tobytes() == other.tobytes()
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for one, other in zip(found, peer.run(None, feeds), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("op", GATES)
def test_other_lengths_and_batches_need_no_other_code(op: str) -> None:
    inputs = given_to(op, "forward", 1, 1, lengths=False, states=False, bias=True)
    model = model_of(op, inputs[:4], {0: ["time", "batch", SIZE]})
    session, reference = compiled(model), ingot.Session(model, providers=("reference",))
    for time, batch in ((0, 2), (1, 1), (7, 3), (2, 0), (7, 3)):
        x = {"x0": floats(time, batch, SIZE)}
        found = session.run(None, x)
        for one, other in zip(found, reference.run(None, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "name",
    [
        "Relu",
        "Tanh",
        "Sigmoid",
        "Affine",
        "LeakyRelu",
        "ThresholdedRelu",
        "ScaledTanh",
        "HardSigmoid",
        "Elu",
        "Softsign",
        "Softplus",
    ],
)
def test_every_activation_is_compiled(name: str) -> None:
    inputs = given_to("RNN", "forward", 2, 3, lengths=False, states=True, bias=True)
    model = model_of(
        "RNN", inputs, {0: [3, 2, SIZE]}, activations=[name], activation_alpha=[0.7], activation_beta=[0.3]
    )
    feeds = {"x0": inputs[0]}
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    for one, other in zip(compiled(model).run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("coupled", [0, 1])
def test_an_input_may_decide_what_is_forgotten(coupled: int) -> None:
    inputs = given_to("LSTM", "bidirectional", 2, 6, lengths=True, states=True, bias=False)
    inputs.append(floats(2, 3 * HIDDEN))
    inputs[0] = inputs[0].swapaxes(0, 1).copy()
    inputs[5:7] = [state.swapaxes(0, 1).copy() for state in inputs[5:7]]
    attributes = {"input_forget": coupled, "layout": 1, "direction": "bidirectional", "clip": 0.8}
    model = model_of("LSTM", inputs, {0: ["b", "t", SIZE], 4: ["b"]}, **attributes)
    feeds = {"x0": inputs[0], "x4": inputs[4]}
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    for one, other in zip(compiled(model).run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_length_longer_than_the_sequence_is_refused(direction: str) -> None:
    inputs = given_to("GRU", direction, 2, 3, lengths=True, states=False, bias=False)
    model = model_of("GRU", inputs, {0: ["t", "b", SIZE], 4: ["b"]}, direction=direction)
    with pytest.raises(InputError, match="sequence_lens"):
        compiled(model).run(None, {"x0": inputs[0], "x4": np.array([1, 4], np.int32)})


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_weights_that_are_given_are_packed_once_a_run(op: str, direction: str) -> None:
    inputs = given_to(op, direction, 1, 1, lengths=False, states=False, bias=True)
    many = inputs[1].shape[0]
    gates = GATES[op] * HIDDEN
    sizes: dict[int, list[Any]] = {0: ["time", "batch", SIZE], 1: [many, gates, SIZE], 2: [many, gates, HIDDEN]}
    model = model_of(op, inputs[:4], sizes, direction=direction)
    one, two = compiled(model), compiled(model, 2)
    reference = ingot.Session(model, providers=("reference",))
    assert one.compiled is not None
    steps = one.compiled.scheduled.steps
    packing = [step.name for step in steps if isinstance(step, Kernel) and step.name.endswith("_pack")]
    loops = [nest for kernel in kernels_in(steps) for nest in kernel.nests if isinstance(nest, Recurrence)]
    products = [nest for loop in loops for cycle in loop.cycles for nest in cycle.nests]
    assert len(packing) == len(products) >= many
    assert all(isinstance(product, Contraction) and product.packed for product in products)
    for time, batch in ((0, 2), (1, 1), (7, 3), (2, 0), (5, 17)):
        feeds = {"x0": floats(time, batch, SIZE), "x1": floats(many, gates, SIZE), "x2": floats(many, gates, HIDDEN)}
        found, twice = one.run(None, feeds), two.run(None, feeds)
        for mine, other, again in zip(found, reference.run(None, feeds), twice, strict=True):
            np.testing.assert_allclose(mine, other, rtol=2e-5, atol=2e-6)
            assert mine.tobytes() == again.tobytes()
