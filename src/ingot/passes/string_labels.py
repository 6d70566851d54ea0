"""Labels that are strings: operators that choose one are given numbers, and the strings are looked up last.

Machine code has no strings: so that it can choose, only the lookup is left to the reference.
"""

from __future__ import annotations

from typing import Any

from ingot.builder import inserting, op
from ingot.ir.domains import ML
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ops.ml.labels import label_array

_CLASSIFIERS = ("LinearClassifier", "SVMClassifier")


def number_labels(model: Model) -> int:
    """Have classifiers and encoders of integers choose places in a table of strings; how many.

    The types of the values of the model are left to an inference that follows.
    """
    nodes = [node for node in model.graph if _chooses_strings(node)]
    for node in nodes:
        attributes = {name: attribute.value for name, attribute in node.attributes.items()}
        with inserting(before=node):
            results = (
                _encoder(node, attributes) if node.applies("LabelEncoder", domain=ML) else _classifier(node, attributes)
            )
        for old, new in zip(node.outputs, results, strict=False):
            _replace(old, new.value)
        model.graph.remove(node)
    return len(nodes)


def _replace(old: Value, new: Value) -> None:
    """Put a value in the place of another, and of what Identity nodes that are its only users pass on."""
    while not old.is_output and len(old.users) == 1 and (node := old.users[0]).applies("Identity"):
        if node.graph is not old.graph:
            break
        graph, passed_on = node.graph, node.output
        assert graph is not None
        passed_on.replace_uses(old)
        graph.remove(node)
    new.type = new.type or old.type
    old.replace_uses(new)


def _chooses_strings(node: Node) -> bool:
    if node.applies(*_CLASSIFIERS, domain=ML):
        return bool(node.get("classlabels_strings", ())) and len(node.outputs) == 2
    return node.applies("LabelEncoder", domain=ML) and bool(
        node.get("keys_int64s", ()) and node.get("values_strings", ()) and "default_tensor" not in node.attributes
    )


def _classifier(node: Node, attributes: dict[str, Any]) -> tuple[Any, Any]:
    names = list(attributes.pop("classlabels_strings"))
    attributes["classlabels_ints"] = list(range(len(names)))
    ml = op.domain(ML)
    classifier = ml.LinearClassifier if node.applies("LinearClassifier", domain=ML) else ml.SVMClassifier
    place, scores = classifier(node.inputs[0], outputs=2, **attributes)
    return op.Gather(label_array(names), place), scores


def _encoder(node: Node, attributes: dict[str, Any]) -> tuple[Any]:
    names = list(attributes.pop("values_strings"))
    default = attributes.pop("default_string", "_Unused")
    place = op.domain(ML).LabelEncoder(
        node.inputs[0],
        keys_int64s=list(attributes["keys_int64s"]),
        values_int64s=list(range(len(names))),
        default_int64=len(names),
    )
    return (op.Gather(label_array([*names, default]), place),)
