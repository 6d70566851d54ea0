from __future__ import annotations

from pathlib import Path

from ingot.ops.catalog import standard
from ingot.ops.page import page

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def test_the_page_of_operators_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(standard()), "run: python -m ingot.ops.page > docs/operators.md"
