"""`ingot bench` on a small model, against engines made up here."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.samples import Run, classifier
from ingot.cli.bench_page import cells, operations_text, page, seconds_text
from ingot.cli.main import main
from ingot.cli.show import show
from ingot.format import save
from ingot.tools.bench.arithmetic import Arithmetic
from ingot.tools.bench.difference import Difference
from ingot.tools.bench.results import Measured, ModelRows, Report, Row, Spread, means

ENGINES = '''
"""Engines that compute y = Relu(x @ W + b) themselves, or fail in a way of their own."""
import os, time
import numpy as np
__version__ = "7.0"
W = np.arange(1024, dtype=np.float32).reshape(32, 32)
def right(path, threads):
    assert path.endswith(".onnx") and len(os.sched_getaffinity(0)) == threads == int(os.environ["OMP_NUM_THREADS"])
    print("an engine that talks")
    return lambda feeds: [np.maximum(feeds["x"] @ W + 1, 0)]
def slow(path, threads):
    run = right(path, threads)
    def wait(feeds):
        time.sleep(0.02)
        return run(feeds)
    return wait
def wrong(path, threads):
    return lambda feeds: [np.zeros((1, 1), np.float32)]
def refusing(path, threads):
    raise ValueError("no such operator: Relu")
def dying(path, threads):
    os._exit(3)
'''

MADE_UP = ["fake:wrong", "fake:refusing", "fake:dying", "fake:slow", "fake:right"]

needs_cores = pytest.mark.skipif(sys.platform != "linux", reason="the engines look at the cores they are kept to")


@dataclass(frozen=True)
class Outcome:
    """What one run of the command gave."""

    report: dict[str, Any]
    stderr: str

    def row(self, engine: str) -> dict[str, Any]:
        [found] = [row for row in self.report["models"][0]["rows"] if row["engine"] == engine]
        return dict(found)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("bench")
    save(classifier(), folder / "model.onnx", durable=False)
    (folder / "fake.py").write_text(ENGINES, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        arguments = ["bench", "model.onnx", "--against", ",".join(MADE_UP), "--seconds", "0.05", "--json"]
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    return Outcome(json.loads(result.stdout), result.stderr)


@needs_cores
def test_every_engine_has_a_row_with_what_was_measured_or_why_nothing_was(outcome: Outcome) -> None:
    [model] = outcome.report["models"]
    assert [row["engine"] for row in model["rows"]] == ["ingot", *MADE_UP]
    assert [row["failure"] is None for row in model["rows"]] == [True, True, False, False, True, True]
    assert [row["measured"] is None for row in model["rows"]] == [False, False, True, True, False, False]
    assert outcome.row("fake:refusing")["failure"] == "ValueError: no such operator: Relu"
    assert outcome.row("fake:dying")["failure"] == "the process ended with code 3"
    assert outcome.row("fake:right")["version"] == "7.0"


@needs_cores
def test_times_are_medians_with_their_spread(outcome: Outcome) -> None:
    for engine in ("ingot", "fake:right", "fake:slow"):
        run = outcome.row(engine)["measured"]["run"]
        assert 0 < run["least"] <= run["lower"] <= run["median"] <= run["upper"]
        assert run["count"] >= 3
    assert 0.02 <= outcome.row("fake:slow")["measured"]["run"]["least"] < 0.2


@needs_cores
def test_a_ratio_is_how_much_slower_than_ingot_an_engine_is(outcome: Outcome) -> None:
    ours, theirs = outcome.row("ingot"), outcome.row("fake:slow")
    assert ours["ratio"] == 1
    assert theirs["ratio"] == theirs["measured"]["run"]["median"] / ours["measured"]["run"]["median"]
    assert outcome.report["means"]["fake:slow"] == {"1": pytest.approx(theirs["ratio"])}


@needs_cores
def test_sessions_are_created_cold_and_warm_and_memory_is_looked_at(outcome: Outcome) -> None:
    ours = outcome.row("ingot")["measured"]
    for start in ("created_cold", "created_warm"):
        assert ours[start]["median"] > 0
        assert ours[start]["count"] >= 1
    assert ours["first_run"] > 0
    assert 1 << 20 < ours["memory_before"] < ours["memory_warm"] <= ours["memory"] < 1 << 32
    assert outcome.row("fake:right")["measured"]["memory"] < ours["memory"]  # its process holds nothing of ingot


@needs_cores
def test_outputs_are_compared_with_those_of_the_last_engine_where_onnxruntime_is_not_asked(outcome: Outcome) -> None:
    assert outcome.row("fake:right")["measured"]["difference"] is None
    assert outcome.row("fake:slow")["measured"]["difference"] == {"absolute": 0, "relative": 0, "kind": None}
    assert outcome.row("ingot")["measured"]["difference"]["relative"] < 1e-5
    wrong = outcome.row("fake:wrong")["measured"]["difference"]
    assert wrong == {"absolute": "inf", "relative": "inf", "kind": "output 0 is [1, 1], not [1, 32]"}


@needs_cores
def test_arithmetic_is_counted_and_put_against_the_limit(outcome: Outcome) -> None:
    [model] = outcome.report["models"]
    assert model["arithmetic"] == {"operations": 2 * 32 * 32, "complete": True}
    limit, run = outcome.report["limits"]["1"], outcome.row("ingot")["measured"]
    assert 1e8 < limit < 1e13
    assert run["limit_share"] == pytest.approx(2048 / run["run"]["median"] / limit)


def test_inputs_are_said_and_open_sizes_are_1(outcome: Outcome) -> None:
    assert outcome.report["models"][0]["inputs"] == {"x": "float32[1, 32]"}
    assert outcome.stderr == "model.onnx: assumed to be 1: batch\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--against", "onnxruntme"], "no engine 'onnxruntme': did you mean 'onnxruntime'?"),
        (["--threads", "0"], "is not numbers from 1 to"),
        (["--threads", "100000"], "is not numbers from 1 to"),
        (["--threads", "two"], "is not numbers from 1 to"),
        (["--seconds", "0"], "is not in the range"),
    ],
)
def test_a_wrong_command_line_is_refused(run: Run, model_file: Path, arguments: list[str], says: str) -> None:
    result = run("bench", model_file.name, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_size_that_no_model_has_is_refused(run: Run, model_file: Path) -> None:
    model_file.with_name("other.onnx").write_bytes(model_file.read_bytes())
    result = run("bench", "model.onnx", "other.onnx", "--shape", "tokens=4")
    assert (result.exit_code, "named 'tokens'" in result.stderr) == (1, True)


def measured(median: float, apart: Difference | None = None) -> Measured:
    run = Spread(median, median * 0.9, median * 1.1, median * 0.8, 9)
    return Measured(run, median, run, run, 0.1, 64 << 20, 32 << 20, 16 << 20, apart, 0.5)


def test_the_page_has_a_table_for_each_model_and_number_of_threads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    failed = Row("openvino", "", 1, "not installed", None, None)
    rows = [Row("ingot", "1", 1, None, measured(0.0125, Difference(1e-3, 2.5e-7)), 1.0), failed]
    rows += [Row("onnxruntime", "1", 1, None, measured(0.025), 2.0)]
    models = [ModelRows(name, {"x": "float32[1, 8]"}, Arithmetic(3_630_000_000, True), rows) for name in ("a", "b")]
    show(page(Report("a processor", "3.11", 2.5, {1: 115e9}, models, means(models))))
    assert capsys.readouterr().out.splitlines() == [
        *(
            line
            for name in ("a", "b")
            for line in (
                f"{name}, 1 thread (x float32[1, 8], 3.63 GFLOP)",
                "  engine        median  spread  ratio  limit     cold     warm  memory    apart",
                "  ingot        12.5 ms    ±10%   1.00    50%  12.5 ms  12.5 ms  64 MiB  2.5e-07",
                "  onnxruntime  25.0 ms    ±10%   2.00    50%  25.0 ms  25.0 ms  64 MiB",
                "  openvino  failed: not installed",
                "",
            )
        ),
        "geometric mean of the ratios",
        "  onnxruntime, 1 thread  2.00",
        "",
        "limit (float32 GFLOP/s of a loop of multiply-adds: 115 with 1 thread)",
        "",
        "busy (2.5 other processes wanted a core: measure again when they are done)",
    ]


def test_a_ratio_that_is_small_is_not_zero() -> None:
    found = [cells(Row("onnxruntime", "1", 1, None, measured(0.001), ratio))[3] for ratio in (0.00079, 0.4, 12.5)]
    assert found == ["8e-04", "0.40", "12.50"]


def test_quantities_have_three_digits_and_a_unit() -> None:
    times = (3e-9, 9.999e-7, 1.25e-6, 0.9996e-3, 0.0125, 0.125, 1.0, 125.0)
    assert [seconds_text(seconds) for seconds in times] == [
        *("3.00 ns", "1.00 µs", "1.25 µs", "1.00 ms", "12.5 ms", "125 ms", "1.00 s", "125 s"),
    ]
    counts = (0, 999, 1000, 999_600, 3_630_000_000, 10**16)
    assert [operations_text(Arithmetic(count, True)) for count in counts] == [
        *("0 FLOP", "999 FLOP", "1.00 kFLOP", "1.00 MFLOP", "3.63 GFLOP", "10000 TFLOP"),
    ]
    assert operations_text(Arithmetic(5, False)) == "at least 5 FLOP"
