"""A model in onnxruntime's own format, to be written as ONNX."""

from __future__ import annotations

from pathlib import Path

from ingot.builder.versions import INITIALIZERS_ALONE_SINCE
from ingot.cli.model_options import Places
from ingot.cli.models import open_model
from ingot.ir.domains import STANDARD
from ingot.ir.model import Model
from ingot.ir.needs import needed_ir_version


def onnx_of_ort(source: Path, opset: int | None) -> Model:
    """The model of an .ort file as the standard has it, in a version of its operators if one is given.

    It imports the operator sets that it uses: onnxruntime lists all that it has. Its IR version has what it is made of:
    onnxruntime leaves that of the original, and adds initialisers that are no inputs.
    """
    model = open_model(str(source), Places(None, ())).model
    used = {STANDARD, *(node.domain for node in model.nodes())}
    model.opset_imports = {domain: number for domain, number in model.opset_imports.items() if domain in used}
    needed = needed_ir_version(model)
    if model.ir_version < INITIALIZERS_ALONE_SINCE <= needed:
        model.graph.inputs[:] = model.inputs  # the others were constants, and would become defaults
    model.ir_version = max(model.ir_version, needed)
    if opset is None:
        return model
    from ingot.convert.api import in_versions  # not free to import

    return in_versions(model, opset)
