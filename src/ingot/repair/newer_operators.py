"""Operators that are newer than the opset of the model, and that onnxruntime has had since its first."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import CheckError, UnsupportedError
from ingot.ir.domains import STANDARD
from ingot.ir.model import Model
from ingot.ir.node import Node
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
    trial = model.copy()
    try:
        _convert(trial, after, subject)
    except (CheckError, UnsupportedError):
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


def _is_newer(node: Node, opset: int) -> bool:
    since = node.rule_in(_SINCE)
    return since is not None and opset < since


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
