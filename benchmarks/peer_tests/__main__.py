"""Run onnxruntime's own Python tests and test models on onnxruntime and through `ingot.compat`, and print both.

    python -m benchmarks.peer_tests CHECKOUT [--models | --quantization] [--file NAME ...] [--limit SECONDS] [--json F]

CHECKOUT is a copy of onnxruntime's repository, or of its `onnxruntime/test/python` and `onnxruntime/test/testdata`:

    git clone --depth 1 --filter=blob:none --sparse https://github.com/microsoft/onnxruntime
    git -C onnxruntime sparse-checkout set onnxruntime/test/python onnxruntime/test/testdata

The tests need `parameterized` and the version of onnx that their requirements.txt names, which is not newer than
onnxruntime knows; what else they import is in requirements/test.txt and requirements/converters.txt. Each file runs in
a copy of the tests in a temporary folder. Printed are the cases that pass with onnxruntime and fail through
`ingot.compat`, and the counts; a file of which onnxruntime runs no case is not counted. With `--models`, the models
under `testdata` are opened and run by both instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from benchmarks.peer_tests.watch import FILE, PYTHON, START, Report, reports

ROOT = Path(__file__).parent.parent.parent
FILES = (
    "onnxruntime_test_python",
    "onnxruntime_test_python_autoep",
    "onnxruntime_test_python_backend",
    "onnxruntime_test_python_backend_mlops",
    "onnxruntime_test_python_compile_api",
    "onnxruntime_test_python_ep_compatibility",
    "onnxruntime_test_python_global_threadpool",
    "onnxruntime_test_python_iobinding",
    "onnxruntime_test_python_keras",
    "onnxruntime_test_python_mlops",
    "onnxruntime_test_python_nested_control_flow_op",
    "onnxruntime_test_python_ort_parallel",
    "onnxruntime_test_python_preload_dlls",
    "onnxruntime_test_python_sparse_matmul",
    "onnxruntime_test_python_symbolic_shape_infer",
    "onnxruntime_test_python_symlink_data",
    "onnxruntime_test_engine_wrapper",
    "onnxruntime_test_float8",
    "onnxruntime_test_float8_gemm8",
    "onnxruntime_test_scatternd",
    "test_pytorch_export_contrib_ops",
)
"""The files that a processor alone can run."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--models", action="store_true", help="the test models instead of the tests")
    parser.add_argument("--file", action="append", help="only this file of the tests, without .py")
    parser.add_argument("--quantization", action="store_true", help="the tests of the quantiser instead")
    parser.add_argument("--limit", type=float, default=60, help="seconds for each case or model")
    parser.add_argument("--json", type=Path, help="write every outcome to this file too")
    options = parser.parse_args()
    tests = options.checkout / "onnxruntime" / "test"
    if not (tests / "python").is_dir():
        parser.error(f"{tests / 'python'} is not there: give a checkout of onnxruntime's repository")
    if options.models:
        outcomes = {"models": models(tests / "testdata", options.limit)}
        _print_models(outcomes["models"])
    else:
        files = options.file or FILES
        if options.quantization:
            folder = tests / "python" / "quantization"
            files = [f"quantization/{path.stem}" for path in sorted(folder.glob("test_*.py"))]
        outcomes = tested(tests, files, options.limit)
    if options.json:
        named = {key: {one.item: [one.outcome, one.detail] for one in found} for key, found in outcomes.items()}
        options.json.write_text(json.dumps(named, indent=1))
    return 0


def models(folder: Path, limit: float) -> list[Report]:
    command = [PYTHON, "-m", "benchmarks.peer_tests.models", str(folder.resolve())]
    return list(reports(command, ROOT, limit, {}))


def tested(tests: Path, files: Sequence[str], limit: float) -> dict[str, list[Report]]:
    """What became of each case, by file and engine; the table is printed as it grows."""
    outcomes: dict[str, list[Report]] = {}
    totals: Counter[str] = Counter()
    print("| file | cases that pass with onnxruntime | of these through ingot.compat |\n|---|---|---|")
    failing: list[tuple[str, Report]] = []
    for file in files:
        both = []
        for engine, through in (("onnxruntime", ()), ("ingot", ("-m", "ingot.compat"))):
            with tempfile.TemporaryDirectory() as folder:
                _copy(tests, Path(folder))
                cases = str(Path(__file__).with_name("cases.py"))
                command = [PYTHON, *through, cases, f"{file}.py"]
                found = list(reports(command, Path(folder), limit, {}))
                outcomes[f"{file} {engine}"] = found
                both.append({report.item: report for report in found})
        reason = not_run(both[0].values())
        if reason is not None:
            print(f"| {file} | not run: {reason} | |", flush=True)
            continue
        passing = [item for item, report in both[0].items() if report.outcome == "pass"]
        missing = Report("", "absent")
        lost = [(item, both[1].get(item, missing)) for item in passing]
        lost = [(item, report) for item, report in lost if report.outcome != "pass"]
        failing += [(file, Report(item, report.outcome, report.detail)) for item, report in lost]
        totals.update(passing=len(passing), lost=len(lost))
        print(f"| {file} | {len(passing)} | {len(passing) - len(lost)} |", flush=True)
    print(f"| all | {totals['passing']} | {totals['passing'] - totals['lost']} |\n")
    for file, report in failing:
        print(f"{file} {report.item}: {report.outcome}: {report.detail}")
    return outcomes


def not_run(found: Collection[Report]) -> str | None:
    """Why a file ran no case at all; None if it ran one."""
    if any(report.item not in (START, FILE) for report in found):
        return None
    return next((f"{report.outcome}: {report.detail}" for report in found), "it has no cases")


def _copy(tests: Path, folder: Path) -> None:
    """The tests as a build of onnxruntime lays them out: the files in a folder, and `testdata` below it."""
    for path in (tests / "python").glob("*.py"):
        shutil.copy(path, folder)
    shutil.copytree(tests / "python" / "quantization", folder / "quantization")
    shutil.copytree(tests / "testdata", folder / "testdata", symlinks=True)


def _print_models(found: Sequence[Report]) -> None:
    counts: Mapping[str, int] = Counter(report.outcome for report in found)
    print("| outcome | models |\n|---|---|")
    for outcome, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        print(f"| {outcome} | {count} |")
    print()
    for report in found:
        if report.outcome not in ("agrees", "no comparison"):
            print(f"{report.item}: {report.outcome}: {report.detail}")


if __name__ == "__main__":
    sys.exit(main())
