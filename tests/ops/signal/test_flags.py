from __future__ import annotations

import pytest

from ingot.errors import CheckError
from ops.reduction.one_node import inferred


def test_a_transform_is_inverse_and_onesided_or_not() -> None:
    with pytest.raises(CheckError, match="inverse is 3, it must be 0 or 1"):
        inferred("DFT", [("float32", [2, 8, 1])], inverse=3)
    with pytest.raises(CheckError, match="onesided is -1, it must be 0 or 1"):
        inferred("DFT", [("float32", [2, 8, 1])], onesided=-1)
