"""The memory a process may take: the machine's, or that of the control group around it."""

from __future__ import annotations

from pathlib import Path

from ingot.runtime.memory import _group_files, _number, available


def limits(own: str, files: dict[str, str], folder: Path) -> list[int]:
    (folder / "cgroup").write_text(own)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    found = [_number(path) for path in _group_files(folder / "cgroup", folder / "fs")]
    return [limit for limit in found if limit is not None]


def test_the_groups_around_ours_count_too(tmp_path: Path) -> None:
    files = {"fs/memory.max": "max\n", "fs/a/memory.max": "2000\n", "fs/a/b/memory.max": "3000\n"}
    assert limits("0::/a/b\n", files, tmp_path) == [3000, 2000]


def test_the_first_version_keeps_memory_apart(tmp_path: Path) -> None:
    files = {"fs/memory/x/memory.limit_in_bytes": "4000\n", "fs/cpu/x/memory.limit_in_bytes": "1\n"}
    assert limits("5:cpu,cpuacct:/x\n4:memory:/x\n", files, tmp_path) == [4000]


def test_a_place_outside_the_root_is_not_read(tmp_path: Path) -> None:
    assert limits("0::/../..\n", {"memory.max": "1\n"}, tmp_path) == []


def test_a_system_without_groups_has_the_memory_of_the_machine(tmp_path: Path) -> None:
    assert list(_group_files(tmp_path / "none", tmp_path)) == []
    assert available() > 2**26
