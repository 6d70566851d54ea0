"""The fuzzer, by hand and for as long as one likes.

    PYTHONPATH=src python tests/fuzz/run.py --count 100000 --seed 1 --target decode

An input that ends in anything but a model or an error that ingot raises on purpose is written to the folder `--keep`,
with the traceback, and the run goes on; so is one that takes longer than `--seconds`. What a run tries depends on its
seed and the corpus alone: `--only N` tries input N again.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that the script finds what tests find

from fuzz import targets
from fuzz.mutate import mutated, mutated_text, mutated_words


class Stuck(BaseException):
    """An input takes too long; no `except Exception` may swallow it."""


def main() -> int:
    options = _options()
    ends: Counter[str] = Counter()
    begun = time.monotonic()
    slowest = 0.0, -1
    numbers = [options.only] if options.only is not None else range(options.start, options.start + options.count)
    with _target(options) as (make, attempt):
        for number in numbers:
            made = make(number)
            before = time.monotonic()
            try:
                with _no_longer_than(options.seconds):
                    ends[attempt(made)] += 1
            except (Exception, Stuck) as error:
                ends[f"DEFECT {type(error).__name__}"] += 1
                _keep(options, number, error)
            slowest = max(slowest, (time.monotonic() - before, number))
            if number % 10_000 == 9_999:
                print(f"{number + 1:,} inputs, {time.monotonic() - begun:.0f} s: {dict(ends)}", flush=True)  # noqa: T201
    print(  # noqa: T201
        f"{sum(ends.values()):,} inputs in {time.monotonic() - begun:.0f} s: {dict(ends)}; "
        f"the slowest took {slowest[0]:.3f} s (input {slowest[1]})"
    )
    return any(end.startswith("DEFECT") for end in ends)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="mutate models and see that ingot stands it")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--target", choices=["decode", "ort", "text", "external"], default="decode")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    return parser.parse_args()


@contextlib.contextmanager
def _target(options: argparse.Namespace) -> Iterator[tuple[Callable[[int], Any], Callable[[Any], str]]]:
    """What makes the input of a number, and what tries an input."""
    seed = options.seed
    if options.target == "decode":
        files = targets.corpus()
        yield lambda number: mutated(seed, number, files), targets.try_decode
    elif options.target == "ort":
        compiled = targets.ort_corpus()
        yield lambda number: mutated_words(seed, number, compiled), targets.try_decode
    elif options.target == "text":
        texts = targets.texts()
        yield lambda number: mutated_text(seed, number, texts), targets.try_text
    else:
        with contextlib.contextmanager(targets.external_folder)() as folder:
            yield lambda number: number, lambda number: targets.try_external(seed, number, folder)


@contextlib.contextmanager
def _no_longer_than(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise Stuck(f"still busy after {seconds} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _keep(options: argparse.Namespace, number: int, error: BaseException) -> None:
    options.keep.mkdir(parents=True, exist_ok=True)
    path = options.keep / f"{options.target}-{options.seed}-{number}"
    if options.target == "decode":
        path.with_suffix(".onnx").write_bytes(mutated(options.seed, number, targets.corpus()))
    elif options.target == "ort":
        path.with_suffix(".ort").write_bytes(mutated_words(options.seed, number, targets.ort_corpus()))
    elif options.target == "text":
        path.with_suffix(".txt").write_text(mutated_text(options.seed, number, targets.texts()), "utf-8")
    path.with_suffix(".trace").write_text("".join(traceback.format_exception(error)))
    print(f"input {number}: {type(error).__name__}: {error}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
