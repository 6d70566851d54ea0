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
from ingot.codegen import cache, folder
from ingot.codegen.link import Plain
from ingot.codegen.llvm import forms
from ingot.codegen.llvm.compile import code_later
from ingot.codegen.llvm.target import Target
from ingot.dims import symbol

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 5] x) => (float[n, 5] y) { t = Mul (x, x) y = Exp (t) }'


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    monkeypatch.setattr(forms, "FORMS", {})
    return tmp_path


def run() -> None:
    x = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
    session = ingot.Session(ingot.parse_model(MODEL), providers=("cpu", "reference"), threads=1, fallback=False)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], np.exp(x * x), rtol=1e-6)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def counting(text: str, target: Target, then: Callable[[Plain], Any]) -> Future[Any]:
        made.append(text)
        return code_later(text, target, then)

    monkeypatch.setattr(forms, "code_later", counting)
    return made


def test_a_second_start_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    run()
    assert len(made) == 1
    monkeypatch.setattr(forms, "FORMS", {})
    run()
    assert len(made) == 1


@pytest.mark.parametrize("damage", [b"", b"ingot kernel 1\n", b"x" * 500])
def test_a_damaged_entry_is_made_again(damage: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    run()
    (path,) = folder.entries()
    whole = path.read_bytes()
    path.write_bytes(damage or whole[:-1] + bytes([whole[-1] ^ 1]))
    monkeypatch.setattr(forms, "FORMS", {})
    run()
    assert len(made) == 2
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "file"))
    run()


def test_sizes_are_kept_with_the_code() -> None:
    sizes = (symbol("p0") * 3, symbol("p1") + 7)
    entry = cache.Entry(Plain(b"code\n", {"kernel": 3}), sizes)
    cache.write("ab", entry)
    assert cache.read("ab") == entry
    assert cache.read("cd") is None


def test_what_was_not_read_for_longest_goes_first(own_folder: Path) -> None:
    for number, key in enumerate(("aa", "bb", "cc")):
        cache.write(key, cache.Entry(Plain(bytes(1000), {}), ()))
        os.utime(own_folder / key / f"{key}.kernel", (number, number))
    cache.read("aa")
    assert folder.prune(2500) == 1
    assert cache.read("bb") is None
    assert cache.read("aa") is not None


def test_what_is_made_by_other_code_is_named_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key_of("kernel")
    monkeypatch.setattr(cache, "_maker", lambda: "another")
    assert cache.key_of("kernel") != before
