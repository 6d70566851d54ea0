"""Memory of mapped files, given back."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from ingot.format.load import read_file
from ingot.format.pages import release


def resident() -> int:
    """The bytes of files that this process holds in memory."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssFile:"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what is in memory")
def test_what_was_read_of_a_mapped_file_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(range(256)) * (1 << 16))
    array = np.frombuffer(read_file(path, mapped=True), np.uint8)[100:].reshape(-1, 4).T
    total = int(array.astype(np.int64).sum())
    held = resident()
    release(array)
    assert resident() < held - (12 << 20)
    assert int(array.astype(np.int64).sum()) == total


def test_what_is_no_mapped_file_is_left_alone() -> None:
    array = np.arange(100_000)
    release(array)
    release(array[:0])
    assert array[-1] == 99_999


def test_a_map_that_was_changed_is_left_alone() -> None:
    pages = mmap.mmap(-1, 1 << 16)
    array = np.frombuffer(pages, np.uint8)
    array[:] = 7
    release(array)
    assert array.min() == 7
