"""`ingot profile`: the table, its sums, and the trace."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import ingot
from cli.samples import Run
from ingot.cli.profile_page import COLUMNS

LAYERS = """<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4]>
g (float[n, 16] x, bool c) => (float[n, 16] y) <float[16, 16] w = {WEIGHTS}> {
  a = MatMul (x, w)
  b = Relu (a)
  d = Softmax (b)
  e = MatMul (d, w)
  f = Relu (e)
  s = Softmax (f)
  y = If (c) <
    then_branch = t () => (float[n, 16] g) {
      g = ai.onnx.ml.LabelEncoder <keys_floats = [0.0], values_floats = [1.0]> (s)
    },
    else_branch = u () => (float[n, 16] g) { g = Neg (s) }
  >
}"""


@pytest.fixture
def layers(run: Run) -> str:  # noqa: ARG001 - it changes to the folder
    """A model of two layers alike and a node for the reference, in a file."""
    text = LAYERS.replace("WEIGHTS", ", ".join(["0.5"] * 256))
    ingot.save(ingot.parse_model(text), "layers.onnx", durable=False)
    return "layers.onnx"


def test_kernels_that_are_alike_have_one_row(run: Run, layers: str) -> None:
    result = run("profile", layers, "--shape", "n=8", "--threads", "1", "--seconds", "0.01")
    assert result.exit_code == 0, result.stderr
    page = result.stdout.splitlines()
    assert page[0].startswith("layers.onnx, 1 thread, ")
    assert page[1].split() == list(COLUMNS)
    (products,) = [line.split() for line in page if "MatMul+Relu 8×16×16" in line]
    assert products[3] == "2"  # calls, after the time, its unit and the share
    (call,) = [line for line in page if "If on the reference" in line]
    assert "  -  " in call


def test_each_kernel_can_have_its_own_row(run: Run, layers: str) -> None:
    page = run("profile", layers, "--shape", "n=8", "--threads", "1", "--seconds", "0.01", "--each").stdout
    assert page.count("MatMul+Relu 8×16×16") == 2


def test_rows_are_sorted_by_time_and_sums_are_of_them(run: Run, layers: str) -> None:
    result = run("profile", layers, "--shape", "n=8", "--seconds", "0.02", "--json")
    found = json.loads(result.stdout)
    kernels = [step for step in found["steps"] if step["kernel"] is not None]
    assert [step["kernel"] for step in kernels] == ["k1", "k2", "k3", "k4", "b2k1"]
    products = [step for step in kernels if step["title"] == "MatMul+Relu 8×16×16"]
    assert [step["operations"] for step in products] == [2 * 8 * 16 * 16 + 8 * 16] * 2
    assert [step["bytes_read"] for step in products] == [4 * (8 * 16 + 16 * 16)] * 2
    assert [step["bytes_written"] for step in products] == [4 * 8 * 16] * 2
    assert found["runs"] >= 3
    assert found["whole"] > 0
    assert found["inputs"] == {"x": "float32[8, 16]", "c": "bool[]"}


def test_the_trace_has_every_step_once_and_in_order(run: Run, layers: str) -> None:
    result = run("profile", layers, "--shape", "n=8", "--seconds", "0.01", "--trace", "run.json")
    assert "wrote run.json" in result.stderr
    every = json.loads(Path("run.json").read_text("utf-8"))["traceEvents"]
    events = [event for event in every if event["ph"] == "X" and event["cat"] != "piece"]
    assert [event["cat"] for event in events] == ["kernel"] * 4 + ["reference", "kernel"]
    *before, call, inside = events
    for one, other in pairwise([*before, call]):
        assert one["ts"] + one["dur"] <= other["ts"] + 1e-3
    assert call["ts"] <= inside["ts"]
    assert inside["ts"] + inside["dur"] <= call["ts"] + call["dur"] + 1e-3
    assert events[0]["args"]["nodes"] == ["a", "b"]


def test_sizes_come_from_what_the_model_asks_for(run: Run, layers: str) -> None:
    asked = 'ingot.bench={"shapes": {"x": [6, 16]}}'
    assert run("meta", "set", layers, asked).exit_code == 0
    page = run("profile", layers, "--seconds", "0.01").stdout
    assert "(x float32[6, 16], c bool[])" in page.splitlines()[0]
    assert "MatMul+Relu 6×16×16" in page


def test_a_page_shows_the_profile(run: Run, layers: str) -> None:
    result = run("profile", layers, "--shape", "n=8", "--seconds", "0.01", "--html", "costs.html")
    assert result.exit_code == 0, result.stderr
    assert "costs.html" in result.stderr
    page = Path("costs.html").read_text("utf-8")
    assert '"profile":{"whole":' in page
    assert "weight/" not in page.split('id="saved">')[1].split("</script>")[0]


def test_a_trace_has_the_pieces_of_threads(run: Run, layers: str) -> None:
    assert run("profile", layers, "--shape", "n=8", "--seconds", "0.01", "--trace", "run.json").exit_code == 0
    events = json.loads(Path("run.json").read_text("utf-8"))["traceEvents"]
    pieces = [event for event in events if event.get("cat") == "piece"]
    assert {"k1", "k2", "k3", "k4"} <= {event["args"]["kernel"] for event in pieces}
    assert [event["args"]["name"] for event in events if event["ph"] == "M"] == [
        "kernels one by one",
        "kernels by thread",
    ]
