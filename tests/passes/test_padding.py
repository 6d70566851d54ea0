"""A Pad of zeros before a convolution goes into it."""

from __future__ import annotations

import pytest

from ingot.passes.padding import absorb_padding
from passes.written import applied, parsed

TEXT = """g (float[2, 3, 5, 6] x, float[4, 3, 3, 3] w) => (float[2, 4, h, k] y) <{held}> {{
    a = Pad{mode} (x, p{more})\n y = Conv{pads} (a, w)
}}"""


@pytest.mark.parametrize(
    ("held", "more", "pads", "wanted"),
    [
        ("int64[8] p = {0, 0, 1, 2, 0, 0, 3, 0}", "", "", (1, 2, 3, 0)),
        ("int64[8] p = {0, 0, 1, 2, 0, 0, 3, 0}", "", "<pads = [1, 1, 0, 0], strides = [2, 2]>", (2, 3, 3, 0)),
        ("int64[4] p = {1, 2, 3, 4}, float z = {0}, int64[2] axes = {-1, 2}", ", z, axes", "", (2, 1, 4, 3)),
        ("int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}", "", '<auto_pad = "VALID">', (1, 1, 1, 1)),
    ],
)
def test_zeros_around_an_image_are_padded_by_the_convolution(
    held: str, more: str, pads: str, wanted: tuple[int, ...]
) -> None:
    model = parsed(TEXT.format(held=held, mode="", more=more, pads=pads))
    assert applied(absorb_padding, model) == (1, ["y = Conv(x, w)"])
    assert model.graph.nodes[0].get("pads") == wanted


@pytest.mark.parametrize(
    ("held", "mode", "more", "pads"),
    [
        ("int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}", '<mode = "edge">', "", ""),
        ("int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float z = {1}", "", ", z", ""),
        ("int64[8] p = {1, 0, 1, 1, 0, 0, 1, 1}", "", "", ""),
        ("int64[8] p = {0, 0, -1, 1, 0, 0, 1, 1}", "", "", ""),
        ("int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}", "", "", '<auto_pad = "SAME_UPPER">'),
    ],
    ids=["edges", "ones", "a batch", "a crop", "as many as are needed"],
)
def test_other_padding_stays(held: str, mode: str, more: str, pads: str) -> None:
    text = TEXT.format(held=held, mode=mode, more=more, pads=pads).replace("float[2, 4, h", "float[b, 4, h")
    assert applied(absorb_padding, text)[0] == 0
