"""Models as programs of their own: they read inputs, write outputs, and say by their code what went wrong."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from codegen.every_nest import feeds, programs
from codegen.programs import agrees, outputs, started
from ingot.codegen.llvm.host import host
from ingot.deploy.program import program
from ingot.dtypes import Array
from ingot.errors import InputError, UnsupportedError
from ingot.ir.interface import set_shapes
from ingot.schedule.target import named

needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="programs for Linux on x86-64 are run"
)
MODELS = programs()
HEADER = '<ir_version: 13, opset_import: ["" : 25]>'
GATHER = ingot.parse_model(f"{HEADER} g (float[n] x, int64[m] i) => (float[m] y) {{ y = Gather (x, i) }}")


@needs_linux
@pytest.mark.parametrize("name", MODELS)
def test_a_machine_without_fused_multiplication_or_float16_computes_the_same(name: str, tmp_path: Path) -> None:
    agrees(MODELS[name], feeds(MODELS[name]), named("x86-64-v2"), tmp_path)


@needs_linux
def test_a_program_for_this_machine_says_what_a_session_says(tmp_path: Path) -> None:
    model, given = MODELS["attention"].copy(), feeds(MODELS["attention"])
    set_shapes(model, {name: array.shape for name, array in given.items()})
    (exact,) = ingot.Session(model, providers=("cpu", "reference"), threads=1).run(None, given)
    (found,) = outputs(program(model, host(), {}), given, tmp_path)
    np.testing.assert_array_equal(found, exact)


@needs_linux
def test_inputs_and_constants_can_be_outputs(tmp_path: Path) -> None:
    body = "{ c = Constant <value_floats = [1.0, 2.0]> () y = Exp (x) }"
    model = ingot.parse_model(f"{HEADER} g (float[n] x) => (float[n] x, float[2] c, float[n] y) {body}")
    given = {"x": np.arange(3, dtype=np.float32)}
    found = outputs(program(model, host(), {"x": (3,)}), given, tmp_path)
    expected: list[Array] = [given["x"], np.array([1, 2]), np.exp(given["x"])]
    for one, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-6)


@needs_linux
def test_an_index_out_of_range_ends_a_program_with_1(tmp_path: Path) -> None:
    made = program(GATHER, host(), {"x": (4,), "i": (1,)})
    x = np.arange(4, dtype=np.float32).tobytes()
    assert started(made, x + np.array([3]).tobytes(), tmp_path).stdout == np.float32(3).tobytes()
    failed = started(made, x + np.array([4]).tobytes(), tmp_path)
    assert (failed.returncode, failed.stdout) == (1, b"")


@needs_linux
def test_inputs_that_end_early_end_a_program_with_2(tmp_path: Path) -> None:
    made = program(GATHER, host(), {"x": (4,), "i": (1,)})
    failed = started(made, bytes(10), tmp_path)
    assert (failed.returncode, failed.stdout) == (2, b"")


def test_programs_are_not_written_for_what_is_not_linux() -> None:
    with pytest.raises(UnsupportedError, match="programs are written for Linux on x86_64 and aarch64, not for wasm32"):
        program(GATHER, named("wasm32"), {"x": (4,), "i": (1,)})


def test_a_program_that_is_too_large_for_its_addresses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.deploy.program._ZEROS", (1 << 32) + 256)
    with pytest.raises(UnsupportedError, match=r"room for 4,290,772,992 bytes of code and 256 of weights"):
        program(GATHER, named("aarch64"), {"x": (4,), "i": (1,)})


def test_a_node_that_cannot_be_compiled_is_named() -> None:
    model = ingot.parse_model(f"{HEADER} g (float[40, 40] x) => (float y) {{ y = Det (x) }}")
    with pytest.raises(UnsupportedError, match=r"node '.*' \(Det\) has no machine code: "):
        program(model, named("aarch64"), {})


def test_shapes_that_are_open_have_to_be_given() -> None:
    with pytest.raises(InputError, match="the shape of input 'i' is open"):
        program(GATHER, named("aarch64"), {"x": (4,)})


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"input 'x' is float32\[n\], 2 sizes are given"):
        program(GATHER, named("aarch64"), {"x": (4, 2), "i": (1,)})
