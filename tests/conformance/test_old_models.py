"""A sample of the node-test models of old onnx wheels: one for each old meaning that they hold, upgraded and run.

`old_wheels.py` runs all of them; `known_failures/old_wheels.txt` says which do not pass there, and why.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from conformance.old_wheels import run

ARCHIVE = Path(__file__).parent / "old_models.zip"


def samples() -> dict[str, dict[str, bytes]]:
    """The files of each case by their path inside its folder: `version/kind/name/...`."""
    found: dict[str, dict[str, bytes]] = {}
    with zipfile.ZipFile(ARCHIVE) as archive:
        for name in archive.namelist():
            version, kind, case, rest = name.split("/", 3)
            found.setdefault(f"{version}/{kind}/{case}", {})[rest] = archive.read(name)
    return found


SAMPLES = samples()


@pytest.mark.parametrize("name", SAMPLES)
def test_an_old_model_gives_what_it_recorded(name: str) -> None:
    run(SAMPLES[name])


def test_there_are_samples_of_most_old_meanings_the_wheels_hold() -> None:
    assert len(SAMPLES) > 40
