"""The guide to the builder says what happens: its examples run, in order."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "building.md"


def test_the_examples_of_the_guide_run() -> None:
    text = GUIDE.read_text("utf-8")
    names: dict[str, object] = {"__name__": "guide"}
    for block in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(GUIDE), "exec"), names)
    assert "powers" in names
