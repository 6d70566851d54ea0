"""Models that break the standard and have one sensible meaning, built with the standard's own helpers, by rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

X = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
"""What every case is given as `x`."""


@dataclass(frozen=True)
class Untidy:
    """A model, what it is given, and who takes it as it is.

    `check` is whether `ingot.check` accepts it, as the standard's checker does; `peer` whether onnxruntime runs it.
    """

    model: ModelProto
    feeds: dict[str, Any]
    check: bool = False
    peer: bool = True


def info(name: str, shape: Sequence[Any] | None = ("n", 3), dtype: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def ints(name: str, values: Any) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name: str, values: Any) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.float32), name)


def truths(name: str, values: Any) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.bool_), name)


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node; names are separated by spaces."""
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def graph(nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any], *constants: Any) -> Any:
    return helper.make_graph(list(nodes), "body", list(inputs), list(outputs), list(constants))


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[Any] = (info("x"),),
    outputs: Sequence[Any] = (info("y"),),
    *,
    constants: Sequence[TensorProto] = (),
    infos: Sequence[Any] = (),
    sparse_constants: Sequence[Any] = (),
    imports: Sequence[tuple[str, int]] = (("", 17),),
    functions: Sequence[Any] = (),
) -> ModelProto:
    return helper.make_model(
        helper.make_graph(
            list(nodes),
            "main",
            list(inputs),
            list(outputs),
            list(constants),
            value_info=list(infos),
            sparse_initializer=list(sparse_constants),
        ),
        opset_imports=[helper.make_opsetid(*each) for each in imports],
        functions=list(functions),
        ir_version=9,
    )


def case(untidy: ModelProto, *, check: bool = False, peer: bool = True, **feeds: Any) -> Untidy:
    return Untidy(untidy, {"x": X, **feeds}, check, peer)


BOOL, INT64 = TensorProto.BOOL, TensorProto.INT64


def _branches(then: Any, other: Any = None) -> dict[str, Any]:
    return {
        "then_branch": then,
        "else_branch": other or graph([node("Neg", "x", "else_out")], [], [info("else_out")]),
    }


def _later_in_a_branch() -> ModelProto:
    then = graph([node("Relu", "a", "then_out")], [], [info("then_out")])
    return model([node("If", "c", "y", **_branches(then)), node("Neg", "x", "a")], [info("x"), info("c", (), BOOL)])


def _hidden_by_a_branch() -> ModelProto:
    """A branch computes a `w` of its own, the other reads the one outside."""
    then = graph([node("Relu", "x", "w")], [], [info("w")])
    other = graph([node("Neg", "w", "else_out")], [], [info("else_out")])
    nodes = [node("Sqrt", "x", "s"), node("Abs", "x", "w"), node("If", "c", "y", **_branches(then, other))]
    return model(nodes, [info("x"), info("c", (), BOOL)])


def _named_like_the_output() -> ModelProto:
    then, other = (graph([node(op, "x", "y")], [], [info("y")]) for op in ("Relu", "Neg"))
    return model([node("If", "c", "y", **_branches(then, other))], [info("x"), info("c", (), BOOL)])


def _loop(
    *,
    count: Any = 2,
    going: Any = True,
    i: Sequence[int] = (),
    c: Sequence[int] = (),
    co: Sequence[int] = (),
    state: str = "s",
    added: str = "x",
    nodes: Sequence[NodeProto] = (),
    constants: Sequence[TensorProto] = (),
) -> ModelProto:
    """Adds something to the negated input in each run of a body."""
    body = graph(
        [node("Identity", "c", "co"), *nodes, node("Add", f"{state} {added}", "so")],
        [info("i", i, INT64), info("c", c, BOOL), info(state)],
        [info("co", co, BOOL), info("so")],
        *constants,
    )
    return model(
        [node("Neg", "x", "w"), node("Loop", "count going w", "y", body=body)],
        constants=[ints("count", count), truths("going", going)],
    )


def returned_as_read(*, condition: Sequence[int] = ()) -> ModelProto:
    """A Loop whose body has no nodes: it returns its condition, and collects its count, of shape [1].

    onnxruntime collects the buffer of the count, which it counts on in: all of its rows are the last count.
    """
    inputs = [info("i", [1], INT64), info("c", condition, BOOL)]
    return model(
        [node("Loop", "count going", "y", body=graph([], inputs, [inputs[1], inputs[0]]))],
        outputs=[info("y", [3, 1], INT64)],
        constants=[ints("count", 3), truths("going", True)],
    )


def _nested_names() -> ModelProto:
    """Three graphs inside each other, whose values have the same names."""
    inner = graph([node("Relu", "x", "t"), node("Exp", "t", "u")], [], [info("u")])
    plain = graph([node("Neg", "x", "u")], [], [info("u")])
    outer = graph(
        [node("Abs", "x", "t"), node("If", "c", "u", **_branches(inner, plain)), node("Add", "t u", "v")],
        [],
        [info("v")],
    )
    other = graph([node("Neg", "x", "t")], [], [info("t")])
    return model(
        [node("Sigmoid", "x", "t"), node("If", "c", "v", **_branches(outer, other)), node("Mul", "t v", "y")],
        [info("x"), info("c", (), BOOL)],
    )


