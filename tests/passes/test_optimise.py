"""All passes together: what they leave, what they never change, and that others can read it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import ingot
from conformance.cases import UNPREDICTABLE, node_cases, plain, same
from conformance.known import KNOWN
from conformance.old_wheels import run as run_old
from conformance.test_old_models import SAMPLES
from ingot.ops.catalog import standard
from ingot.passes.levels import LEVELS
from ingot.passes.optimise import optimise
from ingot.passes.pipeline import PIPELINE, passes, session_passes
from ingot.runtime.evaluate import Evaluation
from ingot.versions.lowest import lowered
from models import real_models
from passes.written import compare, lines, parsed, random_feeds

BLOCK = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
block (float[b, n, 32] x, float[32, 32] wq, float[32, 32] wk, float[32, 32] wv, float[32] g, float[32] c)
    => (float[b, n, 32] y) {
    two = Constant<value_float = 2.0> ()\n small = Constant<value_float = 1e-5> ()
    scale = Constant<value_float = 0.3535534> ()
    m = ReduceMean<axes = [-1]> (x)\n d = Sub (x, m)\n p = Pow (d, two)\n v = ReduceMean<axes = [-1]> (p)
    e = Add (v, small)\n r = Sqrt (e)\n z = Div (d, r)\n zg = Mul (z, g)\n h = Add (zg, c)
    shape = Shape (x)\n zero = Constant<value_int = 0> ()\n first = Constant<value_int = 1> ()
    bs = Gather (shape, zero)\n ns = Gather (shape, first)
    axis = Constant<value_ints = [0]> ()\n bu = Unsqueeze (bs, axis)\n nu = Unsqueeze (ns, axis)
    heads = Constant<value_ints = [4]> ()\n size = Constant<value_ints = [8]> ()\n all = Constant<value_ints = [32]> ()
    parts = Concat<axis = 0> (bu, nu, heads, size)\n whole = Concat<axis = 0> (bu, nu, all)
    q0 = MatMul (h, wq)\n k0 = MatMul (h, wk)\n v0 = MatMul (h, wv)
    q1 = Reshape (q0, parts)\n k1 = Reshape (k0, parts)\n v1 = Reshape (v0, parts)
    q2 = Transpose<perm = [0, 2, 1, 3]> (q1)\n k2 = Transpose<perm = [0, 2, 3, 1]> (k1)
    v2 = Transpose<perm = [0, 2, 1, 3]> (v1)
    s0 = MatMul (q2, k2)\n s1 = Mul (s0, scale)\n s2 = Softmax (s1)\n o0 = MatMul (s2, v2)
    o1 = Transpose<perm = [0, 2, 1, 3]> (o0)\n o2 = Reshape (o1, whole)\n o3 = Add (o2, x)
    y = local.Curve (o3)
}
<domain: "local", opset_import: ["" : 17]>
Curve (x) => (y) {
    root = Constant<value_float = 1.41421354> ()\n one = Constant<value_float = 1.0> ()
    half = Constant<value_float = 0.5> ()
    a = Div (x, root)\n e = Erf (a)\n f = Add (e, one)\n g = Mul (x, f)\n y = Mul (g, half)
}"""
"""A block of a transformer as exporters of opset 17 write it, with a function at its end."""

SMALL = [
    "h = LayerNormalization(x, g, c)",
    "q0 = MatMul(h, wq)",
    "k0 = MatMul(h, wk)",
    "v0 = MatMul(h, wv)",
    "attention_1 = Attention(q0, k0, v0)",
    "o3 = Add(attention_1, x)",
    "y = Gelu(o3)",
]


