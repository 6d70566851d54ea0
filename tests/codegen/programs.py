"""Models as programs, run by this machine or an emulator of another, and compared with the reference."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import ingot
from ingot.deploy.program import Port, Program, program
from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.schedule.target import Target


def agrees(
    model: Model | Path,
    feeds: Mapping[str, Array],
    target: Target,
    folder: Path,
    emulator: Sequence[str] = (),
    rtol: float = 1e-5,
) -> None:
    """AssertionError unless a model as a program for a target computes what the reference does, up to rounding.

    Numbers may be off by a part `rtol` of the largest of their array, or 8 units in the last place of float16.
    """
    source = model if isinstance(model, Model) else str(model)
    made = program(source, target, {name: array.shape for name, array in feeds.items()})
    expected = ingot.Session(source, providers=("reference",)).run(None, dict(feeds))
    for port, found, exact in zip(made.outputs, outputs(made, feeds, folder, emulator), expected, strict=True):
        assert (found.dtype, found.shape) == (exact.dtype, exact.shape), port.name
        if exact.dtype.kind in "biu":
            np.testing.assert_array_equal(found, exact, port.name)
            continue
        wide, true = found.astype(np.float64), exact.astype(np.float64)
        finite = np.isfinite(true)
        off = max(rtol, 2**-8 if exact.dtype == np.float16 else 0) * np.abs(true[finite]).max(initial=0)
        np.testing.assert_allclose(wide[finite], true[finite], rtol=0, atol=off, err_msg=port.name)
        np.testing.assert_array_equal(wide[~finite], true[~finite], port.name)


def outputs(made: Program, feeds: Mapping[str, Array], folder: Path, emulator: Sequence[str] = ()) -> list[Array]:
    """What a program writes for some inputs."""
    given = b"".join(np.ascontiguousarray(feeds[port.name]).tobytes() for port in made.inputs)
    done = started(made, given, folder, emulator)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert len(done.stdout) == sum(map(_size, made.outputs))
    found, at = [], 0
    for port in made.outputs:
        found.append(np.frombuffer(done.stdout[at : at + _size(port)], port.dtype).reshape(port.shape))
        at += _size(port)
    return found


def started(
    made: Program, given: bytes, folder: Path, emulator: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    """A program run to its end on so many bytes."""
    path = folder / "program"
    path.write_bytes(made.file)
    path.chmod(0o755)
    return subprocess.run([*emulator, str(path)], input=given, capture_output=True, check=False, timeout=120)


def _size(port: Port) -> int:
    return int(np.prod(port.shape, dtype=np.int64)) * port.dtype.itemsize
