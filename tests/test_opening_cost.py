"""What opening a model costs, by counts: of calls of Python functions, so that nothing grows faster than a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ingot import parse_model
from ingot.compile import optimise
from ingot.fuse.fuse import fuse
from ingot.ir.model import Model
from ingot.lower.graph import lower_graph
from ingot.lower.roots import roots_of
from ingot.lower.specialise import specialise
from ingot.ops.catalog import standard
from ingot.passes.pipeline import PIPELINE, passes_before_types, run_concerned, session_passes
from ingot.prepare import prepare
from ingot.providers.cpu import Cpu
from ingot.runtime.limits import RunLimits
from ingot.schedule.schedule import schedule

CHAINS = {
    "elementwise": ("Add ({x}, c)", "Tanh ({x})", "Relu ({x})"),
    "products": ("MatMul ({x}, w)", "Relu ({x})"),
    "views": ("Transpose ({x})", "Relu ({x})"),
    "computed sizes": ("NonZero ({x})", "Cast <to: int = 1> ({x})"),
}


def chain(kind: str, nodes: int, size: str) -> Model:
    lines, value = [], "x"
    for index in range(nodes):
        result = "y" if index == nodes - 1 else f"v{index}"
        operators = CHAINS[kind]
        lines.append(f"{result} = {operators[index % len(operators)].format(x=value)}")
        value = result
    weights = f"<float[4] c = {{1, 2, 3, 4}}, float[4, 4] w = {{{', '.join('1' * 16)}}}>"
    return parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> g (float[{size}, 4] x) => (y) {weights} {{ {" ".join(lines)} }}'
    )


def opened(model: Model) -> None:
    """The stages of a session, without LLVM."""
    catalog, cpu = standard(), Cpu()
    specialised = specialise(prepare(model, catalog, RunLimits()), catalog, 2)
    optimised = optimise(specialised, 2, catalog)
    program = lower_graph(optimised.model, optimised.facts, catalog, optimised.guards)
    outputs = tuple(program.values[value] for value in optimised.model.graph.outputs)
    schedule(fuse(roots_of(program, outputs), cpu.limits()), cpu.target)


def calls_of(function: Callable[[], Any]) -> int:
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("size", ["4", "n"])
@pytest.mark.parametrize("kind", CHAINS)
def test_a_chain_twice_as_long_takes_about_twice_the_calls(kind: str, size: str) -> None:
    models = [chain(kind, nodes, size) for nodes in (24, 96, 192)]
    _, short, long = (calls_of(partial(opened, model)) for model in models)  # the first imports operators
    assert long < 2.3 * short


def test_types_are_inferred_once_where_nothing_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    model = chain("elementwise", 6, "n")
    prepared = prepare(model, standard(), RunLimits())
    monkeypatch.setattr("ingot.infer.driver.Inference.node", _never)
    specialised = specialise(prepared, standard(), 2)
    names = {value.name: fact for value, fact in specialised.facts.items()}
    assert names.keys() == {"x", "c", "w", "y", *(f"v{index}" for index in range(5))}
    assert {value.name: fact for value, fact in prepared.facts.items()} == names
    assert all(value.graph is specialised.model.graph for value in specialised.facts)


def test_types_are_inferred_again_where_a_size_has_no_name_yet() -> None:
    prepared = prepare(chain("computed sizes", 2, "n"), standard(), RunLimits())
    specialised = specialise(prepared, standard(), 2)
    result = next(fact for value, fact in specialised.facts.items() if value.name == "y")
    assert result.shape is not None
    assert None not in result.shape


def test_passes_that_concern_no_operator_of_a_model_do_not_run() -> None:
    model = chain("elementwise", 3, "n")
    ran: list[str] = []
    names = [entry.name for entry in PIPELINE if entry.session is not None]

    def note(name: str, _: Model) -> int:
        ran.append(name)
        return 0

    assert run_concerned({name: partial(note, name) for name in names}, model) == dict.fromkeys(names, 0)
    assert ran == [entry.name for entry in PIPELINE if entry.session is not None and not entry.concerns]


def test_passes_run_for_operators_that_others_brought() -> None:
    model = chain("elementwise", 3, "n")
    passes = {**passes_before_types(1), **session_passes(2)}
    ran: list[str] = []

    def bring(model: Model) -> int:
        next(iter(model.graph)).op_type = "Pad"
        return 1

    def note(_: Model) -> int:
        ran.append("padding")
        return 0

    assert "absorb padding" in passes
    assert run_concerned({"fold constants": bring, "absorb padding": note}, model) == {
        "fold constants": 1,
        "absorb padding": 0,
    }
    assert ran == ["padding"]


def test_kernels_that_reduce_nothing_are_no_candidates_to_be_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.schedule.merge_reductions.collapse", _never)
    opened(chain("elementwise", 6, "n"))


def _never(*_: Any) -> None:
    raise AssertionError("done in vain")


def test_what_a_session_does_not_run_is_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys, ingot; ingot.Session(ingot.parse_model(sys.argv[1]), providers=['cpu']); "
        "print(*(name for name in sys.modules if name.startswith(('ingot.', 'fractions'))))"
    )
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (y) { y = Relu (x) }'
    environment = {**os.environ, "INGOT_CACHE": str(tmp_path), "INGOT_DEBUG": ""}
    command = [sys.executable, "-c", program, text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "ingot.passes.fold" in imported
    assert imported.isdisjoint(
        f"ingot.passes.{name}" for name in ("attention", "recognise", "cse", "padding", "growing")
    )
    assert "ingot.codegen.llvm.loops" in imported
    assert imported.isdisjoint(f"ingot.codegen.llvm.{name}" for name in ("product", "sort", "math.exponential"))
    assert imported.isdisjoint(("ingot.runtime.plan_file", "ingot.keep_plan", "fractions"))
    assert "ingot.builder.operators" in imported
    assert imported.isdisjoint(("ingot.builder.tracing", "ingot.builder.functions", "ingot.passes.round_products"))
    assert imported.isdisjoint(
        f"ingot.{name}" for name in ("prim.verify", "loops.verify", "fuse.verify", "lower.outline")
    )
