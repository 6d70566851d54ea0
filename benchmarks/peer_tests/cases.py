"""Worker: run the cases of one test file of onnxruntime, as `python FILE` would, and report each.

    python [-m ingot.compat] benchmarks/peer_tests/cases.py FILE RESULTS START

The file runs as the main program; `unittest.main` in it runs the cases one after the other.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any


def main(arguments: list[str]) -> None:
    # Imported by its path: the folder of the tests comes first on the path here.
    spec = importlib.util.spec_from_file_location("watch", Path(__file__).with_name("watch.py"))
    assert spec is not None
    assert spec.loader is not None
    watch = sys.modules["watch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(watch)
    results = watch.Results(arguments)
    path = os.path.abspath(arguments[0])
    sys.argv = [path]
    sys.path[0] = os.path.dirname(path)
    called: list[bool] = []

    def run_cases(module: Any = None, *_arguments: Any, **_named: Any) -> None:
        called.append(True)
        main = module if isinstance(module, ModuleType) else sys.modules["__main__"]
        suite = unittest.defaultTestLoader.loadTestsFromModule(main)
        for case in list(_cases(suite))[results.start :]:
            item = ".".join(case.id().split(".")[-2:])
            results.begin(item)
            result = _First()
            unittest.TestSuite([case]).run(result)  # with what the class and the module set up
            results.end(item, result.outcome, result.detail)

    vars(unittest)["main"] = run_cases  # the file calls it
    try:
        runpy.run_path(path, run_name="__main__")
    except (Exception, SystemExit) as error:
        if called:
            results.end(watch.FILE, "error", _said(error))
    if not called:  # it ended before its cases, or has no main program
        try:
            module = ModuleType("cases_of_a_file")
            vars(module).update(runpy.run_path(path, run_name=module.__name__))
            run_cases(module)
        except Exception as error:
            results.end(watch.FILE, "error", _said(error))
    sys.stdout.flush()
    os._exit(0)  # threads that a case has left behind must not keep the worker


class _First(unittest.TestResult):
    """The first thing that went wrong in a case, or that it was skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome, self.detail = "pass", ""

    def _note(self, outcome: str, error: Any) -> None:
        if self.outcome == "pass" and error is not None:
            self.outcome, self.detail = outcome, _said(error[1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._note("error", err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._note("fail", err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        self._note("fail", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self.outcome, self.detail = "skip", reason


def _cases(suite: Any) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _said(error: BaseException) -> str:
    """The exception in one line, with the last line of the test file that it came through."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "onnxruntime_test" in frame.filename]
    place = f" (line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{place}"


if __name__ == "__main__":
    main(sys.argv[1:])
