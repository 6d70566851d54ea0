"""Convert a booster for every objective, and write the table: benchmarks/results/boosters.md."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from ingot.convert import Request, converted

sys.path.insert(0, str(Path(__file__).parents[2]))
from convert.boosters.cases import CASES

RESULT = Path(__file__).parents[3] / "benchmarks" / "results" / "boosters.md"


def main() -> None:
    warnings.simplefilter("ignore")
    lines = []
    wrong = 0
    for name, make in CASES.items():
        try:
            _, report = converted(*make(), Request())
            shown = ", ".join(str(output) for output in report.outputs) if report else ""
        except Exception as error:
            wrong += 1
            shown = f"**{type(error).__name__}: {str(error).splitlines()[0]}**"
            print(name, shown, flush=True)
        library, _, objective = name.partition(" ")
        lines.append(f"| {library} | {objective} | {shown.replace('|', '/')} |")
    head = [
        "# Boosters",
        "",
        f"{len(CASES)} fitted boosters, every objective and what else is particular: {wrong} of them not converted",
        "or not equal. Rows have missing values, and are the example and three seeded variants of it. Numbers must",
        "agree to 1e-5, labels exactly. `python tests/convert/boosters/walk.py`",
        "",
        "| library | objective | largest difference from the original |",
        "|---|---|---|",
    ]
    RESULT.write_text("\n".join([*head, *lines]) + "\n", "utf-8")
    print(len(CASES), "cases,", wrong, "wrong")


if __name__ == "__main__":
    main()
