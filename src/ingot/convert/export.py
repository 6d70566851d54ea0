"""`ingot.export`: torch.onnx.export's parameters, our conversion."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ingot.convert.api import converted
from ingot.convert.request import DynamicAxes, Request
from ingot.errors import InputError
from ingot.format import save
from ingot.ir.model import Model


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: DynamicAxes | None = None,
    dynamic_shapes: Any = None,
    do_constant_folding: bool = True,
    custom_translation_table: Mapping[Any, Any] | None = None,
    verify: bool = True,
    **others: Any,
) -> Model:
    """The ONNX model of a PyTorch module or exported program, written to `f` if that is given.

    The parameters are those of torch.onnx.export: `args` is a tensor, or a tuple of arguments whose last may be a dict
    of keywords; `dynamic_axes` names the axes of inputs whose size stays open, `dynamic_shapes` says the same as
    torch.export has it. Without `export_params` the parameters become inputs. `verbose` prints the model and how it
    compares with the original. Those of its parameters that only chose among torch's exporters (`dynamo`, `fallback`,
    `optimize`, `external_data`, `report`, `training`, ...) are taken and change nothing.

    As `convert`: ConvertError for what cannot be converted, VerifyError where the results differ. `f` is written only
    when all went well.
    """
    unknown = sorted(set(others) - _CHANGE_NOTHING)
    if unknown:
        raise InputError(f"export takes no '{unknown[0]}'", hint="its parameters are those of torch.onnx.export")
    if dynamic_axes is not None and dynamic_shapes is not None:
        raise InputError("dynamic_axes and dynamic_shapes say the same", hint="give one of them")
    options = {
        "kwargs": kwargs,
        "dynamic_shapes": dynamic_shapes,
        "custom_translation_table": custom_translation_table,
        "export_params": export_params,
        "do_constant_folding": do_constant_folding,
    }
    request = Request(
        None if input_names is None else tuple(input_names),
        None if output_names is None else tuple(output_names),
        dynamic_axes,
        opset_version,
        options={name: value for name, value in options.items() if value is not None},
    )
    example = None if isinstance(args, tuple) and not args else args
    onnx, report = converted(model, example, request, verify=verify and export_params)
    if f is not None:
        save(onnx, f)
    if verbose:
        from ingot.ir.text import to_text  # only for this

        sys.stdout.write(f"{to_text(onnx)}\n{report or ''}\n")
    return onnx


_CHANGE_NOTHING = {
    "artifacts_dir", "autograd_inlining", "custom_opsets", "dump_exported_program", "dynamo",
    "export_modules_as_functions", "external_data",
    "fallback", "keep_initializers_as_inputs", "operator_export_type",
    "optimize", "profile", "report",
    "training",
}  # fmt: skip
