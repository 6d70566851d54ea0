"""Models that break the standard, each in one way, as the onnx package's own textual syntax and protobufs say them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper, parser


class Broken(NamedTuple):
    """A broken model, part of what is said of it, and whether onnx's own checker refuses it."""

    model: onnx.ModelProto
    says: str
    onnx_refuses: bool = True


def model(
    body: str,
    inputs: str = "float[N, 4] x",
    outputs: str = "float[N, 4] y",
    *,
    opset: int = 21,
    ir: int = 10,
    more: str = "",
    imports: str = "",
) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["" : {opset}{imports}]>\n'
        f"main ({inputs}) => ({outputs}) {{\n{body}\n}}\n{more}"
    )


def changed(change: Callable[[Any], object], body: str = "y = Relu(x)", **options: Any) -> onnx.ModelProto:
    """A model that is right, after a change."""
    made = model(body, **options)
    change(made)
    return made


def _drop_shape(proto: Any) -> None:
    proto.graph.input[0].type.tensor_type.ClearField("shape")


def _drop_type(proto: Any) -> None:
    proto.graph.input[0].ClearField("type")


def _drop_imports(proto: Any) -> None:
    del proto.opset_import[:]


def _second_relu(proto: Any) -> None:
    proto.graph.node.append(helper.make_node("Relu", ["x"], ["y"]))


def _duplicate_input(proto: Any) -> None:
    proto.graph.input.append(proto.graph.input[0])


def _mistyped_default(proto: Any) -> None:
    proto.graph.initializer.append(helper.make_tensor("x", TensorProto.INT64, [2, 4], range(8)))


def _lone_initializer(proto: Any) -> None:
    proto.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]))


def _elementless(proto: Any) -> None:
    proto.graph.input[0].type.tensor_type.elem_type = 0


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(proto: Any) -> None:
        *steps, last = path.split(".")
        for step in steps:
            proto = getattr(proto, step)
        setattr(proto, last, value)

    return change


FUNCTION = '<domain: "local", opset_import: ["" : 21{more}]>\n{signature} {{\n{body}\n}}'


def function(signature: str, body: str, more: str = "") -> str:
    return FUNCTION.format(signature=signature, body=body, more=more)


LOCAL = ', "local" : 1'

