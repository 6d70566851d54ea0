"""The node-test models inside old wheels of the onnx package, run to their recorded outputs after an upgrade.

    python tests/conformance/old_wheels.py            fetches the wheels and runs all of them
    python tests/conformance/old_wheels.py WHEEL...   runs the given ones

Wheels are read as archives: nothing of them is installed or executed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import ingot
from ingot.format.values import decode_value
from ingot.ir import Tensor
from ingot.session import Session

sys.path.insert(0, str(Path(__file__).parent.parent))

from conformance.cases import UNPREDICTABLE, same

VERSIONS = {"1.5.0": "3.7", "1.8.1": "3.8", "1.11.0": "3.9", "1.14.1": "3.11", "1.17.0": "3.11"}
PLATFORMS = ("manylinux1", "manylinux2010", "manylinux2014", "manylinux_2_17", "manylinux_2_12")
RTOL, ATOL = 1e-3, 1e-7
"""The tolerances of the suite."""


@dataclass
class Tally:
    """How the cases of one wheel went."""

    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def fetch(folder: Path) -> list[Path]:
    """The wheels, from the package index."""
    for version, python in VERSIONS.items():
        platforms = [option for name in PLATFORMS for option in ("--platform", f"{name}_x86_64")]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run(
            [*command, "--python-version", python, *platforms, "--dest", str(folder), f"onnx=={version}"], check=True
        )
    return sorted(folder.glob("*.whl"))


def cases(wheel: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The name of each case and its files by their path inside its folder."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        models = [PurePosixPath(name) for name in names if name.endswith("/model.onnx") and "/test/data/" in name]
        for model in sorted(models):
            prefix = f"{model.parent}/"
            files = {name.removeprefix(prefix): archive.read(name) for name in names if name.startswith(prefix)}
            yield f"{model.parent.parent.name}/{model.parent.name}", files


def run(files: dict[str, bytes]) -> None:
    """AssertionError, or an error of ingot's, if a case does not give what it recorded."""
    session = Session(files["model.onnx"])
    model = session.model
    for data_set in sorted({name.split("/")[0] for name in files if "/" in name}):
        feeds = {
            value.name: value_in(files[name], value.type)
            for index, value in enumerate(model.graph.inputs)
            if (name := f"{data_set}/input_{index}.pb") in files
        }
        results = session.run(None, feeds)
        loose = any(node.op_type in UNPREDICTABLE for node in model.nodes())
        for index, (value, result) in enumerate(zip(model.graph.outputs, results, strict=True)):
            name = f"{data_set}/output_{index}.pb"
            if name in files:
                expected = value_in(files[name], value.type)
                if loose:
                    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
                else:
                    same(result, expected, RTOL, ATOL, value.name)


def value_in(data: bytes, type_: Any) -> Any:
    assert type_ is not None
    found = decode_value(data, type_)
    return plain(found)


def plain(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.numpy()
    return [plain(part) for part in item] if isinstance(item, list) else item


def known_in(version: str) -> set[str]:
    """The cases of a wheel that are known not to pass."""
    path = Path(__file__).parent / "known_failures" / "old_wheels.txt"
    rows = [line.split(": ", 2) for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name for versions, name, _ in rows if version in versions.split()}


def tally(wheel: Path) -> Tally:
    found = Tally()
    for name, files in cases(wheel):
        try:
            run(files)
        except (AssertionError, ingot.IngotError, AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
            found.failed[name] = f"{type(error).__name__}: {str(error).strip()[:300]}"
        else:
            found.passed += 1
    return found


def main(arguments: list[str]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        wheels = [Path(argument) for argument in arguments] or fetch(Path(temporary))
        for wheel in wheels:
            found = tally(wheel)
            total = found.passed + len(found.failed)
            version = wheel.name.split("-")[1]
            known = known_in(version)
            sys.stdout.write(f"{version}: {found.passed} of {total} cases, {len(known)} known not to pass\n")
            for name, why in found.failed.items():
                if name not in known:
                    sys.stdout.write(f"  {name}: {why}\n")
            for name in sorted(known - set(found.failed)):
                sys.stdout.write(f"  {name} passes now: take it off the list\n")
            failed += len(known ^ set(found.failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
