"""The guide shows what happens: its commands are run, in order, and what they print is compared."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from cli.samples import Run
from models import real_models

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"


def shown() -> Iterator[tuple[str, str]]:
    """Each command of the guide, and what it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def test_every_command_prints_what_the_guide_shows(run: Run) -> None:
    [model] = [path for path in real_models() if path.name == "silero_vad_half.onnx"]
    shutil.copyfile(model, "vad.onnx")
    commands = list(shown())
    assert len(commands) > 10
    for command, output in commands:
        program, *arguments = shlex.split(command)
        assert program == "ingot"
        if "|" not in arguments:
            assert run(*arguments, env={"COLUMNS": "80"}).output == output, command
