from __future__ import annotations

import errno
from pathlib import Path

import click
import pytest

from cli.samples import Run
from ingot.cli import info as info_module
from ingot.cli.main import COMMANDS, main
from ingot.errors import CompileError, InputError
from ingot.version import __version__

PAGES = [(), *((name,) for name in COMMANDS), ("meta", "get"), ("meta", "set")]


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make `ingot info` raise `error`."""

    def summarise(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(info_module, "summarise", summarise)


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_each_help_page_fits_a_screen_and_has_an_example(run: Run, page: tuple[str, ...]) -> None:
    for flag in ("--help", "-h"):
        result = run(*page, flag, env={"COLUMNS": "80"})
        assert result.exit_code == 0
        lines = result.stdout.splitlines()
        assert len(lines) <= (24 if page else 45)  # the list of commands grows by a line with each
        assert max(map(len, lines)) <= 80
        assert "Examples:\n    ingot " in result.stdout


def test_the_list_of_commands_says_what_each_command_says_itself(run: Run) -> None:
    page = run("--help").stdout
    for name, said in COMMANDS.items():
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.get_short_help_str(100) == said
        assert said in page


def test_the_version_is_the_package_s(run: Run) -> None:
    assert run("--version").stdout == f"ingot {__version__}\n"


def test_a_wrong_command_line_exits_with_2(run: Run) -> None:
    for arguments in (["nope"], ["info"], ["info", "m.onnx", "--nope"], ["info", "m.onnx", "--largest", "-1"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Usage: ingot" in result.stderr
        assert result.stdout == ""


def test_a_missing_file_is_named_with_what_may_have_been_meant(run: Run, model_file: Path) -> None:
    result = run("info", "modle.onnx")
    assert result.exit_code == 1
    assert result.stderr == "error: no such file or directory: 'modle.onnx'\n  hint: did you mean 'model.onnx'?\n"
    assert model_file.exists()


def test_a_folder_is_no_model(run: Run) -> None:
    result = run("info", ".")
    assert (result.exit_code, result.stderr) == (1, "error: is a directory: '.'\n")


def test_bytes_that_are_no_model_are_an_error_that_names_the_file(run: Run) -> None:
    Path("junk.onnx").write_bytes(b"\xff\xff\xff")
    result = run("info", "junk.onnx")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "  of junk.onnx\n" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_error_shows_where_and_its_hint(run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, InputError("no good", where=("in node 'a'", "x = y"), hint="try b"))
    result = run("info", model_file.name)
    assert result.exit_code == 1
    assert result.stderr == "error: no good\n  in node 'a'\n  x = y\n  hint: try b\n"


def test_control_characters_in_an_error_do_not_reach_the_terminal(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, InputError("no '\x1b[2J'", where=("in '\x9b31m'",), hint="\r!"))
    assert run("info", model_file.name).stderr == "error: no '\\x1b[2J'\n  in '\\x9b31m'\n  hint: \\r!\n"


def test_a_bug_of_ours_exits_with_3_and_asks_for_a_report(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (ZeroDivisionError("division by zero"), RecursionError("too deep"), AssertionError()):
        fail_with(monkeypatch, error)
        result = run("info", model_file.name)
        assert result.exit_code == 3
        assert "Traceback (most recent call last)" in result.stderr
        assert f"error: ingot has a defect: {type(error).__name__}: {error}\n  please report it" in result.stderr
        assert result.stdout == ""


def test_a_compile_error_is_a_bug_of_ours(run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, CompileError("no such kernel", hint="the dump is in /tmp/x"))
    result = run("info", model_file.name)
    assert result.exit_code == 3
    assert "error: no such kernel\n  hint: the dump is in /tmp/x\n  please report it" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"), [(["--traceback"], {}), ([], {"INGOT_DEBUG": "1"})], ids=["option", "environment"]
)
def test_a_traceback_can_be_asked_for(run: Run, arguments: list[str], environment: dict[str, str]) -> None:
    result = run(*arguments, "info", "nope.onnx", env=environment)
    assert result.exit_code == 1
    assert result.stderr.startswith("Traceback (most recent call last)")
    assert result.stderr.endswith("error: no such file or directory: 'nope.onnx'\n")


def test_running_out_of_memory_is_said_plainly(run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, MemoryError())
    result = run("info", model_file.name)
    assert (result.exit_code, result.stderr) == (1, "error: out of memory\n")


def test_an_interrupt_exits_with_130_and_says_nothing(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    result = run("info", model_file.name)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


def test_a_full_disk_is_said_with_the_file_and_leaves_the_old_one(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model_file.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ingot.cli.models.save", full)
    result = run("meta", "set", model_file.name, "a=b")
    assert (result.exit_code, result.stderr) == (1, "error: no space left on device: 'model.onnx'\n")
    assert model_file.read_bytes() == before
