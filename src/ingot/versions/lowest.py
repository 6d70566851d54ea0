"""The oldest operator sets that can express a model: what a file should import so that most programs can read it."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.builder.versions import ir_version_of
from ingot.errors import UnsupportedError
from ingot.ir.domains import OpsetImports
from ingot.ir.model import Model
from ingot.ir.needs import needed_ir_version
from ingot.ops.catalog import Catalog, standard
from ingot.ops.rewrite import NEWEST
from ingot.versions.convert import convert_versions


def lowered(model: Model, imports: Mapping[str, int], *, catalog: Catalog | None = None) -> Model:
    """A copy of a model in the oldest versions, not older than `imports`, that have its operators under their names.

    Where these cannot express what a node means, it is the next version of the standard operators, and so on. The
    IR version is the one released with them, or the first that has what the model is made of.
    """
    catalog = catalog or standard()
    old = OpsetImports(imports)
    wanted = {domain: old.get(domain, version) for domain, version in model.opset_imports.items()}
    for node in model.nodes():
        meanings = catalog.versions(node.domain, node.op_type)
        if meanings and node.domain in wanted:
            wanted[node.domain] = max(wanted[node.domain], meanings[0].since[0])
    newest = NEWEST[""]
    for version in range(min(wanted.get("", newest), newest), newest + 1):
        twin = model.copy()
        try:
            convert_versions(twin, {**wanted, "": version}, catalog=catalog)
        except UnsupportedError:
            if version == newest:
                raise
        else:
            twin.ir_version = max(ir_version_of(version), needed_ir_version(twin))
            return twin
    raise AssertionError("the newest version is always tried")
