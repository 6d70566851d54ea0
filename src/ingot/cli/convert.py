"""`ingot convert`: a model of another framework as ONNX, or of ONNX as a PyTorch module, compared with the original."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import click

from ingot.cli.arguments import pairs
from ingot.cli.examples import examples
from ingot.cli.model_options import MODEL_PATH
from ingot.cli.models import not_a_terminal, write_model
from ingot.cli.ort_file import onnx_of_ort
from ingot.cli.printable import printable
from ingot.cli.progress import steps
from ingot.cli.torch_module import write_torch_module
from ingot.cli.units import counted
from ingot.cli.written import say_written, warn
from ingot.errors import InputError
from ingot.format.load import is_ort_path
from ingot.ir.model import Model


@click.command(
    epilog=examples(
        "ingot convert model.keras -o model.onnx",
        "ingot convert pipeline.pkl --example rows.csv -o model.onnx --trust-pickle",
    )
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=MODEL_PATH,
    callback=not_a_terminal,
    metavar="MODEL",
    help="Where to write the model, or the module: .py.",
)
@click.option(
    "--example", type=click.Path(path_type=Path), metavar="FILE", help="Inputs to compare on: .npy .npz .csv."
)
@click.option("--input-name", "input_names", multiple=True, metavar="NAME", help="Call an input so, in their order.")
@click.option("--output-name", "output_names", multiple=True, metavar="NAME", help="Call an output so, in their order.")
@click.option("--opset", type=int, metavar="N", help="The version of the operators to write it in.")
@click.option("--option", "options", multiple=True, callback=pairs, metavar="KEY=VALUE", help="One of the framework's.")
@click.option("--seed", type=int, default=0, metavar="N", help="What the compared rows are drawn from.")
@click.option("--no-verify", is_flag=True, help="Write it without comparing.")
@click.option("--trust-pickle", is_flag=True, help="Load a pickle, which runs the code that is in it.")
def convert(
    source: Path,
    output: str,
    example: Path | None,
    input_names: tuple[str, ...],
    output_names: tuple[str, ...],
    opset: int | None,
    options: dict[str, str],
    seed: int,
    no_verify: bool,
    trust_pickle: bool,
) -> None:
    """Turn a model of another framework into ONNX, or ONNX into PyTorch.

    From .keras .h5 .json .ubj .txt .cbm .pt2 .pkl .joblib .ort and folders of
    TensorFlow; to .onnx, or from .onnx to .py with weights beside it. Both run
    on the same inputs, and one that differs is not written.
    """
    options_set: dict[str, object] = {"--example": example, "--input-name": input_names, "--output-name": output_names}
    options_set |= {"--option": options, "--trust-pickle": trust_pickle}
    if Path(output).suffix == ".py":
        _refuse(options_set | {"--opset": opset}, "a PyTorch module")
        write_torch_module(str(source), output, verify=not no_verify, seed=seed)
        return
    if is_ort_path(source):
        _refuse(options_set, "a model of onnxruntime")
        _write(onnx_of_ort(source, opset), output)
        return
    for name, value in ("TF_CPP_MIN_LOG_LEVEL", "3"), ("TF_ENABLE_ONEDNN_OPTS", "0"):
        os.environ.setdefault(name, value)  # TensorFlow speaks of itself as it is imported
    from ingot.convert.api import converted  # not free to import
    from ingot.convert.request import Request

    request = Request(
        input_names or None,
        output_names or None,
        None,
        opset,
        seed,
        {key: _parsed(text) for key, text in options.items()},
    )
    inputs = None if example is None else _inputs(example)
    with steps() as step:
        model, report = converted(source, inputs, request, verify=not no_verify, trust_pickle=trust_pickle, step=step)
    if report is None:
        warn("the model was not compared with the original")
    else:
        click.echo(f"ran both on {counted(report.examples, 'example')}", err=True)
        for line in str(report).splitlines():
            click.echo(printable(f"  {line}"), err=True)
    _write(model, output)


def _refuse(options: dict[str, object], what: str) -> None:
    """InputError that names the first of the options that is given."""
    for name, value in options.items():
        if value:
            raise InputError(f"{name} does not go with {what}", hint="give the model alone")


def _write(model: Model, output: str) -> None:
    write_model(model, output)
    say_written(output, f"{counted(len(model.graph), 'node')}, opset {model.opset}")
    for label, values in ("takes", model.graph.inputs), ("gives", model.graph.outputs):
        listed = ", ".join(f"{value.name}: {value.type}" for value in values)
        click.echo(printable(f"  {label} {listed}"), err=True)


def _parsed(text: str) -> Any:
    """The value of an option: true, false, a number, or text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return text


def _inputs(path: Path) -> Any:
    """What a file has to compare on: an array, arrays by name, or a frame.

    InputError if it is of another kind, cannot be read, or a csv needs a package that is missing.
    """
    import numpy as np

    if path.suffix in (".npy", ".npz"):
        try:
            arrays = np.load(path, allow_pickle=False)
            return dict(arrays) if path.suffix == ".npz" else arrays
        except (ValueError, EOFError, BadZipFile) as error:
            raise InputError(f"'{path}' cannot be read: {error}") from None
    if path.suffix != ".csv":
        raise InputError(f"'{path}' is no kind of file to read examples from", hint="end it in .npy, .npz or .csv")
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise InputError("reading a csv needs the package 'pandas'", hint="pip install pandas") from None
    return pd.read_csv(path)
