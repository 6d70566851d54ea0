from __future__ import annotations

import onnx
import pytest

import ingot
from infer.broken import BROKEN, Broken, function, model
from ingot.infer.check import check
from ingot.infer.problem import Problem
from models import node_models, real_models, wheel_models


def errors(proto: onnx.ModelProto) -> list[Problem]:
    return [problem for problem in check(ingot.from_onnx(proto)) if problem.severity == "error"]


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_model_is_refused_with_what_is_wrong(broken: Broken) -> None:
    found = errors(broken.model)
    assert any(broken.says in str(problem) for problem in found), "\n".join(map(str, found))


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_what_onnx_refuses_is_known(broken: Broken) -> None:
    refused = False
    try:
        onnx.checker.check_model(broken.model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        refused = True
    assert refused is broken.onnx_refuses


def test_no_model_of_the_standard_s_node_tests_is_refused() -> None:
    for sample in node_models():
        assert not [p for p in check(ingot.load(sample.data)) if p.severity == "error"], sample.name


def test_no_model_that_comes_with_a_package_is_refused() -> None:
    for path in (*wheel_models(), *real_models()):
        assert not [p for p in check(ingot.load(path)) if p.severity == "error"], path.name


def test_everything_is_found_at_once() -> None:
    proto = model("a = Reluu(x)\nb = Softmax<axes = 1>(x)\nc = Add(a)\nd = Cast(b)\ny = Add(c, d)")
    assert [problem.message for problem in errors(proto)] == [
        "ai.onnx has no operator Reluu",
        "Softmax-13 has no attribute 'axes'",
        "Add-14 takes 2 inputs, the node has 1",
        "Cast-21 needs attribute 'to' (int)",
    ]


def test_a_mistake_is_not_reported_again_where_it_flows() -> None:
    proto = model("a = Reluu(x)\nb = MatMul(a, a)\ny = Relu(b)", outputs="float[3, 4] y")
    assert len(errors(proto)) == 1


def test_a_problem_shows_the_node_its_version_and_what_it_reads() -> None:
    proto = model("y = MatMul(x, w)", "float[3, 4] x, float[5, 6] w", "float[3, 6] y", opset=10)
    [problem] = errors(proto)
    assert problem.where[0] == "in node 'y' (MatMul-9)"
    assert problem.where[1:] == ("a        = x: float32[3, 4]", "b        = w: float32[5, 6]")


def test_an_old_node_is_named_as_the_model_has_it() -> None:
    proto = model("y = Squeeze<axes = [1]>(x)", "float[3, 4] x", "float[3] y", opset=11)
    [problem] = errors(proto)
    assert problem.where[0] == "in node 'y' (Squeeze-11)"


def test_shapes_are_followed_through_old_operators() -> None:
    proto = model(
        "u = Unsqueeze<axes = [0]>(x)\ny = MatMul(u, w)", "float[3, 4] x, float[5, 6] w", "float[1, 3, 6] y", opset=11
    )
    [problem] = errors(proto)
    assert "float32[1, 3, 4]" in str(problem)


def test_a_function_called_often_is_reported_once() -> None:
    proto = model(
        "a = local.f(x)\nb = local.f(a)\ny = local.f(b)",
        more=function("f (a) => (b)", "b = Reluu(a)"),
        imports=', "local" : 1',
    )
    assert len(errors(proto)) == 1


def test_an_operator_of_an_unknown_domain_is_a_warning() -> None:
    proto = model("y = com.example.Frob(x)", imports=', "com.example" : 1')
    [problem] = check(ingot.from_onnx(proto))
    assert problem.severity == "warning"
    assert problem.message == "nothing is known of operator 'com.example.Frob'"


def test_the_model_is_not_changed() -> None:
    proto = model("y = Squeeze<axes = [0]>(x)", "float[1, 4] x", "float[4] y", opset=11)
    loaded = ingot.from_onnx(proto)
    before = ingot.encode(loaded)
    assert check(loaded) == []
    assert ingot.encode(loaded) == before


def test_a_problem_prints_as_errors_do() -> None:
    assert str(Problem("no good", ("in node 'a'",), "try b")) == "error: no good\n  in node 'a'\n  hint: try b"


def test_functions_that_double_at_every_level_end() -> None:
    levels = [
        function(f"f{i} (a) => (b)", f"t = local.f{i + 1}(a)\nb = local.f{i + 1}(t)", ', "local" : 1')
        for i in range(40)
    ]
    proto = model(
        "y = local.f0(x)",
        more="\n".join([*levels, function("f40 (a) => (b)", "b = Relu(a)")]),
        imports=', "local" : 1',
    )
    assert errors(proto) == []


def _squeezed_where_one(size: int, squeezed: str = "p = Squeeze (x, axis)", functions: str = "") -> ingot.Model:
    return ingot.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21, "local" : 1]>
        main (float[{size}] x) => (float[k] y) <int64[1] one = {{1}}, int64[1] axis = {{0}}, int64[1] other = {{5}}> {{
            shape = Shape (x)
            equal = Equal (shape, one)
            condition = Squeeze (equal)
            y = If (condition) <
                then_branch = a () => (p) {{ {squeezed} }},
                else_branch = b () => (q) {{ q = Neg (x) }}
            >
        }}
        {functions}
    """)


def test_what_does_not_fit_in_a_branch_that_sizes_rule_out_is_no_problem() -> None:
    assert check(_squeezed_where_one(3)) == []
    assert ingot.Session(_squeezed_where_one(3), strict=True).outputs
    function = '<opset_import: ["" : 21], domain: "local"> Squeezed (v, at) => (w) { w = Squeeze (v, at) }'
    assert check(_squeezed_where_one(3, "p = local.Squeezed (x, axis)", function)) == []


@pytest.mark.parametrize(
    ("size", "squeezed", "message"),
    [
        (1, "p = Squeeze (x, other)", "axes is 5"),
        (3, "p = Squeeze <keep = 1> (x, axis)", "has no attribute 'keep'"),
        (3, "p = Squeeze (x, axis, axis)", "takes 1 to 2 inputs"),
    ],
)
def test_a_branch_that_runs_and_operators_of_one_that_does_not_are_checked(
    size: int, squeezed: str, message: str
) -> None:
    (problem,) = check(_squeezed_where_one(size, squeezed))
    assert message in problem.message
