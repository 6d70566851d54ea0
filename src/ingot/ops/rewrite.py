"""One node rewritten in other operators: an old meaning in the newest, or a new one in older."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ingot.builder import OPSET, Var, inserting, op
from ingot.builder.versions import domain_version_of
from ingot.dataclass import dataclass
from ingot.errors import IngotError, UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ops.arguments import keywords
from ingot.ops.counts import input_errors
from ingot.ops.define import Operator

NEWEST = {
    "": OPSET,
    "ai.onnx.ml": domain_version_of("ai.onnx.ml", OPSET),
    "ai.onnx.preview.training": 1,
    "ai.onnx.preview": 1,
    "com.microsoft": 1,
    "com.microsoft.nchwc": 1,
    "com.ms.internal.nhwc": 1,
}
"""The newest version of each domain that ingot knows; its operators are defined in that meaning."""


def newest(imports: Mapping[str, int]) -> dict[str, int]:
    """The same domains in the newest version known of each."""
    return {domain: max(version, NEWEST.get(domain, version)) for domain, version in imports.items()}


def drop_superseded(node: Node, operator: Operator) -> None:
    """Take attributes off a node that only older versions of the same meaning had; they changed nothing."""
    for name in list(node.attributes):
        parameter = operator.attributes.get(name)
        if parameter is not None and not parameter.exists_at(operator.version):
            del node.attributes[name]


def drop_defaults(node: Node, operator: Operator, version: int) -> None:
    """Take attributes off a node that `version` of its operator has not, where they set what it does anyway."""
    for name, attribute in list(node.attributes.items()):
        parameter = operator.attributes.get(name)
        if parameter is not None and not parameter.exists_at(version) and attribute.value == parameter.default:
            del node.attributes[name]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The nodes that replace a node, in order, and the replacements of its outputs."""

    nodes: list[Node]
    results: dict[Value, Value]


def rewrite(
    node: Node,
    operator: Operator,
    graph: Graph,
    model: Model,
    rule: Literal["upgrade", "downgrade"] = "upgrade",
    **context: Any,
) -> Rewritten:
    """Replace a node of `graph`, which means `operator`, by what a rule of it returns; names stay.

    Entries of `context` are passed if the rule has parameters for them. UnsupportedError if there is no rule,
    CheckError if the node has more or fewer inputs than the operator takes.
    """
    age = "newer" if rule == "upgrade" else "older"
    try:
        if rule not in operator.rules:
            raise UnsupportedError(f"{operator.name}-{operator.version} has no equivalent in {age} versions")
        for wrong in input_errors(operator, node, operator.version, f"{operator.name}-{operator.version}"):
            raise wrong
        arguments = {**operator.defaults, **keywords(operator, node)}
        with inserting(before=node, model=model) as inserted:
            parts = operator.apply(rule, (op, *node.inputs), arguments, outputs=len(node.outputs), **context)
    except IngotError as error:
        error.where = (f"in node '{node.label}' ({node.op_type}-{operator.version})", *error.where)
        raise
    for index, old in enumerate(node.outputs):
        if (old.uses or old.is_output) and (index >= len(parts) or parts[index] is None):
            raise UnsupportedError(
                f"output {index} of {operator.name}-{operator.version} ('{old.name}') has no {age} equivalent",
                where=(f"in node '{node.label}' ({node.op_type}-{operator.version})",),
            )
    results: dict[Value, Value] = {}
    for old, new in zip(node.outputs, parts, strict=False):
        if old.name and new is not None:
            results[old] = new.value if isinstance(new, Var) else new
            _stand_in(old, results[old], set(inserted), graph)
    graph.remove(node)
    return Rewritten(inserted, results)


def _stand_in(old: Value, new: Value, inserted: set[Node], graph: Graph) -> None:
    """Put what a rule made in the place of what the old node computed, under its name."""
    new.type = new.type or old.type
    returned = old.is_output
    old.replace_uses(new)
    if not returned and new.producer in inserted:
        name = old.name
        old.name = graph.fresh_name(name)
        new.name = name
