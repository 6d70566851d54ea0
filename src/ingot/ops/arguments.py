"""From a node to the call of its operator's rules: inputs by position, attributes by name, outputs wanted."""

from __future__ import annotations

from typing import Any

from ingot.errors import CheckError, nearest
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.node import Node
from ingot.ops.define import Operator


def keywords(operator: Operator, node: Node) -> dict[str, Any]:
    """The attributes of a node as the keyword arguments of its operator's rules, without those it leaves to defaults.

    CheckError if one is missing, unknown, of another kind, text that is not UTF-8, or a reference that nobody resolved.
    """
    arguments: dict[str, Any] = {}
    signature = operator.signature
    attributes, names = signature.attributes, signature.keywords
    for name, attribute in node.attributes.items():
        parameter = attributes.get(name)
        if parameter is None:
            raise CheckError(f"{operator.name} has no attribute '{name}'", hint=nearest(name, attributes))
        if attribute.ref:
            raise CheckError(f"attribute '{name}' refers to '{attribute.ref}', and there is no function around")
        if attribute.kind is not parameter.kind and not _empty_list(attribute.value, parameter.kind):
            expected = parameter.kind.name.lower()
            raise CheckError(f"attribute '{name}' is {attribute.kind.name.lower()}, {operator.name} takes {expected}")
        if not decodes(attribute):
            raise CheckError(f"attribute '{name}' is not UTF-8")
        arguments[names[name]] = attribute.value
    for name, parameter in attributes.items():
        if parameter.required and names[name] not in arguments:
            raise CheckError(f"{operator.name} needs attribute '{name}'")
    return arguments


def decodes(attribute: Attribute) -> bool:
    """Whether the strings of an attribute are UTF-8; one that has none does."""
    if attribute.kind is AttributeKind.STRING:
        return not isinstance(attribute.value, bytes)
    if attribute.kind is AttributeKind.STRINGS and isinstance(attribute.value, tuple):
        return not any(isinstance(item, bytes) for item in attribute.value)
    return True


def _empty_list(value: object, kind: AttributeKind) -> bool:
    """Whether an empty list was given where another kind of list is taken: files often mistype these."""
    return value == () and kind.is_list
