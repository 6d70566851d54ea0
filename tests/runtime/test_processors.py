"""How many processors there are: what a process is pinned to, and what its control groups leave it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingot.providers.cpu import Cpu
from ingot.runtime import processors as module
from ingot.runtime.processors import processors, quota

HEAD = "29 22 0:26"
V2 = f"{HEAD} / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1 = f"{HEAD} / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
MEMORY = f"{HEAD} / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"


def system(root: Path, mounts: str, groups: str, **files: str) -> Path:
    """A file system with mounts, the groups of this process, and files of groups by their paths."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(
        f"1 1 0:1 / / rw - ext4 /dev/sda rw\n{mounts}\n", "utf-8", "surrogateescape"
    )
    (root / "proc/self/cgroup").write_text(f"{groups}\n")
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")
    return root


@pytest.mark.parametrize(
    ("mounts", "groups", "files", "limit"),
    [
        (V2, "0::/", {"sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        (V2, "0::/", {"sys/fs/cgroup/cpu.max": "max 100000"}, None),
        (V2, "0::/", {}, None),
        (V2, "0::/a/b", {"sys/fs/cgroup/a/b/cpu.max": "50000 100000"}, 0.5),
        (V2, "0::/a/b", {"sys/fs/cgroup/a/b/cpu.max": "max 1", "sys/fs/cgroup/a/cpu.max": "200000 100000"}, 2.0),
        (V2, "0::/a", {"sys/fs/cgroup/a/cpu.max": "4 1", "sys/fs/cgroup/cpu.max": "3 1"}, 3.0),
        (V2, "0::/../..", {"sys/fs/cgroup/cpu.max": "2 1"}, 2.0),
        (V2, "0::/a", {"sys/fs/cgroup/a/cpu.max": "nonsense"}, None),
        (V2, "nonsense", {"sys/fs/cgroup/cpu.max": "1 1"}, None),
        (f"1 2 0:1 / /x rw - tmpfs\n\n - \nx - cgroup2 a b\n{V2}", "0::/", {"sys/fs/cgroup/cpu.max": "2 1"}, 2.0),
        (V2, "nonsense\n0::/a", {"sys/fs/cgroup/a/cpu.max": "2 1"}, 2.0),
        (f"1 2 0:1 / /\udcff rw - tmpfs tmpfs rw\n{V2}", "0::/", {"sys/fs/cgroup/cpu.max": "2 1"}, 2.0),
        (
            f"{MEMORY}\n{V1}",
            "3:memory:/m\n2:cpu,cpuacct:/docker/c\n0::/",
            {
                "sys/fs/cgroup/cpu,cpuacct/docker/c/cpu.cfs_quota_us": "250000",
                "sys/fs/cgroup/cpu,cpuacct/docker/c/cpu.cfs_period_us": "100000",
            },
            2.5,
        ),
        (
            V1,
            "2:cpu,cpuacct:/",
            {
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        (
            V1.replace(" / /sys", " /docker/c /sys"),
            "2:cpu,cpuacct:/docker/c/inner",
            {
                "sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us": "100000",
                "sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us": "100000",
            },
            1.0,
        ),
    ],
)
def test_a_quota_is_the_least_of_the_groups_around_the_process(
    mounts: str, groups: str, files: dict[str, str], limit: float | None, tmp_path: Path
) -> None:
    assert quota(system(tmp_path, mounts, groups, **files)) == limit


def test_a_system_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert quota(tmp_path) is None


@pytest.mark.parametrize(("limit", "count"), [(None, 8), (0.2, 1), (1.0, 1), (2.5, 3), (7.01, 8), (64.0, 8)])
def test_a_part_of_a_processor_counts_as_one_and_there_is_at_least_one(
    limit: float | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(module, "_own_quota", lambda: limit)
    assert processors() == count
    assert Cpu().threads == count