def in_onnxruntime(model: ingot.Model, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(ingot.encode(model), options, providers=["CPUExecutionProvider"])
    results: list[np.ndarray] = session.run(None, feeds)
    return results


def test_a_block_of_a_transformer_becomes_what_it_means() -> None:
    model = ingot.parse_model(BLOCK)
    before = model.copy()
    report = optimise(model)
    assert lines(model) == SMALL
    assert (report.nodes_before, report.nodes_after) == (sum(1 for _ in before.nodes()), 7)
    assert report.changes["inline functions"] == 1
    compare(before, model)
    types = {value.name: value.type for value in (*before.graph.inputs, *before.graph.outputs)}
    assert {value.name: value.type for value in (*model.graph.inputs, *model.graph.outputs)} == types


def test_onnxruntime_reads_it_in_the_oldest_operators_that_have_it() -> None:
    model = ingot.parse_model(BLOCK)
    small = model.copy()
    optimise(small)
    small = lowered(small, model.opset_imports)
    assert (small.opset, lines(small)) == (23, SMALL)
    feeds = random_feeds(model, {"b": 2, "n": 5})
    for one, other in zip(in_onnxruntime(model, feeds), in_onnxruntime(small, feeds), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_the_first_level_changes_no_bit() -> None:
    model = ingot.parse_model(BLOCK)
    before = model.copy()
    optimise(model, 1)
    feeds = random_feeds(before, {"b": 2, "n": 5})
    [old], [new] = (ingot.Session(each).run(None, feeds) for each in (before, model))
    np.testing.assert_array_equal(old, new)
    assert not {"Attention", "LayerNormalization", "Gelu"} & {node.op_type for node in model.nodes()}


def test_what_is_optimised_stays_as_it_is() -> None:
    model = ingot.parse_model(BLOCK)
    optimise(model)
    written = ingot.encode(model)
    assert optimise(model).changes == {}
    assert ingot.encode(model) == written


def test_a_shape_that_the_model_only_claims_is_not_believed() -> None:
    text = """g (float[n, m] x) => (float[n, m] y) <int64[2] s = {4, -1}, float[n, m] a> {
        a = Reshape (x, s)\n y = Relu (a)
    }"""
    model = parsed(text)
    optimise(model)
    assert [node.op_type for node in model.nodes()] == ["Reshape", "Relu"]


def test_defaults_of_old_models_are_constants_and_stay_no_inputs() -> None:
    model = ingot.parse_model(
        '<ir_version: 3, opset_import: ["" : 8]>\ng (float[2] x, float[2] w = {1, 2}) => (float[2] y) '
        "{ a = Neg (w)\n y = Add (x, a) }"
    )
    optimise(model)
    assert lines(model) == ["y = Add(x, [-1.0, -2.0])"]
    assert model.graph.inputs.names == ["x"]


def test_operators_that_nobody_knows_stay_and_what_is_around_them_does_not() -> None:
    model = ingot.parse_model(
        '<ir_version: 10, opset_import: ["" : 17, "mine" : 1]>\ng (float[n] x) => (float[n] y, float[n] z) '
        "{ a = Identity (x)\n b = mine.Draw (a)\n c = mine.Draw (a)\n d = Identity (b)\n y = Neg (d)\n z = Neg (c) }"
    )
    optimise(model)
    assert lines(model) == ["b = Draw(x)", "c = Draw(x)", "y = Neg(b)", "z = Neg(c)"]


def test_training_graphs_are_refused() -> None:
    model = parsed("g (float[2] x) => (float[2] y) { y = Relu (x) }")
    model.training.append(ingot.ir.TrainingInfo())
    with pytest.raises(ingot.UnsupportedError, match="carries training graphs") as caught:
        optimise(model)
    assert "model.training.clear()" in str(caught.value)


def test_each_level_has_all_passes_of_the_one_before() -> None:
    for lower, higher in pairwise(LEVELS):
        assert set(passes(lower)) < set(passes(higher))
    with pytest.raises(ingot.InputError, match="there is no level 3"):
        passes(3)


def test_the_standards_cases_give_what_they_record() -> None:
    catalog = standard()
    changed = 0
    for name, case in node_cases().items():
        if name in KNOWN:
            continue
        model = ingot.from_onnx(case.model)
        loose = any(node.op_type in UNPREDICTABLE for node in model.nodes())
        names = model.graph.inputs.names, model.graph.outputs.names
        changed += bool(optimise(model).changes)
        ingot.verify(model)
        assert (model.graph.inputs.names, model.graph.outputs.names) == names, name
        for inputs, outputs in case.data_sets:
            feeds = dict(zip(names[0], map(plain, inputs), strict=False))
            results = Evaluation(model, catalog).run(feeds)
            for output, result, expected in zip(names[1], results, outputs, strict=True):
                if loose:
                    assert (result.dtype, result.shape) == (expected.dtype, expected.shape), name
                else:
                    same(result, plain(expected), case.rtol, case.atol, f"{name}: {output}")
    assert changed > 300


@pytest.mark.parametrize("name", SAMPLES)
def test_old_models_give_what_they_recorded(name: str) -> None:
    model = ingot.decode(SAMPLES[name]["model.onnx"])
    optimise(model)
    run_old({**SAMPLES[name], "model.onnx": ingot.encode(model)})


SHAPES = {"input": (1, 512), "bytes": (2, 2048), "x": (1, 3, 64, 96)}
"""Sizes for inputs that declare none; those of a text that is read are fixed: 48 high."""


def real_feeds(model: ingot.Model) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    feeds: dict[str, np.ndarray] = {}
    for value in model.inputs:
        assert isinstance(value.type, ingot.TensorType)
        declared = value.type.shape or ()
        wanted = SHAPES.get(value.name, (1,) * len(declared))
        shape = [dim if isinstance(dim, int) and dim > 0 else size for dim, size in zip(declared, wanted, strict=True)]
        feeds[value.name] = (100 * generator.random(shape)).astype(value.type.dtype.numpy)
    return {**feeds, "sr": np.array(16000)} if "sr" in feeds else feeds


@pytest.mark.parametrize("path", real_models(), ids=lambda path: path.name)
def test_real_models_give_the_same_here_and_in_onnxruntime(path: Path) -> None:
    model = ingot.load(path)
    feeds = real_feeds(model)
    if "rec_infer" in path.name or "cls_infer" in path.name:
        feeds["x"] = feeds["x"][:, :, :48]
    small = model.copy()
    report = optimise(small)
    assert report.nodes_after <= report.nodes_before
    assert report.changes
    small = lowered(small, model.opset_imports)
    before = ingot.Session(model).run(None, feeds)
    for results in (ingot.Session(small).run(None, feeds), in_onnxruntime(small, feeds)):
        for one, other in zip(before, results, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(one).max())))


def test_a_session_runs_a_part_of_the_pipeline_in_its_order() -> None:
    assert session_passes(0) == {}
    for level in (1, 2):
        names = [entry.name for entry in PIPELINE]
        own = list(session_passes(level))
        assert own == sorted(own, key=names.index)
    assert list(session_passes(1)) == [
        "evaluate shape arithmetic",
        "fold constants",
        "exchange branches",
        "remove what that left",
    ]


def test_a_session_refuses_levels_that_there_are_not() -> None:
    with pytest.raises(ingot.InputError, match="there is no level 3"):
        session_passes(3)
