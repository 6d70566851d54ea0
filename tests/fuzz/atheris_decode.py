"""An entry point for atheris, the coverage-guided fuzzer for Python on libFuzzer; not part of CI.

    pip install atheris
    PYTHONPATH=src python tests/fuzz/atheris_decode.py tests/fuzz/corpus -max_len=20000 -max_total_time=600

libFuzzer adds what it finds to the first folder it is given, so give it a copy of the corpus. A crash is written to the
current folder; put it into tests/fuzz/corpus as `crash-<what>.onnx` together with the fix, and test_fuzz.py keeps it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["ingot.format", "ingot.ir", "ingot.dims", "ingot.dtypes"]):
    from fuzz import targets


def one_input(data: bytes) -> None:
    targets.try_decode(data)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
