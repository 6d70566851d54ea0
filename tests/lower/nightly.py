"""Many random graphs, in processes that may crash, and a record of how they went: `python tests/lower/nightly.py`.

What is wrong with a graph is recorded with its seed and the smallest model that still shows it.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lower.compared import Tally, check, takes, wrong
from lower.random_graphs import Drawn
from lower.random_nodes import random_model
from lower.shares import small_shares
from lower.smaller import shown, smaller

CHUNK = 250
"""Graphs of one process."""

RESULT = Path(__file__).with_name("nightly.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="that of the first graph")
    parser.add_argument("--minutes", type=float, help="end after these, with what there is")
    parser.add_argument("--result", type=Path, default=RESULT, help=f"where the record goes, by default {RESULT.name}")
    parser.add_argument("--chunk", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.chunk is not None:
        _chunk(arguments.seed, arguments.chunk)
        return
    begin = time.monotonic()
    whole, failures, seed = Tally(), list[dict[str, Any]](), arguments.seed
    last = arguments.seed + arguments.count
    while seed < last and (arguments.minutes is None or time.monotonic() - begin < 60 * arguments.minutes):
        reached, tally, found = _run(seed, min(CHUNK, last - seed))
        whole.add(tally)
        failures += found
        seed = reached
        seconds = round(time.monotonic() - begin)
        print(f"{seed - arguments.seed:,} graphs, {len(failures)} wrong, {seconds} s", flush=True)
        record = {"seed": arguments.seed, "seconds": seconds, **asdict(whole), "wrong": failures}
        arguments.result.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(bool(failures))


def _run(first: int, count: int) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """A process of its own: the seed after the last one it came to, what it compared, and what was wrong."""
    command = [sys.executable, __file__, "--seed", str(first), "--chunk", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = [line for line in lines if "wrong" in line]
    if done.returncode == 0:
        return first + count, lines[-1], found
    reached = max((line["seed"] for line in lines if "seed" in line), default=first)
    crash = {"seed": reached, "wrong": f"the process ended with {done.returncode}", "model": done.stderr[-2000:]}
    return reached + 1, {"graphs": reached - first}, [*found, crash]


def _chunk(first: int, count: int) -> None:
    tally = Tally()
    with small_shares():
        for seed in range(first, first + count):
            print(json.dumps({"seed": seed}), flush=True)
            drawn = random_model(seed)
            try:
                check(drawn, tally)
            except Exception as error:  # a defect: whatever it is, it is recorded
                said = f"{type(error).__name__}: {error}"
                print(json.dumps({"seed": seed, "wrong": said, "model": _smallest(drawn)}), flush=True)
    print(json.dumps(asdict(tally)))


def _smallest(drawn: Drawn) -> str:
    """A small model that is wrong in one run; empty if only several runs together show it."""
    for sizes in drawn.bindings:
        for level in [level for level in (0, 1, 2) if level == 0 or takes(drawn, level)]:
            first = _wrong(drawn.model, drawn.feeds(sizes), level)
            if first is not None:
                kind = first[:10]

                def still(model: Any, feeds: Any, level: int = level, kind: str = kind) -> str | None:
                    said = _wrong(model, feeds, level)
                    return said if said is not None and said.startswith(kind) else None

                model, _ = smaller(drawn.model, drawn.feeds(sizes), still)
                return f"{sizes}, level {level}\n{shown(model)}"
    return ""


def _wrong(model: Any, feeds: Any, level: int) -> str | None:
    try:
        return wrong(model, feeds, level)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
