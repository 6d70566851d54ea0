from __future__ import annotations

import pytest

from ingot.errors import CheckError
from ops.control.written import types

MAPPED = """g (seq(float[N, 3]) s, float[3, {columns}] w) => (y) {{
    y = SequenceMap(s, w) <body = b (x, m) => (z) {{ {body} }}> }}"""


def test_a_body_without_types_is_told_what_it_is_given() -> None:
    assert types(MAPPED.format(columns=5, body="z = MatMul(x, m)")) == ["sequence(float32[N, 5])"]


def test_what_a_body_cannot_compute_is_refused() -> None:
    with pytest.raises(CheckError, match="inner dimensions differ: 3 and 5"):
        types(MAPPED.format(columns=5, body="t = Transpose(m) \n z = MatMul(x, t)"))
