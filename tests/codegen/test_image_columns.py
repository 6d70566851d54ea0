"""Convolutions whose columns are those of an image, stored channel by channel: in place or packed, on all machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.codegen.llvm.host import host
from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.loops.ir import Contraction, kernels_in
from ingot.providers.cpu import Cpu
from ingot.schedule.target import named
from lower.guarded import fenced

TARGETS = ["here"] + [name for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host().machine == "x86_64"]


@dataclass(frozen=True)
class Convolution:
    """A convolution of an image, with a bias, and nothing below zero; weights and inputs are whole numbers."""

    channels: int
    filters: int
    group: int = 1
    kernel: tuple[int, int] = (3, 3)
    stride: int = 1
    dilation: int = 1
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    kind: str = "float"

    def model(self, width: str = "w") -> Model:
        own, (high, wide) = self.channels // self.group, self.kernel
        weights = self._whole(self.filters, own, high, wide)
        bias = self._whole(self.filters)
        return parse_model(
            f'<ir_version: 10, opset_import: ["" : 21]> '
            f"g ({self.kind}[n, {self.channels}, h, {width}] x) => (y) "
            f"<{self.kind}[{self.filters}, {own}, {high}, {wide}] w = {{{', '.join(map(str, weights.flat))}}}, "
            f"{self.kind}[{self.filters}] b = {{{', '.join(map(str, bias.flat))}}}> {{ "
            f"c = Conv <group = {self.group}, kernel_shape = {list(self.kernel)}, pads = {list(self.pads)}, "
            f"strides = [{self.stride}, {self.stride}], dilations = [{self.dilation}, {self.dilation}]> (x, w, b) "
            "y = Relu (c) }"
        )

    def image(self, *sizes: int) -> Array:
        batch, height, width = sizes
        return self._whole(batch, self.channels, height, width)

    def _whole(self, *shape: int) -> Array:
        dtype = np.float32 if self.kind == "float" else np.float64
        return np.random.default_rng(sum(shape)).integers(-5, 6, shape).astype(dtype)


CASES = {
    "few filters": Convolution(4, 8),
    "one filter": Convolution(5, 1),
    "groups": Convolution(12, 12, 3),
    "more filters than channels in groups": Convolution(4, 12, 4),
    "first layer": Convolution(3, 32, kernel=(3, 3), stride=2),
    "large windows": Convolution(2, 9, kernel=(5, 7), pads=(2, 3, 2, 3)),
    "long windows": Convolution(2, 5, kernel=(1, 12), pads=(0, 11, 0, 3)),
    "dilated": Convolution(3, 7, dilation=3, pads=(3, 0, 2, 4)),
    "stride 3": Convolution(3, 6, stride=3),
    "stride 5": Convolution(3, 6, stride=5),
    "single places": Convolution(20, 24, kernel=(1, 1), pads=(0, 0, 0, 0)),
    "single places, few filters": Convolution(20, 3, kernel=(1, 1), pads=(0, 0, 0, 0)),
    "double": Convolution(4, 6, kind="double"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_a_convolution_of_an_image_is_exact_for_whole_numbers(target: str, case: str) -> None:
    machine = host() if target == "here" else named(target)
    if machine.vector > host().vector:
        pytest.skip("this machine has no vectors of that length")
    convolution = CASES[case]
    for width in ("w", "37"):
        model = convolution.model(width)
        session = Session(model, providers=(Cpu(machine),), fallback=False, threads=1)
        reference = Session(model, providers=("reference",))
        for sizes in ((1, 5, 37), (2, 7, 37), *(((1, 6, 9), (1, 1, 64), (3, 9, 130)) if width == "w" else ())):
            if sizes[1] + sum(convolution.pads[::2]) < convolution.dilation * (convolution.kernel[0] - 1) + 1:
                continue
            image = convolution.image(*sizes)
            np.testing.assert_array_equal(session(image), reference(image))


@pytest.mark.parametrize("case", CASES)
def test_more_threads_give_the_bits_of_one(case: str) -> None:
    convolution = CASES[case]
    image = np.random.default_rng(0).standard_normal((2, convolution.channels, 40, 50))
    image = image.astype(np.float32 if convolution.kind == "float" else np.float64)
    results = [Session(convolution.model(), providers=("cpu",), threads=threads)(image) for threads in (1, 2, 3)]
    assert len({result.tobytes() for result in results}) == 1


@pytest.mark.parametrize("front", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_nothing_outside_of_buffers_is_touched(case: str, front: bool) -> None:
    convolution = CASES[case]
    with fenced(front) as fences:
        session = Session(convolution.model(), providers=("cpu",), threads=2)
        for sizes in ((1, 8, 33), (2, 9, 16), (1, 7, 50)):
            session.run(None, {"x": fences.holding(convolution.image(*sizes))})


def test_few_filters_and_small_groups_read_an_image_where_it_lies() -> None:
    if not host().masks:
        pytest.skip("columns are read in place under masks")
    for case in ("few filters", "groups", "dilated", "stride 3", "large windows"):
        assert [product.in_place for product in _products(CASES[case])] == [True]


def test_a_result_in_the_order_of_an_image_takes_no_copies() -> None:
    (product,) = _products(CASES["single places"])
    assert not product.packed
    session = Session(CASES["single places"].model(), providers=("cpu",))
    assert session.compiled is not None
    assert len(list(kernels_in(session.compiled.scheduled.steps))) == 1


def test_filters_that_fill_vectors_are_columns_before_another_layer() -> None:
    layers = parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[1, 3, 24, 24] x) => (y) '
        "<float[32, 3, 3, 3] a = {" + ", ".join(["1"] * 864) + "}, "
        "float[16, 32, 1, 1] b = {" + ", ".join(["1"] * 512) + "}> "
        "{ s = Conv (x, a) y = Conv (s, b) }"
    )
    session = Session(layers, providers=("cpu",))
    assert session.compiled is not None
    nests = [kernel.nests[0] for kernel in kernels_in(session.compiled.scheduled.steps)]
    assert [nest.packed for nest in nests if isinstance(nest, Contraction)] == [True, True]


def _products(convolution: Convolution) -> list[Contraction]:
    session = Session(convolution.model(), providers=("cpu",))
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    return [nest for nest in nests if isinstance(nest, Contraction)]
