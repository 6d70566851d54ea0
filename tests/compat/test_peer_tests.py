"""The runner of onnxruntime's own tests: cases that hang or crash do not end it, and each is reported."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peer_tests import cases
from benchmarks.peer_tests.__main__ import not_run
from benchmarks.peer_tests.watch import Report, reports

FILE = """
import os, time, unittest

class TestSome(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.number = 1

    def test_a_passes(self):
        self.assertEqual(self.number, 1)

    def test_b_crashes(self):
        os._exit(3)

    def test_c_fails(self):
        self.assertEqual(self.number, 2)

    def test_d_hangs(self):
        time.sleep(60)

    @unittest.skip("not here")
    def test_e_is_skipped(self):
        pass

    def test_f_passes(self):
        pass

if __name__ == "__main__":
    unittest.main()
"""


def test_every_case_of_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(FILE)
    command = [sys.executable, str(Path(cases.__file__)), "some.py"]
    outcomes = list(reports(command, tmp_path, 4, {}))
    assert [(report.item, report.outcome) for report in outcomes] == [
        ("TestSome.test_a_passes", "pass"),
        ("TestSome.test_b_crashes", "crash"),
        ("TestSome.test_c_fails", "fail"),
        ("TestSome.test_d_hangs", "time limit"),
        ("TestSome.test_e_is_skipped", "skip"),
        ("TestSome.test_f_passes", "pass"),
    ]
    assert outcomes[2].detail.startswith("AssertionError: 1 != 2")


def test_a_file_that_cannot_be_imported_is_one_report(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("import nothing_of_that_name\n")
    command = [sys.executable, str(Path(cases.__file__)), "some.py"]
    (report,) = reports(command, tmp_path, 20, {})
    assert (report.item, report.outcome) == ("(the file)", "error")
    (report,) = reports([sys.executable, "-c", "raise SystemExit('no worker')"], tmp_path, 20, {})
    assert report == Report("(start)", "crash", "no worker")
    assert not_run([report]) == "crash: no worker"
    assert not_run([Report("A.test", "pass"), report]) is None
    assert not_run([]) == "it has no cases"


def test_results_are_compared_by_their_kind() -> None:
    pytest.importorskip("onnxruntime")
    from benchmarks.peer_tests.models import difference

    floats = np.array([1, 2, 4], np.float32)
    assert difference(floats, floats * np.float32(1 + 1e-6)) == ""
    assert difference(floats, floats + 1) == "3 of 3 elements, by 2.5e-01 of the largest"
    assert difference(floats, floats[:2]) == "shape (3,) against (2,)"
    assert difference(floats, floats.astype(np.float64)) == "type float32 against float64"
    assert difference(np.array([1, np.nan]), np.array([1, np.nan])) == ""
    assert difference(np.array([1, np.nan]), np.array([1.0, 2.0])) == "other elements are infinite or not a number"
    assert difference(np.array([3, 4], np.uint8), np.array([3, 5], np.uint8)) == "integers differ by one"
    assert difference([floats, {"a": 1.0}], [floats, {"a": 1.0}]) == ""
    assert difference([{"a": 1.0}], [{"b": 1.0}]).startswith("keys")
    assert difference(None, floats).startswith("None against")
