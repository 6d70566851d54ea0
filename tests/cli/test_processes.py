"""Real runs: exit codes, pipes, streams, signals and terminals as a shell sees them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from child_processes import started
from cli.samples import classifier
from ingot.format import load, save
from interruptible import interruptible

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and terminals of POSIX")

INGOT = [sys.executable, "-W", "error", "-m", "ingot"]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "INGOT_DEBUG")}
    source = Path(__file__).parents[2] / "src"
    return kept | {"PYTHONPATH": str(source), "TERM": "xterm-256color"} | changes


def ran(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [*INGOT, *map(str, arguments)], stderr=subprocess.PIPE, env=environment(), check=False, timeout=60, **options
    )


def on_a_terminal(*arguments: str | Path, stream: str = "stdout", **changes: str) -> tuple[int, str]:
    """The exit code, and what came on `stream`, which is a terminal of 80 columns."""
    import pty

    leader, follower = pty.openpty()
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [*INGOT, *map(str, arguments)]
    with started(command, env=environment(**changes), **{**streams, stream: follower}) as process:
        os.close(follower)
        content = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # Linux's way to say that nobody writes any more
                break
            if not part:
                break
            content += part
        os.close(leader)
        return process.wait(60), content.decode().replace("\r\n", "\n")


def test_exit_codes(model_file: Path, tmp_path: Path) -> None:
    assert ran("info", model_file).returncode == 0
    missing = ran("info", tmp_path / "nope.onnx")
    assert (missing.returncode, missing.stdout) == (1, b"")
    assert missing.stderr.startswith(b"error: no such file or directory")
    assert ran("info", model_file, "--nope").returncode == 2


def test_a_pipeline_of_commands(model_file: Path) -> None:
    command = (
        "$INGOT extract - - --outputs sum < model.onnx | $INGOT meta set - a=1 | $INGOT external - --embed | "
        "$INGOT info - --json"
    )
    found = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment(INGOT=" ".join(INGOT)),
        cwd=model_file.parent,
        capture_output=True,
        check=True,
        timeout=60,
    )
    facts = json.loads(found.stdout)
    assert facts["metadata"]["a"] == "1"
    assert [port["name"] for port in facts["outputs"]] == ["sum"]


def test_a_binary_model_goes_through_stdout_unchanged(model_file: Path, tmp_path: Path) -> None:
    with open(model_file, "rb") as source, open(tmp_path / "out.onnx", "wb") as out:
        assert ran("meta", "set", "-", "a=1", stdin=source, stdout=out).returncode == 0
    assert load(tmp_path / "out.onnx").metadata["a"] == "1"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path, unbuffered: str) -> None:
    model = classifier()
    model.metadata["long"] = "x" * (1 << 20)
    save(model, tmp_path / "m.onnx", durable=False)
    for arguments in (
        ["text"],
        ["meta", "get", "--json"],
        ["info", "--json"],
        ["meta", "set", "-o", "-", "--doc-string", "x"],
    ):
        with started(
            [*INGOT, *arguments, str(tmp_path / "m.onnx")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(PYTHONUNBUFFERED=unbuffered),
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_of_one_line(model_file: Path) -> None:
    for arguments in (["info"], ["text"], ["meta", "get", "--json"], ["meta", "set", "-o", "-", "--doc-string", "x"]):
        with open("/dev/full", "wb") as full:
            result = ran(*arguments, model_file, stdout=full)
        assert (result.returncode, result.stderr) == (1, b"error: no space left on device\n")


def test_devices_and_pipes_are_written_to_and_not_replaced(model_file: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for arguments in (["meta", "set", model_file, "a=1", "-o", fifo], ["text", model_file, "-o", fifo]):
        with started([*INGOT, *map(str, arguments)], env=environment()) as process:
            content = fifo.read_bytes()
            assert process.wait(60) == 0
        assert content
        assert fifo.is_fifo()
    link = Path("/dev/stdout").readlink()
    assert b"MatMul" in ran("text", model_file, "-o", "/dev/stdout").stdout
    assert Path("/dev/stdout").readlink() == link


def test_ctrl_c_exits_with_130_and_says_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "model.onnx"
    os.mkfifo(fifo)
    with started(
        interruptible([sys.executable, "-m", "ingot", "info", str(fifo)]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        with open(fifo, "wb"):  # waits until the run has opened it to read
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout, stderr) == (130, b"", b"")


def test_a_closed_stdout_does_no_harm(model_file: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", '"$@" >&-', "-", *INGOT, "info", str(model_file)],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_names_that_the_encoding_cannot_say_are_escaped(tmp_path: Path) -> None:
    save(classifier(source="名"), tmp_path / "m.onnx", durable=False)
    for encoding in ("ascii", "latin-1"):
        found = {
            command: subprocess.run(
                [*INGOT, command, str(tmp_path / "m.onnx")],
                env=environment(PYTHONIOENCODING=encoding),
                capture_output=True,
                check=True,
                timeout=60,
            ).stdout
            for command in ("info", "text")
        }
        assert rb"\u540d  float32" in found["info"]
        assert "名" in found["text"].decode()


def test_a_terminal_gets_styles_and_a_pipe_or_no_color_does_not(model_file: Path) -> None:
    code, page = on_a_terminal("info", model_file)
    assert (code, "\x1b[1minputs\x1b[0m" in page) == (0, True)
    for name in ("NO_COLOR", "COLUMNS"):
        code, plain = on_a_terminal("info", model_file, **{name: "90"})
        assert (code, "\x1b" in plain) == (0, name != "NO_COLOR")
    assert b"\x1b" not in ran("info", model_file).stdout
    assert on_a_terminal("info", "nope", stream="stderr")[1].startswith("\x1b[31m\x1b[1merror:\x1b[0m no such file")
    assert on_a_terminal("info", "nope", stream="stderr", NO_COLOR="1")[1].startswith("error: no such file")


def test_a_terminal_is_no_place_for_a_binary_model(model_file: Path, tmp_path: Path) -> None:
    save(classifier(source="\x1b[2J"), tmp_path / "m.onnx", durable=False)
    refused: list[list[str | Path]] = [
        ["meta", "set", model_file, "a=1", "-o", "-"],
        ["extract", model_file, "-", "--outputs", "sum"],
        ["join", model_file, model_file, "-"],
        ["external", model_file, "--embed", "-o", "-"],
    ]
    for arguments in refused:
        assert on_a_terminal(*arguments) == (2, "")
    code, said = on_a_terminal("info", "-", stream="stdin")
    assert (code, said) == (2, "")
    assert "\x1b[2J" not in on_a_terminal("text", tmp_path / "m.onnx")[1]


def test_help_imports_no_command_and_plain_output_no_rich(model_file: Path) -> None:
    script = "import sys; from ingot.cli.main import main\ntry: main({})\nexcept SystemExit: print(*sys.modules)"
    for arguments, absent in ((["--help"], "ingot.cli.info"), (["info", str(model_file), "--json"], "rich")):
        loaded = subprocess.run(
            [sys.executable, "-c", script.format(arguments)],
            env=environment(),
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        )
        assert absent not in loaded.stdout.split()
