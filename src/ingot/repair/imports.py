"""Operator sets that a model uses and does not import, or imports twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ingot.builder.versions import domain_version_of
from ingot.format.residue import Entries, Residue
from ingot.ir.domains import OpsetImports, canonical, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, nested_graphs
from ingot.ops.rewrite import NEWEST
from ingot.repair.record import Repair, Subject


def import_domains(subject: Subject) -> Iterator[Repair]:
    """Import what nodes use: in the version of the model or of its release, else the newest, else the first.

    A model that imports nothing at all stays: nothing tells of which time it is.
    """
    model = subject.model
    if not model.opset_imports:
        return
    bodies = {function.graph for function in model.functions.values()}
    for domain in _missing([root for root in model.roots() if root not in bodies], model.opset_imports):
        version = model.opset_imports[domain] = _version(domain, model)
        yield Repair("import", "the model", f"imported version {version} of '{spelled_out(domain)}', which it uses")
    local = {function.domain for function in model.functions.values()}
    for function in model.functions.values():
        for domain in _missing([function.graph], function.opset_imports):
            if domain in local:
                continue  # the standard takes functions for known
            version = model.opset_imports.get(domain) or _version(domain, model)
            function.opset_imports[domain] = version
            what = f"imported version {version} of '{spelled_out(domain)}', which it uses"
            yield Repair("import", f"function '{function.id}'", what)


def import_once(subject: Subject) -> Iterator[Repair]:
    """Forget all versions of a domain but the one that comes last, which is the one that counts."""
    holders: list[Model | Function] = [subject.model, *subject.model.functions.values()]
    for holder in holders:
        residue = holder.residue
        entries = residue.extra.get("opset_import") if isinstance(residue, Residue) else None
        if not isinstance(entries, Entries) or len(entries.raw) <= len(entries.shown):
            continue
        extra = {topic: part for topic, part in residue.extra.items() if topic != "opset_import"}
        holder.residue = replace(residue, extra=extra)
        versions = ", ".join(f"{spelled_out(domain)} {number}" for domain, number in holder.opset_imports.items())
        where = f"function '{holder.id}'" if isinstance(holder, Function) else "the model"
        yield Repair("imported-twice", where, f"imports each domain once: {versions}")


def _missing(roots: list[Graph], imports: OpsetImports) -> list[str]:
    used = {node.domain for root in roots for graph in nested_graphs(root) for node in graph.nodes}
    return sorted(used - {canonical(domain) for domain in imports})


def _version(domain: str, model: Model) -> int:
    """The version to import of a domain that a model uses."""
    opset = model.opset
    if opset is None:
        return NEWEST.get(domain, 1)
    return domain_version_of(domain, opset)