def sparse(dims: Sequence[int], indices: Any) -> Any:
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.5, -2.0])
    where = np.array(indices, np.int64)
    return helper.make_sparse_tensor(
        values, helper.make_tensor("w_at", TensorProto.INT64, where.shape, where.reshape(-1)), dims
    )


def _twice() -> Any:
    return helper.make_function("my", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], [helper.make_opsetid("", 17)])


def declared(outputs: Sequence[Any], inside: Sequence[Any] | None = None) -> ModelProto:
    infos = [] if inside is None else [info("u", inside)]
    return model(
        [node("Unsqueeze", "x axes", "u"), node("Relu", "u", "y")],
        outputs=[info("y", outputs)],
        constants=[ints("axes", [1])],
        infos=infos,
    )


def _declared_in_a_branch() -> ModelProto:
    then = graph([node("Transpose", "x", "t"), node("Transpose", "t", "then_out")], [], [info("then_out", (7,))])
    return model([node("If", "c", "y", **_branches(then))], [info("x"), info("c", (), BOOL)])


def _linear(op: str, **more: Any) -> ModelProto:
    coefficients = [float(each) / 7 for each in range(-4, 8)]
    outputs = [info("y", None)] if op == "LinearRegressor" else [info("label", None, INT64), info("y", None)]
    for value in outputs:
        value.type.tensor_type.shape.dim.add()
        if value.name == "y":
            value.type.tensor_type.shape.dim.add()
    return model(
        [
            node(
                op,
                "x",
                " ".join(value.name for value in outputs),
                domain="ai.onnx.ml",
                coefficients=coefficients,
                **more,
            )
        ],
        outputs=outputs,
        imports=[("", 17), ("ai.onnx.ml", 1)],
    )


def _layer_normalization(*, shape: Sequence[Any] = ("n", 3), **attributes: float) -> ModelProto:
    return model(
        [node("Squeeze", "x3", "s", axes=[0]), node("LayerNormalization", "s w", "y", axis=-1, **attributes)],
        [info("x3", (1, "n", 3))],
        [info("y", shape)],
        constants=[floats("w", [1, 2, 3])],
        imports=[("", 11)],
    )


def _scale_of_another_type() -> ModelProto:
    return model(
        [node("LayerNormalization", "x w", "y", axis=-1)],
        [info("x", dtype=TensorProto.FLOAT16)],
        constants=[floats("w", [1, 2, 3])],
        imports=[("", 12)],
    )


CASES: dict[str, dict[str, Untidy]] = {
    "without-results": {
        "an If without a condition": case(
            model([node("Relu", "x", "y"), node("If", "", "", **_branches(graph([], [], [])))])
        ),
    },
    "order": {
        "a node before what it reads": case(model([node("Relu", "a", "y"), node("Neg", "x", "a")])),
        "a branch that reads what is computed later": case(_later_in_a_branch(), c=np.array(True)),
    },
    "names": {
        "a branch that hides a value": case(_hidden_by_a_branch(), peer=False, c=np.array(True)),
        "a branch beside one that hides a value": case(_hidden_by_a_branch(), peer=False, c=np.array(False)),
        "the same names in nested graphs": case(_nested_names(), peer=False, c=np.array(True)),
    },
    "constants": {
        "two initialisers of one name": case(
            model([node("Add", "x w", "y")], constants=[floats("w", [1, 2, 3]), floats("w", [7, 8, 9])])
        ),
    },
    "import": {
        "a vendor's domain": case(model([node("Gelu", "x", "y", domain="com.microsoft")])),
        "a domain of the standard": case(model([node("Normalizer", "x", "y", domain="ai.onnx.ml")])),
        "the standard itself": case(model([node("Relu", "x", "y")], imports=[("com.microsoft", 1)])),
        "the domain of a function": case(
            model([node("Twice", "x", "y", domain="my")], functions=[_twice()]), peer=False
        ),
    },
    "opset": {
        "LayerNormalization before 17": Untidy(_layer_normalization(), {"x3": X[None]}),
        "an attribute that it does not have": Untidy(_layer_normalization(epsion=1e-6), {"x3": X[None]}),
        "LayerNormalization before 17 and a wrong rank": Untidy(
            _layer_normalization(shape=("n", 3, 1)), {"x3": X[None]}
        ),
        "a scale of another type": Untidy(_scale_of_another_type(), {"x": X.astype(np.float16)}),
        "ThresholdedRelu before 10": case(model([node("ThresholdedRelu", "x", "y", alpha=2.0)], imports=[("", 9)])),
    },
    "sparse": {
        "positions": case(model([node("Add", "x w", "y")], sparse_constants=[sparse([1, 3], [0, 2])])),
        "coordinates": case(model([node("Add", "x w", "y")], sparse_constants=[sparse([2, 3], [[0, 1], [1, 2]])])),
    },
    "loop": {
        "the count of a body": case(_loop(i=[1], added="g", nodes=[node("Gather", "x i", "g")])),
        "the condition into a body": case(_loop(c=[1]), peer=False),
        "everything in a body without nodes": case(returned_as_read(condition=[1]), peer=False),
        "everything": case(_loop(count=[2], going=[True], c=[1], co=[1])),
    },
    "rank": {
        "the shape of Expand": case(model([node("Expand", "x s", "y")], constants=[ints("s", 3)])),
        "the axes of Slice": case(
            model([node("Slice", "x b e a", "y")], constants=[ints("b", [0]), ints("e", [2]), ints("a", 0)]), peer=False
        ),
        "the shape of Reshape, computed": case(
            model([node("Size", "x", "s"), node("Reshape", "x s", "y")], outputs=[info("y", ("k",))]), peer=False
        ),
    },
    "signal": {
        "a signal without its last axis": Untidy(
            model(
                [node("STFT", "x step window", "y")],
                [info("x", (1, "samples"))],
                [info("y", (1, "frames", 9, 2))],
                constants=[ints("step", 8), floats("window", np.hanning(16))],
            ),
            {"x": np.sin(np.arange(64, dtype=np.float32))[None]},
        ),
    },
    "coefficients": {
        "a classifier": case(
            _linear(
                "LinearClassifier", intercepts=[0.0, 0.1, 0.2], classlabels_ints=[0, 1, 2], post_transform="SOFTMAX"
            )
        ),
        "a regressor": case(_linear("LinearRegressor", intercepts=[0.5, 1.0], targets=2)),
    },
    "declared": {
        "the rank of an output": case(declared(("n", "c"))),
        "a size of an output": case(declared(("n", 1, 4))),
        "an output as a scalar": case(declared(())),
        "the rank of a value": case(declared(("n", 1, 3), inside=(1, "k"))),
        "the rank of a value of a branch": case(_declared_in_a_branch(), c=np.array(True)),
    },
}
"""What is refused by `check` and repaired, by the rule that does."""

