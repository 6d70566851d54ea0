"""Compile kernels ahead, for the wheel.

    PYTHONPATH=tests python -m release.kernel_library [--leave-out NAME...] [FOLDER]

Writes a library for each level of x86-64 to the folder, by default where a wheel has them: the kernels of the graphs in
tests/golden/graphs and of estimators for tables (`release/tabular.py`), as they are scheduled for processors of that
level. Sizes are parameters of a kernel, so that other models find theirs here, too, as far as they compute the same.
`--leave-out` shows how far that is: what is found of a model that none of the kernels comes from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from benchmarks.found_models.estimators import ESTIMATORS

from golden.zoo import NAMES, Recorder, graph_of
from ingot.cache import library
from ingot.cache.kernels import Entry
from ingot.codegen.elf import LinkedCode
from ingot.codegen.llvm.compile import code_later
from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.thread_pool import thread_pool_text
from ingot.codegen.llvm.workers import workers
from ingot.compile import Options, compile_model
from ingot.dims import Dim
from ingot.ir.model import Model
from ingot.loops.digest import digest
from ingot.loops.ir import Kernel
from ingot.loops.parametrise import parametrise
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.runtime.limits import RunLimits
from ingot.runtime.pool_code import THREAD_POOL
from ingot.runtime.processors import processors
from ingot.schedule.target import Target, named
from release.tabular import tabular_models

_V3, _V4 = named("x86-64-v3"), named("x86-64-v4")
SCHEDULED_FOR = {
    "x86-64-v3": [_V3, replace(_V3, l2=256 << 10), replace(_V3, l1=48 << 10, l2=2 << 20)],
    "x86-64-v4": [_V4, replace(_V4, cpu="znver4"), replace(_V4, l1=48 << 10, l2=2 << 20)],
}
"""Processors of each level that kernels are scheduled for: their caches differ, and how fast whole vectors are."""


def build(level: str, models: Mapping[str, Model]) -> dict[str, Entry]:
    """The entries of a library: the thread pool, and the kernels of models."""
    target, pending = named(level), dict[str, Future[Entry]]()
    workers(processors())
    pending[THREAD_POOL] = _begun(thread_pool_text(target), (), target)
    for name, model in models.items():
        for key, template in templates_of(model, SCHEDULED_FOR[level]):
            if key not in pending:
                emitted = emit(template, target)
                pending[key] = _begun(emitted.text, emitted.sizes, target)
        sys.stderr.write(f"{level}: {name}, {len(pending)} in all\n")
    return {key: future.result() for key, future in pending.items()}


def templates_of(model: Model, targets: Iterable[Target]) -> Iterator[tuple[str, Kernel]]:
    """The kernel templates of a model, scheduled for targets, each with its digest."""
    typed = prepare(model, standard(), RunLimits())
    for target in targets:
        recorder = Recorder(target)
        compile_model(typed, recorder, Options(standard(), threads=2))
        for kernel, _ in recorder.seen:
            template = parametrise(kernel).kernel
            yield digest(template), template


def _begun(text: str, sizes: tuple[Dim, ...], target: Target) -> Future[Entry]:
    def entry(code: LinkedCode) -> Entry:
        return Entry(code.code, code.entries, sizes)

    return code_later(text, target, entry)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m release.kernel_library", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", nargs="?", type=Path, default=library.FOLDER, help="where the libraries are written")
    known = (*NAMES, *ESTIMATORS)
    parser.add_argument("--leave-out", nargs="+", default=[], metavar="NAME", choices=known, help="models left out")
    options = parser.parse_args(arguments)
    models = {name: graph_of(name) for name in NAMES if name not in options.leave_out}
    models |= dict(tabular_models([name for name in ESTIMATORS if name not in options.leave_out]))
    for level in SCHEDULED_FOR:
        entries: Mapping[str, Entry] = build(level, models)
        path = options.folder / f"{level}.kernels"
        library.write(path, entries)
        sys.stdout.write(f"{path}: {len(entries)} kernels, {path.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
