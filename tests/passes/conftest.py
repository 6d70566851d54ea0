"""In these tests a session runs the passes that it would skip, too: they have to change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ingot.ir.model import Model
from ingot.lower import specialise
from ingot.passes import before_lowering
from ingot.passes.pipeline import PIPELINE


@pytest.fixture(autouse=True)
def skipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How many models each pass would have been skipped for; AssertionError after a test if it changed one."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    concerns = {entry.name: set(entry.concerns) for entry in PIPELINE}

    def run_all(passes: Mapping[str, Callable[..., int]], model: Model, *arguments: Any) -> dict[str, int]:
        changed: dict[str, int] = {}
        for name, run in passes.items():
            before = list(model.nodes())
            is_skipped = bool(concerns[name]) and concerns[name].isdisjoint(node.op_type for node in before)
            changed[name] = run(model, *arguments)
            if is_skipped:
                counts[name] += 1
                if changed[name] or list(model.nodes()) != before:
                    wrong.append(name)
        return changed

    monkeypatch.setattr(specialise, "run_concerned", run_all)
    monkeypatch.setattr(before_lowering, "run_concerned", run_all)
    yield counts
    assert not wrong