LEGAL: dict[str, Untidy] = {
    "a branch named like the output of its If": case(_named_like_the_output(), check=True, c=np.array(True)),
    "an input of a body named like a value outside": case(_loop(state="w"), check=True),
    "an input of a body named like an input": case(
        _loop(state="x", added="one", constants=[floats("one", [[1, 1, 1]])]), check=True
    ),
    "a constant of a body named like a value outside": case(
        _loop(added="w", constants=[floats("w", [[1, 1, 1]])]), check=True
    ),
    "a domain imported twice": case(
        model([node("Squeeze", "x3", "y", axes=[0])], [info("x3", (1, "n", 3))], imports=[("", 17), ("", 11)]),
        check=True,
        x3=X[None],
    ),
}
"""What other readers refuse and the standard's checker does not."""

LEGAL["a domain imported twice"].feeds.pop("x")


def _cycle() -> ModelProto:
    return model([node("Add", "x b", "a"), node("Neg", "a", "y"), node("Relu", "y", "b")])


def _wrong_element_type() -> ModelProto:
    return model([node("Shape", "x", "y")], outputs=[info("y", (2,))])


def _unnamed() -> ModelProto:
    untidy = model([node("Relu", "x", "y")])
    untidy.graph.ClearField("name")
    return untidy


def _old() -> ModelProto:
    untidy = model([node("Add", "x w", "y")], constants=[floats("w", [1])], imports=[("", 8)])
    untidy.ir_version = 3
    return untidy


RUN_AS_THEY_ARE: dict[str, tuple[str, ModelProto]] = {
    "a main graph without a name": ("graph-name", _unnamed()),
    "initialisers that are no inputs before IR version 4": ("constant-inputs", _old()),
    "an output without a shape": ("untyped", model([node("Relu", "x", "y")], outputs=[info("y", None)])),
}
"""What `check` refuses and sessions run without a repair, by the rule that `check --fix` uses."""


BROKEN: dict[str, tuple[Callable[[], ModelProto], str]] = {
    "a cycle": (_cycle, "the graph has a cycle: 'a' → 'y' → 'b' → 'a'"),
    "one name for two nodes of a graph": (
        lambda: model([node("Relu", "x", "y"), node("Neg", "x", "y")]),
        "two values are named 'y'",
    ),
    "initialisers of one name and several types": (
        lambda: model([node("Add", "x w", "y")], constants=[floats("w", [1]), floats("w", [1, 2, 3])]),
        "two values are named 'w'",
    ),
    "a value that nothing defines": (lambda: model([node("Add", "x z", "y")]), "which nothing in scope defines"),
    "another element type": (_wrong_element_type, "is declared float32"),
    "no imports at all": (lambda: model([node("Relu", "x", "y")], imports=[]), "imports no operator set"),
    "an operator newer than the opset": (
        lambda: model(
            [node("GroupNormalization", "x s b", "y", num_groups=1)], constants=[floats("s", [1]), floats("b", [1])]
        ),
        "it came with 18",
    ),
    "a sparse constant that reaches outside": (
        lambda: model([node("Add", "x w", "y")], sparse_constants=[sparse([1, 3], [0, 9])]),
        "sparse",
    ),
}
"""What has no one meaning: the model, and a part of the error."""