BROKEN: dict[str, Broken] = {
    "unknown operator": Broken(model("y = Reluu(x)"), "did you mean 'Relu'"),
    "misspelt case": Broken(model("y = Matmul(x, x)"), "did you mean 'MatMul'"),
    "operator of a later version": Broken(model("y = Gelu(x)", opset=13), "it came with 20"),
    "deprecated operator": Broken(
        model("y = Upsample(x, s)", "float[N, 4] x, float[2] s", "float[N, M] y", opset=11), "is deprecated"
    ),
    "too few inputs": Broken(model("y = Add(x)"), "takes 2 inputs, the node has 1"),
    "too many inputs": Broken(model("y = Relu(x, x)"), "takes 1 inputs, the node has 2"),
    "omitted required input": Broken(model('y = Add("", x)'), "needs input 'a'"),
    "too many outputs": Broken(model("y, z = Relu(x)"), "has 1 outputs, the node has 2"),
    "too few outputs": Broken(
        model("y = TopK(x, k)", "float[N, 4] x, int64[1] k", "float[N, K] y"), "has 2 outputs, the node has 1"
    ),
    "too many inputs for the version": Broken(
        model("y = Clip(x, lo, hi)", "float[N, 4] x, float lo, float hi", opset=6), "takes 1 inputs, the node has 3"
    ),
    "unknown attribute": Broken(model("y = Softmax<axes = 1>(x)"), "did you mean 'axis'"),
    "attribute of an old version": Broken(
        model("y = Squeeze<axes = [0]>(x)", outputs="float[4] y"), "Squeeze-1 to -11 had it"
    ),
    "attribute of a new version": Broken(
        model("y = Reshape<allowzero = 1>(x, s)", "float[N, 4] x, int64[2] s", opset=13), "14"
    ),
    "ill-typed attribute": Broken(model("y = Softmax<axis = 1.0>(x)"), "'axis' is float"),
    "missing attribute": Broken(model("y = Cast(x)"), "needs attribute 'to'"),
    "type not taken": Broken(model("y = Conv(x, x)", "int32[1, 1, 4, 4] x", "int32[1, 1, 1, 1] y"), "is tensor(int32)"),
    "two types for one": Broken(model("y = Add(x, z)", "float[N, 4] x, int64[N, 4] z"), "takes one type for both"),
    "type of a later version": Broken(
        model("y = Add(x, x)", "bfloat16[N, 4] x", "bfloat16[N, 4] y", opset=9), "Add-7 takes"
    ),
    "inner dimensions differ": Broken(
        model("y = MatMul(x, w)", "float[3, 4] x, float[5, 6] w", "float[3, 6] y"), "in node"
    ),
    "declared shape is wrong": Broken(model("y = Relu(x)", "float[3, 4] x", "float[3, 5] y"), "is declared"),
    "declared rank is wrong": Broken(model("y = Relu(x)", "float[3, 4] x", "float[3] y"), "is declared"),
    "declared type is wrong": Broken(model("y = Relu(x)", outputs="int64[N, 4] y"), "is declared"),
    "broadcast fails": Broken(model("y = Add(x, z)", "float[3, 4] x, float[5] z", "float[3, 4] y"), "in node"),
    "axis out of range": Broken(model("y = Concat<axis = 5>(x, x)", outputs="float[N, 8] y"), "in node"),
    "reshape loses elements": Broken(
        model("s = Constant<value_ints = [5]>()\ny = Reshape(x, s)", "float[2, 3] x", "float[5] y"),
        "in node",
        onnx_refuses=False,
    ),
    "permutation is none": Broken(model("y = Transpose<perm = [0, 0]>(x)", outputs="float[N, M] y"), "in node"),
    "undefined value": Broken(model("y = Add(x, ghost)"), "'ghost'"),
    "used before it is computed": Broken(model("y = Relu(z)\nz = Relu(x)"), "'z'"),
    "output that nothing computes": Broken(model("z = Relu(x)"), "'y'"),
    "value computed twice": Broken(changed(_second_relu), "two values are named 'y'"),
    "input listed twice": Broken(changed(_duplicate_input), "'x'"),
    "no imports": Broken(changed(_drop_imports), "imports no operator set"),
    "domain not imported": Broken(model("y = ai.onnx.ml.Scaler(x)"), "without importing"),
    "opset of the future": Broken(model("y = Relu(x)", opset=99), "newer than 28", onnx_refuses=False),
    "IR version of the future": Broken(model("y = Relu(x)", ir=99), "IR version 99"),
    "no IR version": Broken(changed(lambda proto: proto.ClearField("ir_version")), "IR version"),
    "graph without a name": Broken(changed(_set("graph.name", "")), "no name"),
    "input without a type": Broken(changed(_drop_type), "has no type"),
    "input without a shape": Broken(changed(_drop_shape), "without a shape"),
    "input without an element type": Broken(changed(_elementless), "no element type"),
    "default of another type": Broken(changed(_mistyped_default), "'x'"),
    "initialiser that is no input in IR 3": Broken(changed(_lone_initializer, opset=8, ir=3), "not an input"),
    "node without an operator": Broken(
        changed(lambda proto: proto.graph.node[0].ClearField("op_type")), "names no operator"
    ),
    "branches that give different numbers": Broken(
        model(
            "y = If(c) <then_branch = t () => (float[N, 4] a) { a = Relu(x) }, "
            "else_branch = e () => (float[N, 4] b, float[N, 4] d) { b = Relu(x)\n d = Relu(x) }>",
            "float[N, 4] x, bool c",
        ),
        "branches",
    ),
    "mistake in a branch": Broken(
        model(
            "y = If(c) <then_branch = t () => (float[N, 4] a) { a = Reluu(x) }, "
            "else_branch = e () => (float[N, 4] b) { b = Relu(x) }>",
            "float[N, 4] x, bool c",
        ),
        "did you mean 'Relu'",
    ),
    "loop that never ends": Broken(
        model(
            'y = Loop("", "", x) <body = b (int64 i, bool c, float[N, 4] s) => (bool g, float[N, 4] t) '
            "{ g = Identity(c)\n t = Relu(s) }>"
        ),
        "never ends",
        onnx_refuses=False,
    ),
    "mistake in a function": Broken(
        model("y = local.f(x)", more=function("f (a) => (b)", "b = Reluu(a)"), imports=LOCAL), "in function 'local.f'"
    ),
    "mistake in a function nobody calls": Broken(
        model("y = Relu(x)", more=function("f (a) => (b)", "b = Reluu(a)"), imports=LOCAL), "in function 'local.f'"
    ),
    "function that calls itself": Broken(
        model("y = local.f(x)", more=function("f (a) => (b)", "b = local.f(a)", LOCAL), imports=LOCAL), "calls itself"
    ),
    "functions that call each other": Broken(
        model(
            "y = local.f(x)",
            more=function("f (a) => (b)", "b = local.g(a)", LOCAL)
            + "\n"
            + function("g (a) => (b)", "b = local.f(a)", LOCAL),
            imports=LOCAL,
        ),
        "calls itself",
    ),
    "call with too many inputs": Broken(
        model("y = local.f(x, x)", more=function("f (a) => (b)", "b = Relu(a)"), imports=LOCAL),
        "takes 1 inputs",
        onnx_refuses=False,
    ),
    "call with an unknown attribute": Broken(
        model("y = local.f<alpha = 1.0>(x)", more=function("f (a) => (b)", "b = Relu(a)"), imports=LOCAL),
        "has no attribute 'alpha'",
        onnx_refuses=False,
    ),
    "shapes that differ inside a function": Broken(
        model(
            "y = local.f(x, z)",
            "float[3, 4] x, float[5, 6] z",
            "float[3, 6] y",
            more=function("f (a, c) => (b)", "b = MatMul(a, c)"),
            imports=LOCAL,
        ),
        "in function 'local.f'",
    ),
    "wrong type of a sequence": Broken(model("s = SequenceConstruct(x)\ny = Relu(s)"), "is seq(tensor(float))"),
}
