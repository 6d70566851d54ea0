"""The `ingot` command: the list of commands, each imported when it is used, and how a run ends."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from ingot.cli import failures
from ingot.cli.examples import examples
from ingot.version import __version__

COMMANDS = {
    "bench": "Measure models on ingot and other engines, in turns.",
    "cache": "Show or clear the compiled code kept on disk.",
    "check": "List everything in a model that breaks the standard.",
    "compare": "Compare what two models, or two engines, compute.",
    "convert": "Turn a model of another framework into ONNX, or ONNX into PyTorch.",
    "devices": "List the processor and the GPUs that a model can run on.",
    "diff": "Show in what two models differ, aligned by structure.",
    "downgrade": "Rewrite a model in older operators.",
    "draw": "Draw the graph of a model, as SVG or PNG.",
    "dump": "Show the stages of a model on its way to machine code.",
    "explain": "Say what became of every node of a model.",
    "external": "List, embed or move out weights in files of their own.",
    "extract": "Cut a model down to what lies between two sets of values.",
    "infer": "Show the type of every value of a model, or note them in it.",
    "info": "Show what a model takes, returns and is made of.",
    "join": "Run one model on what another computes, as one model.",
    "meta": "Read and change what a model says about itself.",
    "ops": "Look up an operator, or search among all of them.",
    "optimize": "Make a model smaller and faster.",
    "precision": "Measure what running products in fewer bits costs, layer by layer.",
    "profile": "Measure how long each kernel of a model takes.",
    "prune": "Make a model smaller by weights and channels it can do without.",
    "quantize": "Make a model smaller and faster with numbers of fewer bits.",
    "run": "Run a model on files or random inputs.",
    "source": "Write a model as a Python program that builds or computes it.",
    "text": "Print a model as text, or turn text back into a model.",
    "upgrade": "Rewrite a model in newer operators.",
    "view": "Show a model in the browser, or in what two differ.",
}
"""The commands and their first lines; `ingot.cli.<name>` holds each under its own name."""


class Commands(click.Group):
    """A group whose commands are imported on use, and whose errors become messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"ingot.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what goes wrong is shown on stderr and sets the exit code."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            failures.show(error, traceback=bool(ctx.params.get("traceback")))
            failures.abandon_stdout()
            raise click.exceptions.Exit(failures.exit_code(error)) from None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=examples("ingot info model.onnx"),
)
@click.option("--traceback", is_flag=True, envvar="INGOT_DEBUG", help="Show where in ingot an error was raised.")
@click.version_option(__version__, message="ingot %(version)s")
def main(traceback: bool) -> None:
    """Look at, check, edit and run ONNX models. A MODEL of - is read from stdin."""
    del traceback  # `invoke` reads it from the context
