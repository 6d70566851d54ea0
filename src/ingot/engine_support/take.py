"""What a target takes of a model: every node checked against the target's table, equal ones as one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ingot.dataclass import dataclass
from ingot.engine_support.finding import Finding, Kind
from ingot.engine_support.kinds import kind_of
from ingot.engine_support.known import depends_on_inputs
from ingot.engine_support.restrictions import restrictions_of
from ingot.engine_support.table import Slots, Table
from ingot.errors import IngotError
from ingot.infer.stepwise import types_of
from ingot.infer.types import versioned
from ingot.ir.domains import spelled_out
from ingot.ir.inline import inline
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.sizes import tensor_sizes
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value
from ingot.ops.catalog import standard

_MOST_IN_A_FILE = 2**31 - 1
"""Bytes that protobuf reads from one message."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node, and what is known of the values around it."""

    node: Node
    types: Mapping[Value, Type]

    def kind(self, value: Value | None) -> str | None:
        """The kind of a value; None where there is no value, or nothing known of it."""
        return None if value is None or not value.name else kind_of(self.types.get(value) or value.type)


def findings_for(model: Model, table: Table) -> list[Finding]:
    """Everything of a model that a target does not take, errors before warnings; the model is not changed."""
    findings = [*_versions(model, table), *_size(model)]
    whole = model.copy()
    if whole.functions:
        inline(whole)
    try:
        types = types_of(whole, custom=True)
    except IngotError:
        types = {}  # a model that breaks the standard: held to what it declares
    imports = whole.opset_imports
    noted: dict[tuple[Kind, str, str, str], list[str]] = {}
    for node in whole.nodes():
        for kind, message, severity in _of_node(Site(node, types), imports, table):
            operator = _label(node, imports) if severity == "error" else ""
            noted.setdefault((kind, message, operator, severity), []).append(node.label)
    for (kind, message, operator, severity), nodes in noted.items():
        findings.append(Finding(kind, message, operator, tuple(nodes), severity))  # type: ignore[arg-type]
    findings += _open_sizes(whole, table)
    return sorted(findings, key=lambda finding: finding.severity != "error")


def _versions(model: Model, table: Table) -> Iterator[Finding]:
    if table.ir_version is not None and model.ir_version > table.ir_version:
        yield Finding(
            "ir_version", f"{table} reads IR versions up to {table.ir_version}, the model has {model.ir_version}"
        )
    for domain, version in model.opset_imports.items():
        first, last = table.opsets.get(domain, (version, version))
        if not first <= version <= last:
            reads = f"up to {last}" if version > last else f"from {first} on"
            yield Finding("opset", f"{table} takes {spelled_out(domain)} {reads}, the model has {version}")


def _size(model: Model) -> Iterator[Finding]:
    inside = sum(size.nbytes for size in tensor_sizes(model) if size.external is None)
    if inside > _MOST_IN_A_FILE:
        gib = inside / 2**30
        yield Finding("size", f"weights of {gib:.1f} GiB do not fit into one file", severity="warning")


def _of_node(site: Site, imports: Mapping[str, int], table: Table) -> Iterator[tuple[Kind, str, str]]:
    node = site.node
    domain = node.domain
    version = min(imports.get(domain, 1), table.opsets.get(domain, (0, 2**31))[1])
    entry = table.version(domain, node.op_type, version)
    name = _label(node, imports)
    if entry is None or not entry.signatures:
        yield "operator", f"{table} has no {name}", "error"
        return
    for attribute in node.attributes:
        if entry.attributes is not None and attribute not in entry.attributes:
            yield "operator", f"{table} has no {name} with attribute '{attribute}'", "error"
    for place in entry.constants:
        value = node.inputs[place] if place < len(node.inputs) else None
        if value is not None and depends_on_inputs(value):
            yield "restriction", f"{table} takes no {name} whose input {place} is computed from inputs", "error"
    signatures = entry.signatures
    if any(_fits(slots, node, site.kind) for slots in signatures):
        yield from _restricted(site, table)
        return
    if any(_fits(slots, node, lambda value: _cast(table, site.kind(value))) for slots in signatures):
        if not table.quiet_casts:
            kinds = {site.kind(value) for value in node.inputs}
            casts = sorted(f"{kind} in {wide}" for kind, wide in table.casts.items() if kind in kinds)
            yield "type", f"{table} computes {', '.join(casts)}", "warning"
        yield from _restricted(site, table)
        return
    yield "type", f"{table} has no {name} of {_types_of(site, signatures)}", "error"


def _restricted(site: Site, table: Table) -> Iterator[tuple[Kind, str, str]]:
    for restriction in restrictions_of(table.name, site.node, site.types):
        yield "restriction", f"{table} takes no {site.node.op_type} {restriction}", "error"


def _fits(slots: Slots, node: Node, kind: Callable[[Value | None], str | None]) -> bool:
    """Whether every value around a node is of a kind that a signature has at its place; unknown ones pass."""
    for mark, values in ("", node.inputs), (">", node.outputs):
        for place, value in enumerate(values):
            allowed = _at(slots, mark, place)
            actual = kind(value)
            if allowed is not None and actual is not None and actual not in allowed:
                return False
    return True


def _at(slots: Slots, mark: str, place: int) -> frozenset[str] | None:
    exact = slots.get(f"{mark}{place}")
    if exact is not None:
        return exact
    return next((slots[f"{mark}{at}+"] for at in range(place, -1, -1) if f"{mark}{at}+" in slots), None)


def _cast(table: Table, kind: str | None) -> str | None:
    return None if kind is None else table.casts.get(kind, kind)


def _types_of(site: Site, signatures: tuple[Slots, ...]) -> str:
    """The kinds that no signature has at their place, or else all of the inputs'."""
    wrong: dict[str, None] = {}
    for mark, values in ("", site.node.inputs), (">", site.node.outputs):
        for place, value in enumerate(values):
            kind = site.kind(value)
            allowed = [_at(slots, mark, place) for slots in signatures]
            if kind is not None and all(group is not None and kind not in group for group in allowed):
                wrong[kind] = None
    if not wrong:
        wrong = dict.fromkeys(kind for kind in map(site.kind, site.node.inputs) if kind is not None)
    return " and ".join(wrong)


def _label(node: Node, imports: Mapping[str, int]) -> str:
    """`Gelu-20`, with its domain if it is another's."""
    version = imports.get(node.domain, 1)
    operator = standard().find(node.domain, node.op_type, version)
    named = node.op_type if operator is None else versioned(operator, version)
    return f"{node.domain}.{named}" if node.domain else named


def _open_sizes(model: Model, table: Table) -> Iterator[Finding]:
    """TensorRT builds an engine for known sizes: open ones need a profile."""
    if table.name != "tensorrt":
        return
    named = [
        value.name
        for value in model.inputs
        if isinstance(value.type, TensorType) and not all(isinstance(size, int) for size in value.type.shape or (None,))
    ]
    if named:
        listed = ", ".join(f"'{name}'" for name in named)
        message = f"{table} needs an optimisation profile for the open sizes of {listed}"
        yield Finding("sizes", message, severity="warning")
