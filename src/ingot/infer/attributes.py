"""Checking the attributes of a node against its operator: which there are, in which version, and of which kind."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import CheckError, nearest
from ingot.infer.types import effective, versioned
from ingot.ir.domains import spelled_out
from ingot.ir.node import Node
from ingot.ops.arguments import decodes
from ingot.ops.catalog import Catalog
from ingot.ops.define import Operator, Parameter


def attribute_errors(operator: Operator, node: Node, version: int, catalog: Catalog) -> Iterator[CheckError]:
    """Everything that is wrong with the attributes of a node whose operator set is imported in `version`."""
    shown = versioned(operator, version)
    version = effective(operator, version)
    for name, attribute in node.attributes.items():
        if name.startswith("__"):
            continue  # the standard leaves such names to tools
        parameter = operator.attributes.get(name)
        if parameter is None or not parameter.exists_at(version):
            yield _unknown(operator, name, version, catalog)
        elif attribute.kind is not parameter.kind and not (attribute.value == () and parameter.kind.is_list):
            expected = parameter.kind.name.lower()
            yield CheckError(f"attribute '{name}' is {attribute.kind.name.lower()}, {shown} takes {expected}")
        elif not decodes(attribute):
            yield CheckError(f"attribute '{name}' is not UTF-8")
    for name, parameter in operator.attributes.items():
        if parameter.required and parameter.exists_at(version) and name not in node.attributes:
            yield CheckError(f"{shown} needs attribute '{name}' ({parameter.kind.name.lower()})")


def _unknown(operator: Operator, name: str, version: int, catalog: Catalog) -> CheckError:
    message = f"{versioned(operator, version)} has no attribute '{name}'"
    elsewhere = [
        text
        for other in catalog.versions(operator.domain, operator.name)
        if (parameter := other.attributes.get(name)) is not None and (text := _versions(other, parameter)) is not None
    ]
    if elsewhere:
        return CheckError(f"{message}: {' and '.join(elsewhere)} had it", hint=_hint(operator, name, version, catalog))
    known = [key for key, parameter in operator.attributes.items() if parameter.exists_at(version)]
    return CheckError(message, hint=nearest(name, known) or f"it has {', '.join(known) or 'none'}")


def _versions(operator: Operator, parameter: Parameter) -> str | None:
    """`Squeeze-1 to -11`: the versions of a meaning that have an attribute; None if none has."""
    having = [since for since in operator.since if parameter.exists_at(since)]
    if not having:
        return None
    first = f"{operator.name}-{having[0]}"
    return first if len(having) == 1 else f"{first} to -{having[-1]}"


def _hint(operator: Operator, name: str, version: int, catalog: Catalog) -> str | None:
    meanings = catalog.versions(operator.domain, operator.name)
    later = [
        since
        for meaning in meanings
        for since in meaning.since
        if since > version and name in meaning.attributes and meaning.attributes[name].exists_at(since)
    ]
    if later:
        return f"import version {min(later)} of '{spelled_out(operator.domain)}'"
    if any(formal.name == name for formal in operator.inputs):
        return f"give '{name}' as an input"
    return None
