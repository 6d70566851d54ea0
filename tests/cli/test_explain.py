"""`ingot explain`: what it says of every node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.samples import Run

MIXED = """<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4]>
g (float[n, 4] x, bool c) => (float[m] y) <int64[1] flat = {-1}, float[4, 4] w = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> {
  [same] i = Identity (x)
  [flat] f = Concat <axis = 0> (flat)
  [unused] u = Exp (x)
  [product] p = MatMul (i, w)
  [bias] a = Add (p, i)
  [branch] b = If (c) <
    then_branch = t () => (float[n, 4] a1) {
      a1 = ai.onnx.ml.LabelEncoder <keys_floats = [0.0], values_floats = [1.0]> (a)
    },
    else_branch = e () => (float[n, 4] a2) { a2 = Neg (a) }
  >
  [reshape] r = Reshape (b, f)
  [last] y = Abs (r)
}"""


def explained(run: Run, *arguments: str) -> str:
    Path("mixed.onnxtxt").write_text(MIXED, "utf-8")
    result = run("explain", "mixed.onnxtxt", "--threads", "1", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_every_node_is_explained(run: Run) -> None:
    page = explained(run, "--seconds", "0", "--shape", "n=5")
    lines = [line.split() for line in page.splitlines()]
    for name in ("same", "flat", "unused", "product", "bias", "branch", "reshape", "last"):
        assert any(name in words for words in lines), name
    assert "  10 nodes: 4 computed in 3 kernels, 1 read in place, 1 passed on, " in page
    assert "2 on the reference, 2 optimised away" in page


def test_a_node_on_the_reference_has_the_reason(run: Run) -> None:
    page = explained(run, "--seconds", "0")
    assert (
        "on the reference\n  LabelEncoder  a1      keys that are no integers\n"
        "  If            branch  LabelEncoder in it: keys that are no integers; compiled: else_branch b2\n" in page
    )
    assert "stores  a2: float32[n, 4]; what the body gives" in page
    assert "stores  a: float32[n, 4]; the reference reads it, for If 'branch'" in page


def test_what_was_fused_is_in_one_kernel(run: Run) -> None:
    found = json.loads(explained(run, "--seconds", "0", "--shape", "n=5", "--json"))
    nodes = {node["node"]: node for node in found["nodes"]}
    assert nodes["product"]["kernels"] == nodes["bias"]["kernels"]
    assert (nodes["product"]["provider"], nodes["branch"]["provider"]) == ("cpu", "reference")
    assert nodes["branch"]["reason"] == "LabelEncoder in it: keys that are no integers; compiled: else_branch b2"
    first = found["kernels"][0]
    assert [found["nodes"][place]["node"] for place in first["nodes"]] == ["product", "bias"]
    assert (first["operators"], first["amount"]) == ("MatMul+Add", "5×4×4")
    assert first["operations"] == 2 * 5 * 4 * 4 + 5 * 4
    assert first["seconds"] is None


def test_times_add_up(run: Run) -> None:
    found = json.loads(explained(run, "--seconds", "0.01", "--json"))
    assert found["seconds"] > 0
    assert found["seconds_on_the_reference"] > 0
    assert sum(kernel["seconds"] for kernel in found["kernels"]) == found["seconds_in_kernels"]
    calls = [node["seconds"] for node in found["nodes"] if node["provider"] == "reference"]
    assert sum(filter(None, calls)) == pytest.approx(found["seconds_on_the_reference"])


def test_the_page_has_times_and_shares(run: Run) -> None:
    page = explained(run, "--seconds", "0.01")
    assert page.splitlines()[1].split() == ["kernel", "size", "bytes", "time", "share"]
    assert " a run: " in page.splitlines()[-1]
    assert "% on the reference" in page.splitlines()[-1]


def test_names_have_the_width_of_the_page_to_themselves(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    page = explained(run, "--seconds", "0", "--shape", "n=5")
    kernel, *parts = page.splitlines()[2:6]
    assert kernel.split() == ["k1", "5×4×4", "224", "B"]
    assert [part[:10].isspace() and part[10] != " " for part in parts] == [True] * 3
    assert max(map(len, page.splitlines())) <= 60


def test_sizes_that_nobody_gives_are_said_to_be_one(run: Run, model_file: Path) -> None:
    result = run("explain", str(model_file), "--seconds", "0")
    assert "assumed to be 1: batch (give --shape batch=N)" in result.stderr
