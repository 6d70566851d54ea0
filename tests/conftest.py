"""Tests say what runs a model when it matters; where they do not, the reference does, which compiles nothing.

Each has a limit on its time.
"""

from __future__ import annotations

import os

import pytest

from conformance.share import compiled_share
from time_limit import (
    pytest_configure,
    pytest_runtest_call,
    pytest_runtest_setup,
    pytest_runtest_teardown,
    pytest_unconfigure,
)

__all__ = [
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_unconfigure",
]

os.environ.setdefault("INGOT_PROVIDERS", "reference")
os.environ.setdefault("INGOT_DRAFTS", "0")  # each kernel is compiled once


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    share = compiled_share(terminalreporter.stats.get("passed", []))
    if share is not None:
        terminalreporter.write_sep("-", "node cases as machine code")
        terminalreporter.write_line(share)
