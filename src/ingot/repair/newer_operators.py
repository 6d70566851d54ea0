"""Operators that are newer than the opset of the model, and that onnxruntime has had since its first."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dtypes import DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.domains import STANDARD
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.ir.verify import problems
from ingot.repair.declared import believe_inference
from ingot.repair.places import place_of_node
from ingot.repair.record import Repair, Subject
from ingot.versions.convert import convert_versions

_SINCE = {"LayerNormalization": 17, "ThresholdedRelu": 10}
"""Operators that exporters wrote before the standard had them, and the version of the standard that has them."""

_ASIDE = "ingot.repair"
"""A domain for nodes that mean nothing yet while those around them are brought to a later version."""


def raise_opset(subject: Subject) -> Iterator[Repair]:
    """Bring a model to the version that has the operators it uses; nothing where other nodes have no such version.

    Attributes that these operators do not have are dropped, as onnxruntime passes over them: before the standard had
    the operators, nothing checked how an exporter spelled their attributes.
    """
    model = subject.model
    if model.opset is None:
        return
    newer = [node for node in model.nodes() if _is_newer(node, model.opset) and model.function_of(node) is None]
    if not newer:
        return
    before, after = model.opset, max(filter(None, (node.rule_in(_SINCE) for node in newer)))
    if not _converts(model, after, subject):
        if any(problems(model)):
            return
        yield from believe_inference(subject)  # a conversion refuses types that are declared wrongly
        if not _converts(model, after, subject):
            return
    _convert(model, after, subject)
    names = ", ".join(sorted({node.op_type for node in newer}))
    yield Repair("opset", "the model", f"brought from opset {before} to {after}, which has {names}")
    for node in newer:
        operator = subject.catalog.newest(node.domain, node.op_type)
        for name in [name for name in node.attributes if operator is not None and name not in operator.attributes]:
            del node.attributes[name]
            yield Repair(
                "opset", place_of_node(node), f"it loses attribute '{name}', which {node.op_type} does not have"
            )
        yield from _cast_to_scale(node, subject)


def _cast_to_scale(node: Node, subject: Subject) -> Iterator[Repair]:
    """Give a LayerNormalization its input in the type of its scale, which was that of the result before 17."""
    if not node.applies("LayerNormalization") or len(node.inputs) < 2 or any(problems(subject.model)):
        return
    subject.changed()
    x, scale = node.inputs[0], node.inputs[1]
    wanted = subject.facts.of(scale).dtype
    if x is None or wanted is None or subject.facts.of(x).dtype in (None, wanted):
        return
    node.replace_input(0, _cast(x, wanted, node))
    yield Repair("opset", place_of_node(node), f"takes '{x.name}' as {wanted}, the type of its scale")


def _cast(value: Value, to: DType, before: Node) -> Value:
    graph = before.graph
    assert graph is not None
    cast = Node("Cast", [value], [graph.fresh_name(value.name)], {"to": int(to)})
    graph.insert_before(before, cast)
    return cast.output


def _is_newer(node: Node, opset: int) -> bool:
    since = node.rule_in(_SINCE)
    return since is not None and opset < since


def _converts(model: Model, version: int, subject: Subject) -> bool:
    try:
        _convert(model.copy(), version, subject)
    except (CheckError, UnsupportedError):
        return False
    return True


def _convert(model: Model, version: int, subject: Subject) -> None:
    """Bring a model to a version, but for nodes that only have a meaning there."""
    opset = model.opset
    assert opset is not None
    aside = [node for node in model.nodes() if _is_newer(node, opset) and model.function_of(node) is None]
    for node in aside:
        node.domain = _ASIDE
    model.opset_imports[_ASIDE] = 1
    try:
        convert_versions(model, {STANDARD: version}, catalog=subject.catalog)
    finally:
        del model.opset_imports[_ASIDE]
        for node in aside:
            node.domain = STANDARD
    model.opset_imports[STANDARD] = version
