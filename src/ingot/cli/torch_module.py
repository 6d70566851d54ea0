"""A model as a PyTorch module, compared with the model before it is written."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ingot.cli.model_options import Places
from ingot.cli.models import named, open_model
from ingot.cli.printable import printable
from ingot.cli.units import counted
from ingot.cli.written import say_written, warn
from ingot.errors import IngotError, VerifyError
from ingot.feeds.random_inputs import bind_open_sizes, random_value
from ingot.ir.model import Model


def write_torch_module(source: str, output: str, *, verify: bool, seed: int) -> None:
    """Write the source of a module, and its weights beside it; VerifyError, and nothing written, where it differs."""
    from ingot.convert.to_torch.files import write_source  # not free to import
    from ingot.convert.to_torch.source import to_torch_source

    model = open_model(source, Places(None, ())).model
    target = Path(output)
    module_source = to_torch_source(model, weights=target.with_suffix(".npz").name)
    reason = _compared(model, module_source, seed) if verify else "as was asked"
    if reason is not None:
        warn(f"the module was not compared with the model: {reason}")
    with named(output):
        write_source(module_source, target)
    lines = module_source.text.count("\n")
    weights = (
        f", {counted(len(module_source.state), 'weight')} in {target.with_suffix('.npz').name}"
        if module_source.state
        else ""
    )
    say_written(output, f"{counted(lines, 'line')}{weights}")


def _compared(model: Model, source: Any, seed: int) -> str | None:
    """Why module and model could not be compared; VerifyError where they differ."""
    from ingot.convert.source import Tolerance
    from ingot.convert.verify import PROVIDERS, compare
    from ingot.session import Session

    if find_spec("torch") is None:
        return "torch is not installed"
    from ingot.convert.to_torch.module import run_module

    copy = model.copy()
    try:
        bind_open_sizes(copy, copy.inputs)
        feeds = {value.name: random_value(value.name, value.type, seed) for value in copy.inputs}
        expected = Session(model, providers=PROVIDERS).run(None, feeds)
    except IngotError as error:
        return f"{error.message}"
    results = run_module(source, [feeds[value.name] for value in model.inputs])
    click.echo("ran both on random inputs", err=True)
    for value, wanted, result in zip(model.graph.outputs, expected, results, strict=True):
        report, wrong = compare(value.name, wanted, result, Tolerance(1e-3, 1e-4))
        if wrong is not None:
            raise VerifyError(f"output '{value.name}' of the module is not the model's: {wrong}")
        click.echo(printable(f"  {report}"), err=True)
    return None
