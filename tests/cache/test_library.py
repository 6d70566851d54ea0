"""Kernels compiled ahead: found by a first start on every processor that runs them, and ignored when stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.cache import kernels, library
from ingot.codegen.llvm import templates
from ingot.codegen.llvm.compile import code_later
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.dims import symbol
from ingot.loops.digest import digest
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import level_of, named

MODEL = '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 5] x) => (float[n, 5] y) { t = Mul (x, x) y = Exp (t) }'
X = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
V3 = "+sse4.2,+popcnt,+crc32,+cx16,+sahf,+xsave,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
V4 = f"{V3},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
ENTRY = kernels.Entry(b"code", {"kernel": 3}, (symbol("p0") * 3,))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(templates, "TEMPLATES", {})
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    return tmp_path


def session() -> ingot.Session:
    return ingot.Session(ingot.parse_model(MODEL), providers=("cpu", "reference"), threads=1, fallback=False)


@pytest.mark.skipif(level_of(host()) is None, reason="nothing is compiled ahead for this processor")
def test_a_first_start_compiles_nothing_that_was_compiled_ahead(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = level_of(host())
    assert level is not None
    first = session()
    assert first.compiled is not None
    (kernel,) = kernels_in(first.compiled.scheduled.steps)
    template = parametrise(kernel).kernel
    emitted = emit(template, named(level))
    code = code_later(emitted.text, named(level), lambda code: code).result()
    entry = kernels.Entry(code.code, code.entries, emitted.sizes)
    library.write(own_folder / "wheel" / f"{level}.kernels", {digest(template): entry})

    monkeypatch.setattr(library, "FOLDER", own_folder / "wheel")
    monkeypatch.setenv("INGOT_CACHE", str(own_folder / "other"))
    monkeypatch.setattr(templates, "TEMPLATES", {})
    monkeypatch.delattr(templates, "code_later")
    np.testing.assert_array_equal(session().run(None, {"x": X})[0], first.run(None, {"x": X})[0])


def test_an_entry_has_its_code_its_functions_and_its_sizes(own_folder: Path) -> None:
    library.write(own_folder / "a.kernels", {"other": replace(ENTRY, code=b"x" * 99), "name": ENTRY})
    assert library.find("a", "name") == ENTRY
    assert library.find("a", "absent") is None
    assert library.find("b", "name") is None


def test_the_library_of_another_ingot_is_ignored(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.write(own_folder / "a.kernels", {"name": ENTRY})
    monkeypatch.setattr(library, "own_fingerprint", lambda: "another")
    assert library.find("a", "name") is None


@pytest.mark.parametrize("damage", [b"", b"x" * 500, b"ingot library 1\n" + b"\xff" * 40])
def test_a_damaged_library_is_ignored(own_folder: Path, damage: bytes) -> None:
    (own_folder / "a.kernels").write_bytes(damage)
    assert library.find("a", "name") is None


def test_damaged_code_is_ignored(own_folder: Path) -> None:
    path = own_folder / "a.kernels"
    library.write(path, {"name": ENTRY})
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert library.find("a", "name") is None


def test_a_processor_has_the_widest_level_whose_instructions_and_registers_it_has() -> None:
    v3, v4 = named("x86-64-v3"), named("x86-64-v4")
    assert level_of(v3) == "x86-64-v3"
    assert level_of(v4) == "x86-64-v4"
    assert level_of(named("x86-64-v2")) is None
    assert level_of(named("aarch64")) is None
    assert level_of(replace(v3, cpu="haswell", features=V3)) == "x86-64-v3"
    assert level_of(replace(v4, cpu="znver4", features=V4, l2=2 << 20)) == "x86-64-v4"
    assert level_of(replace(v3, cpu="znver4", features=V4)) == "x86-64-v3"
    assert level_of(replace(v4, cpu="odd", features=V3)) is None


@pytest.mark.parametrize(("level", "needed"), [("x86-64-v3", V3), ("x86-64-v4", V4)])
def test_a_processor_without_one_instruction_of_a_level_has_not_that_level(level: str, needed: str) -> None:
    target = replace(named(level), cpu="odd")
    features = needed.split(",")
    assert level_of(replace(target, features=needed)) == level
    for absent in features:
        others = ",".join(f"-{name[1:]}" if name == absent else name for name in features)
        assert level_of(replace(target, features=others)) is None, absent
