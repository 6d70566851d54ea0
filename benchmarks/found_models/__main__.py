"""Found models beside onnxruntime: fetched, generated, measured one by one, each in a process of its own.

python -m benchmarks.found_models                  # all that are not measured yet; writes results/found_models.md
python -m benchmarks.found_models --again PATTERN  # measure those whose name has this expression again
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.found_models import FOLDER
from benchmarks.found_models.fetch import LIST, fetch, listed
from benchmarks.found_models.page import page

RESULT = Path(__file__).parent.parent / "results" / "found_models.md"
LIMIT = 120
"""Seconds that a model may take."""


def measured(path: Path) -> dict[str, Any]:
    """The result of a model, measured in a new process with an empty cache."""
    with tempfile.TemporaryDirectory(prefix="found-") as cache:
        environment = {**os.environ, "INGOT_CACHE": cache}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.found_models.measure", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return {"not run": f"takes more than {LIMIT} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"not run": f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1][:200]}"}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.found_models", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--again", metavar="PATTERN", help="measure models whose name has this expression again")
    parser.add_argument("--no-fetch", action="store_true", help="leave out what is not unpacked yet")
    parser.add_argument("--busy", action="store_true", help="say in the table that other programs were running")
    options = parser.parse_args(arguments)
    if not options.no_fetch:
        fetch(listed(LIST.read_text("utf-8")), FOLDER)
    kept = FOLDER / "results.json"
    results: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    models = [path for path in FOLDER.rglob("*") if path.suffix in (".onnx", ".ort")]
    models.sort(key=lambda path: (path.stat().st_size, path))  # the quick ones first
    for path in models:
        name = str(path.relative_to(FOLDER))
        wanted = options.again is not None and re.search(options.again, name)
        if (name in results and not wanted) or (options.again is not None and not wanted):
            continue
        results[name] = measured(path)
        print(name, json.dumps(results[name])[:300], file=sys.stderr, flush=True)
        kept.write_text(json.dumps(results, indent=1), "utf-8")
    RESULT.write_text(page(results, options.busy), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
