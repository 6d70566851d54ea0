"""The cache of compiled kernels: found again, never believed when damaged, bounded."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.cache import directory, kernels
from ingot.codegen.elf import LinkedCode
from ingot.codegen.llvm import templates
from ingot.codegen.llvm.compile import code_later
from ingot.codegen.llvm.make import Effort
from ingot.dims import symbol
from ingot.runtime import pool_code
from ingot.schedule.target import Target

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 5] x) => (float[n, 5] y) { t = Mul (x, x) y = Exp (t) }'


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    monkeypatch.setattr(templates, "TEMPLATES", {})
    return tmp_path


def run() -> None:
    x = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
    session = ingot.Session(ingot.parse_model(MODEL), providers=("cpu", "reference"), threads=1, fallback=False)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], np.exp(x * x), rtol=1e-6)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pool_code.final_code()  # which the first session of a process compiles, too
    made: list[str] = []

    def counting(text: str, target: Target, then: Callable[[LinkedCode], Any], effort: Effort) -> Future[Any]:
        made.append(text)
        return code_later(text, target, then, effort)

    monkeypatch.setattr(templates, "code_later", counting)
    return made


def test_a_second_start_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    run()
    assert len(made) == 1
    monkeypatch.setattr(templates, "TEMPLATES", {})
    run()
    assert len(made) == 1


@pytest.mark.parametrize("damage", [b"", b"ingot kernel 1\n", b"x" * 500])
def test_a_damaged_entry_is_made_again(damage: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    run()
    (path,) = directory.entries()
    whole = path.read_bytes()
    path.write_bytes(damage or whole[:-1] + bytes([whole[-1] ^ 1]))
    monkeypatch.setattr(templates, "TEMPLATES", {})
    run()
    assert len(made) == 2
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "file"))
    run()


def test_sizes_are_kept_with_the_code() -> None:
    sizes = (symbol("p0") * 3, symbol("p1") + 7)
    entry = kernels.Entry(b"code\n", {"kernel": 3}, sizes)
    kernels.write("ab", entry)
    assert kernels.read("ab") == entry
    assert kernels.read("cd") is None


def test_what_was_not_read_for_longest_goes_first(own_folder: Path) -> None:
    for number, key in enumerate(("aa", "bb", "cc")):
        kernels.write(key, kernels.Entry(bytes(1000), {}, ()))
        os.utime(own_folder / key / f"{key}.kernel", (number, number))
    kernels.read("aa")
    assert directory.prune(2500) == 1
    assert kernels.read("bb") is None
    assert kernels.read("aa") is not None
