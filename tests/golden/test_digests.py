"""The kernels of the zoo are what they were: a change that alters code says so by recording new digests."""

from __future__ import annotations

import pytest

from golden.zoo import DIGESTS, NAMES, digests_of


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_of_a_model_are_those_that_were_recorded(name: str) -> None:
    recorded = (DIGESTS / f"{name}.txt").read_text("utf-8").splitlines()
    assert digests_of(name) == recorded, "if kernels are meant to change: python tests/golden/zoo.py record"
