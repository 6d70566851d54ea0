"""The vector mathematics keeps to the errors it states, for every kind of number and in every vector."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from llvmlite import binding

from codegen.jitted import LANES, Array, Real, jitted, looped
from codegen.references import exact, wide
from codegen.samples import arguments, exponents, specials
from codegen.ulps import errors, exact_error
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.math import FUNCTIONS
from ingot.codegen.llvm.types import PTR

NAMES = list(FUNCTIONS)
TARGETS = [
    ("x86_64-unknown-linux-gnu", "x86-64-v3", ""),
    ("aarch64-unknown-linux-gnu", "generic", ""),
    ("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+v"),
]


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_within_the_stated_error(name: str) -> None:
    function = FUNCTIONS[name]
    xs = arguments(name, np.float32, 2000, 80_000)
    got = jitted(name, np.float32, 16)(*xs)
    error = errors(function, xs[0], got, wide(name, *xs))
    worst = int(error.argmax())
    assert error[worst] <= function.ulp_32, f"{[float(x[worst]) for x in xs]} gives {got[worst]}"


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_within_the_stated_error(name: str) -> None:
    function = FUNCTIONS[name]
    pick = np.random.default_rng(1).integers(0, 10**9, 5000)
    xs = [x[pick % x.size] for x in arguments(name, np.float64, 4, 4000)]
    got = jitted(name, np.float64, 8)(*xs)
    undefined = np.isnan(wide(name, *xs))
    np.testing.assert_array_equal(np.isnan(got), undefined)
    ordinary = np.logical_and.reduce([np.isfinite(x) & (x != 0) for x in xs]) & ~undefined
    assert ordinary.sum() > 200
    for i in np.flatnonzero(ordinary):
        at = [float(x[i]) for x in xs]
        error = exact_error(function, at[0], float(got[i]), exact(name, *at))
        assert error <= function.ulp_64, f"{at} gives {got[i]!r}, {error:.3f} ulp off"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_machines_that_do_not_multiply_and_add_at_once_get_nearly_the_same(name: str, dtype: Real) -> None:
    xs = arguments(name, dtype, 4, 4000)
    xs = [x[:: x.size // 20_000] for x in xs]
    got, fused = jitted(name, dtype, 4, fma=False)(*xs), jitted(name, dtype, 4)(*xs)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(fused))
    number = np.isfinite(got) & np.isfinite(fused)
    np.testing.assert_array_almost_equal_nulp(got[number], fused[number], 1)
    np.testing.assert_array_equal(got[~number & ~np.isnan(got)], fused[~number & ~np.isnan(got)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_zeros_infinities_and_nans_are_right(name: str, dtype: Real) -> None:
    xs = list(np.array(list(product(specials(dtype), repeat=FUNCTIONS[name].arity)), dtype).T)
    if name == "exp_nonpositive":
        xs = [-np.abs(xs[0])]
    got = jitted(name, dtype, 8)(*xs)
    with np.errstate(all="ignore"):
        want = wide(name, *xs).astype(dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    plain = ~np.isfinite(want) | (want == 0) | ~np.isfinite(got) | (got == 0)
    np.testing.assert_array_equal(got[plain], want[plain])
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_scalars_and_vectors_have_the_same_bits(name: str, dtype: Real) -> None:
    xs = [x[:: x.size // 20_000] for x in arguments(name, dtype, 4, 4000)]
    scalar = jitted(name, dtype, 0)(*xs)
    for lanes in (4, 8, 16):
        np.testing.assert_array_equal(_comparable(jitted(name, dtype, lanes)(*xs)), _comparable(scalar))


@pytest.mark.parametrize("name", ["exp", "exp2", "exp_nonpositive"])
@pytest.mark.parametrize(("vector", "instructions"), [(32, 0), (64, 1)])
def test_one_instruction_makes_powers_of_two_where_there_is_one(name: str, vector: int, instructions: int) -> None:
    module = ir.Module()
    module.triple, module.vector = "x86_64-unknown-linux-gnu", vector
    kind = ir.VectorType(ir.FloatType(), 16)
    function = ir.Function(module, ir.FunctionType(kind, [kind]), "f")
    b = Builder(function.append_basic_block())
    b.ret(FUNCTIONS[name].emit(b, function.args[0]))
    assert len(re.findall("call .*avx512.mask.scalef", str(function))) == instructions


@pytest.mark.parametrize("name", ["exp", "sin", "pow", "fmod"])
def test_a_vector_may_have_an_odd_number_of_lanes(name: str) -> None:
    xs = [x[:3000] for x in arguments(name, np.float32, 4, 500)]
    for lanes in (1, 3, 7):
        got, scalar = jitted(name, np.float32, lanes)(*xs), jitted(name, np.float32, 0)(*xs)
        np.testing.assert_array_equal(_comparable(got), _comparable(scalar))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        *[
            ("exp", 0, 1),
            ("exp2", 10, 1024),
            ("exp2", -1, 0.5),
            ("log", 1, 0),
            ("log2", 2.0**-149, -149),
            ("cos", 0, 1),
        ],
        *[("tanh", 50, 1), ("erf", 9, 1), ("sigmoid", 0, 0.5), ("cosh", 0, 1), ("acosh", 1, 0), ("acos", 1, 0)],
        *[("softplus", 200, 200), ("gelu", -100, 0), ("silu", 200, 200), ("round_half_even", 2.5, 2), ("tan", 0, 0)],
    ],
)
def test_simple_values_are_exact(name: str, x: float, y: float, dtype: Real) -> None:
    assert jitted(name, dtype, 0)(np.array([x], dtype))[0] == y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "erf", "sigmoid"])
def test_no_result_is_larger_than_1(name: str, dtype: Real) -> None:
    x = arguments(name, dtype, 100, 4000)[0]
    got = jitted(name, dtype, 8)(x[~np.isnan(x) & np.isfinite(x)])
    assert np.abs(got).max() == 1


def test_a_negative_base_needs_a_whole_exponent() -> None:
    base = -np.abs(exponents(np.float32, 3, np.random.default_rng(2)))
    power = jitted("pow", np.float32, 16)
    for y in (3.0, -5.0, 2.0**23 + 1, 2.0**24 - 1, 4.0, 2.0**24, 2.0**30, 0.5, -1.25):
        with np.errstate(all="ignore"):
            want = np.power(base.astype(np.float64), y)
        got = power(base, np.full_like(base, y))
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


def test_float16_is_computed_in_float32() -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    got = jitted("tanh", np.float16, 8)(x)
    want = jitted("tanh", np.float32, 8)(x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(got, want)


def test_integers_are_refused() -> None:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [ir.IntType(32)]), "f")
    with pytest.raises(TypeError, match="exp of i32"):
        FUNCTIONS["exp"].emit(Builder(function.append_basic_block()), function.args[0])


@pytest.mark.parametrize("name", NAMES)
def test_only_functions_that_say_so_branch(name: str) -> None:
    entries = [looped(name, dtype, 4).globals["kernel"] for dtype in (np.float32, np.float64)]
    blocks = [len(entry.blocks) for entry in entries if isinstance(entry, ir.Function)]
    assert (max(blocks) > 3) == FUNCTIONS[name].branches


@pytest.mark.parametrize(("triple", "cpu", "features"), TARGETS)
def test_no_target_calls_a_library(triple: str, cpu: str, features: str) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = ir.Module()
    module.triple = triple
    for name, (dtype, lane), lanes in product(NAMES, LANES.items(), (0, 4)):
        if dtype is np.float16:
            continue
        kind = ir.VectorType(lane, lanes) if lanes else lane
        signature = ir.FunctionType(ir.VoidType(), [PTR] * (FUNCTIONS[name].arity + 1))
        function = ir.Function(module, signature, f"{name}.{lane}.{lanes}")
        *inputs, output = function.args
        b = Builder(function.append_basic_block())
        b.store(FUNCTIONS[name].emit(b, *(b.load(each, typ=kind) for each in inputs)), output)
        b.ret_void()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
    assembly = machine.emit_assembly(binding.parse_assembly(str(module)))
    assert not re.findall(r"^\s+(?:callq?|jmpq?|bl|tail|call|b)\s+([a-z_]\w*)", assembly, re.MULTILINE)


def _comparable(x: Array) -> Array:
    """The bits, which tell zeros apart, with one NaN for all."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).view(f"u{x.itemsize}")
