"""Operators on text, none of which an older version can say."""

from __future__ import annotations

import pytest

from ops.tensor.older import refusal


@pytest.mark.parametrize(
    ("node", "to"),
    [
        ("StringConcat(x, x)", 19),
        ('RegexFullMatch<pattern="a">(x)', 19),
        ('StringNormalizer<case_change_action="LOWER">(x)', 9),
    ],
)
def test_text_is_refused_by_the_name_of_its_operator(node: str, to: int) -> None:
    element = "bool" if node.startswith("Regex") else "string"
    name = node.partition("(")[0].partition("<")[0]
    assert f"{name} has no equivalent there" in refusal(f"g (string[n] x) => ({element}[n] y) {{ y = {node} }}", to)
