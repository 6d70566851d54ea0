"""One first start, in this process: `python -m benchmarks.opening ENGINE MODEL FEEDS [parts]` prints it as JSON.

`import`, `create` and `run` are the seconds of importing the engine (numpy among it), of creating a session, and of its
first run; `processor` is the processor time of this process in the latter two, and `own` in all its life. `process` is
how long it is from the moment in the environment variable BEGUN (of `monotonic`) to the end of that run: with the start
of Python, as a user sees it. With `parts`, the processor time of each stage of ingot is there too, without the imports
in it.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from time import monotonic, perf_counter, process_time, thread_time
from typing import Any

BEGUN = "BEGUN"
"""The environment variable with the moment at which this process was started."""

AT_ONCE = "ingot at once"
"""The engine that is ingot, with the first run on the reference."""

STAGES = {
    "ingot.warm_start": {"key_of": "key", "find": "key", "load_source": "load"},
    "ingot.prepare": {"check_structure": "check", "upgrade_operators": "upgrade", "type_model": "type"},
    "ingot.compile": {
        "specialise": "specialise",
        "optimise": "optimise",
        "lower_graph": "lower",
        "fuse": "fuse",
        "make_plan": "plan",
    },
    "ingot.providers.cpu:Cpu": {"schedule": "schedule", "emit": "emit", "hold": "weights", "link": "link"},
}
"""The functions that stages are measured by."""


class Parts:
    """Processor time by name, of parts that may be inside of one another: each counts without those in it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._local = threading.local()

    @property
    def _inside(self) -> list[float]:
        """The time of parts inside of those that this thread is in."""
        stack: list[float] = self._local.__dict__.setdefault("stack", [])
        return stack

    def measured(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are counted."""

        def measuring(*arguments: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            start = thread_time()
            try:
                return function(*arguments, **named)
            finally:
                whole = thread_time() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + whole - self._inside.pop()
                if self._inside:
                    self._inside[-1] += whole

        return measuring


def instrumented() -> Parts:
    """The parts of what ingot does from now on; the modules of its stages are imported for that, and count."""
    parts = Parts()
    real = builtins.__import__

    def importing(name: str, *arguments: Any, **named: Any) -> Any:
        if name in sys.modules and not arguments[2:3]:
            return real(name, *arguments, **named)
        return counted("import", real)(name, *arguments, **named)

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return parts.measured(name, function)

    importing_now = parts.measured("import", importlib.import_module)
    builtins.__import__ = importing
    for place, functions in STAGES.items():
        module, _, kind = place.partition(":")
        owner = importing_now(module)
        owner = getattr(owner, kind) if kind else owner
        for function, name in functions.items():
            setattr(owner, function, parts.measured(name, getattr(owner, function)))
    importing_now("ingot.session")
    for function in STAGES["ingot.warm_start"]:
        setattr(sys.modules["ingot.session_model"], function, getattr(sys.modules["ingot.warm_start"], function))
    catalog = sys.modules["ingot.ops.catalog"]
    catalog.import_module = parts.measured("operators", importlib.import_module)  # type: ignore[attr-defined]
    return parts


def first_start(engine: str, model: str, feeds: str, with_parts: bool) -> dict[str, Any]:
    """The import of an engine, the creation of a session, and its first run, in seconds."""
    start = perf_counter()
    opened = opener(engine)
    imported = perf_counter()
    import numpy as np

    with np.load(feeds) as file:
        arrays = dict(file)
    processor, begun = process_time(), perf_counter()
    parts = instrumented() if with_parts else None
    run = opened(model)
    created = perf_counter()
    run(arrays)
    done, ended = perf_counter(), monotonic()
    times = {
        "import": imported - start,
        "create": created - begun,
        "run": done - created,
        "processor": process_time() - processor,
        "process": ended - float(os.environ.get(BEGUN, "nan")),
        "own": sum(os.times()[:2]),
    }
    return times if parts is None else {**times, "parts": parts.seconds}


def opener(engine: str) -> Callable[[str], Callable[[Any], Any]]:
    """What opens a model file with an engine and returns a function that runs it; exits if onnxruntime is ingot's."""
    if engine != "onnxruntime":
        from ingot import Session

        def ingot(path: str) -> Callable[[Any], Any]:
            session = Session(path, start="at once") if engine == AT_ONCE else Session(path)
            return lambda feeds: session.run(None, feeds)

        return ingot
    import onnxruntime

    if "ingot" in onnxruntime.get_build_info():
        sys.exit("onnxruntime is ingot's own in this process: take its directory out of PYTHONPATH")

    def peer(path: str) -> Callable[[Any], Any]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda feeds: session.run(None, feeds)

    return peer


if __name__ == "__main__":
    _, engine, model, feeds, *options = sys.argv
    print(json.dumps(first_start(engine, model, feeds, with_parts="parts" in options)))
