"""Small models to look at."""

from __future__ import annotations

from ingot import Model, parse_model
from ingot.view.flow import Flow, Leaf, flow_of
from ingot.view.groups import grouped
from ingot.view.tree import Group, Tree


def parsed(body: str, *, inputs: str = "float[n, 8] x", outputs: str = "y", functions: str = "") -> Model:
    """A model of nodes in ONNX's textual syntax."""
    return parse_model(
        f'<ir_version: 10, opset_import: ["" : 21, "local" : 1]> g ({inputs}) => ({outputs}) {{ {body} }} {functions}'
    )


def layers(count: int, *, names: str = "") -> Model:
    """A row of equal layers with a residual each; `names` is a pattern of scopes, such as `/encoder/layer.{}/`."""
    model = parsed(f"{_layers(count)} y = Relu (h{count})")
    for number, node in enumerate(model.graph.nodes[:-1]):
        node.name = f"{names.format(number // 8)}{node.op_type}_{number}" if names else ""
    return model


def _layers(count: int) -> str:
    lines = ["h0 = Identity (x)"]
    for i in range(count):
        lines += [
            f"a{i} = ReduceMean (h{i})",
            f"b{i} = Sub (h{i}, a{i})",
            f"c{i} = Tanh (b{i})",
            f"d{i} = Exp (c{i})",
            f"e{i} = Sigmoid (c{i})",
            f"f{i} = Mul (d{i}, e{i})",
            f"g{i} = Neg (f{i})",
            f"h{i + 1} = Add (h{i}, g{i})",
        ]
    return " ".join(lines[1:]).replace("(h0", "(x")


def tree_of(model: Model) -> Tree:
    """The groups of the main graph of a model."""
    return grouped(flow_of(model.graph))


def titles(group: Group) -> list[str]:
    """The titles of the groups directly in a group."""
    return [part.title for part in group.parts if isinstance(part, Group)]


def leaf_names(flow: Flow) -> list[str]:
    """The names of leaves: operators of nodes, names of inputs and outputs."""
    return [_name(leaf) for leaf in flow.leaves]


def _name(leaf: Leaf) -> str:
    return leaf.name if leaf.node is None else leaf.node.op_type
