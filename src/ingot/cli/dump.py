"""`ingot dump`: the stages of a model on its way to machine code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.examples import examples
from ingot.cli.inside import look_inside, threads_option
from ingot.cli.model_options import Places, loading_options, model_argument
from ingot.cli.models import write_text_file
from ingot.cli.printable import printable, write_exactly
from ingot.cli.sizes import shape_option
from ingot.cli.units import counted
from ingot.errors import InputError, nearest

if TYPE_CHECKING:
    from ingot.tools.inspect.stages import Part, Stages

STAGES = ("typed", "specialised", "optimised", "prim", "loops", "scheduled", "llvm", "asm", "plan")

OBJECTS = "objects"
"""What can only be written to files: the machine code of each kernel that has its own."""
CHOICES = (*STAGES, OBJECTS)


@click.command(
    epilog=examples(
        "ingot dump model.onnx --at loops | less",
        "ingot dump model.onnx --at asm --kernel k3 --target aarch64",
        "ingot dump model.onnx -o stages",
    )
)
@model_argument()
@click.option("--at", "stage", type=click.Choice(CHOICES), metavar="STAGE", help=f"{', '.join(CHOICES)}.")
@click.option("--kernel", metavar="NAME", help="This kernel alone.")
@click.option("--target", metavar="NAME", help="For another machine, such as aarch64.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Write files, of all stages.")
@shape_option
@threads_option
@loading_options
def dump(
    model: str,
    stage: str | None,
    kernel: str | None,
    target: str | None,
    output: Path | None,
    shapes: dict[str, str],
    threads: int | None,
    folder: Path | None,
    trusted: tuple[Path, ...],
) -> None:
    """Show the stages of a model on its way to machine code.

    The model with types, as optimised, in primitives, as loops, scheduled,
    in LLVM's language, as assembly, and the plan it runs by.
    """
    if stage is None and output is None:
        raise click.UsageError(f"say which stage: --at {'|'.join(STAGES)}, or -o FOLDER for all")
    if stage == OBJECTS and output is None:
        raise click.UsageError(f"{OBJECTS} are files: say where to, -o FOLDER")
    from ingot.schedule.target import named

    machine = None if target is None else named(target)
    quiet = stage not in (None, "plan")
    inside = look_inside(model, Places(folder, trusted), shapes, threads, quiet=quiet, target=machine)
    from ingot.tools.inspect.stages import Stages

    stages = Stages(inside.session, inside.compiled, inside.trace, inside.sizes, machine)
    if output is None:
        assert stage is not None
        write_exactly("\n\n".join(part.text for part in _chosen(stages, stage, kernel)) + "\n")
        return
    for each in STAGES if stage is None else (stage,):
        if each == OBJECTS:
            _write_objects(stages.objects(), output / OBJECTS)
        else:
            _write(each, _chosen(stages, each, kernel), output)


def _chosen(stages: Stages, stage: str, kernel: str | None) -> list[Part]:
    """The parts of a stage, or those of one kernel; InputError if there is none of that name."""
    if kernel is not None and kernel not in stages.kernels:
        hint = nearest(kernel, stages.kernels) or "'ingot explain MODEL' lists the kernels"
        raise InputError(f"the model has no kernel '{kernel}'", hint=hint)
    parts = list(stages.parts(stage))
    chosen = [part for part in parts if part.kernel == kernel]
    return parts if kernel is None or not chosen else chosen


def _write(stage: str, parts: list[Part], folder: Path) -> None:
    """A file of a stage, or one for each kernel in a folder of its own."""
    from ingot.tools.inspect.stages import SUFFIXES

    suffix = SUFFIXES.get(stage, ".txt")
    whole = [part for part in parts if part.kernel is None]
    own = [part for part in parts if part.kernel is not None] if stage in ("llvm", "asm") else []
    if not own:
        whole = parts
        target = folder / f"{stage}{suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text_file("\n\n".join(part.text for part in whole) + "\n", str(target))
        click.echo(printable(f"wrote {target}"), err=True)
        return
    (folder / stage).mkdir(parents=True, exist_ok=True)
    for part in own:
        write_text_file(part.text + "\n", str(folder / stage / f"{part.kernel}{suffix}"))
    click.echo(printable(f"wrote {folder / stage}: {counted(len(own), 'kernel')}"), err=True)


def _write_objects(objects: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kernel, code in objects.items():
        (folder / f"{kernel}.o").write_bytes(code)
    click.echo(printable(f"wrote {folder}: {counted(len(objects), 'object')}"), err=True)
