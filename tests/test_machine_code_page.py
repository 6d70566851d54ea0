"""What `docs/how-a-model-becomes-machine-code.md` shows is what the commands print.

`python tests/test_machine_code_page.py --write` writes what they print into the page.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli.main import main
from ingot.codegen.llvm.host import host

PAGE = Path(__file__).parents[1] / "docs" / "how-a-model-becomes-machine-code.md"
MODEL = re.compile(r"^```text\n(<ir_version.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```console\n\$ (ingot [^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FOR_THIS_PROCESSOR = ("scheduled", "llvm", "asm")
COMMANDS: list[tuple[str, str]] = COMMAND.findall(PAGE.read_text("utf-8"))


def printed(command: str) -> str:
    """What a command prints, in the folder at hand; what is behind a pipe is run by the shell."""
    first, _, rest = command.partition(" | ")
    result = CliRunner().invoke(main, shlex.split(first)[1:], prog_name="ingot", env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.stderr
    if not rest:
        return result.stdout
    return subprocess.run(rest, shell=True, input=result.stdout, capture_output=True, text=True, check=True).stdout


def write_model(folder: Path) -> None:
    found = MODEL.search(PAGE.read_text("utf-8"))
    assert found is not None
    (folder / "block.onnxtxt").write_text(found[1], "utf-8")


def is_shown_here(command: str) -> bool:
    """Whether this processor is of the kind that the page shows the code of."""
    target = host()
    same = target.triple.startswith("x86_64") and target.vector == 64
    return same or not any(f"--at {stage}" in command for stage in FOR_THIS_PROCESSOR)


def alike(text: str) -> str:
    """Code without the registers and places in memory, which LLVM may choose differently for each processor."""
    return re.sub(r"-?\d*\(%.*?\)", "(%)", re.sub(r'%("\.\d+"|[a-z]+\d*)', "%", text))


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_page_shows_what_a_command_prints(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    shown = printed(command)
    assert shown
    if is_shown_here(command):
        assert alike(shown) == alike(output)


def test_the_page_shows_the_stages() -> None:
    shown = " ".join(command for command, _ in COMMANDS)
    for stage in ("typed", "optimised", "prim", "loops", "scheduled", "llvm", "asm", "plan"):
        assert f"--at {stage}" in shown


def write() -> None:
    """Put what the commands print into the page."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_model(Path(folder))
        text = PAGE.read_text("utf-8")
        PAGE.write_text(COMMAND.sub(lambda found: f"```console\n$ {found[1]}\n{printed(found[1])}```", text), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
