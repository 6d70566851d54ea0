"""Convert every estimator of scikit-learn, beside skl2onnx, and write the table: benchmarks/results/sklearn.md."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ingot.convert import Request, converted
from ingot.errors import ConvertError, IngotError, VerifyError

sys.path.insert(0, str(Path(__file__).parents[2]))
from convert.sklearn.cases import fitted

RESULT = Path(__file__).parents[3] / "benchmarks" / "results" / "sklearn.md"
METHODS = ("predict", "transform", "score_samples", "kneighbors")


def ours(model: Any, example: Any) -> tuple[str, str]:
    try:
        _, report = converted(model, example, Request())
    except VerifyError as error:
        return "wrong", str(error).replace("\n", "; ")
    except ConvertError as error:
        reason = "; ".join(error.where) or error.message
        return ("missing" if "no rule for it" in reason else "not expressible"), reason
    except IngotError as error:
        return "missing", error.message
    except Exception as error:
        return "missing", f"{type(error).__name__}: {error}"
    assert report is not None
    return "equal", ", ".join(str(output) for output in report.outputs)


def theirs(model: Any, example: Any) -> str:
    """What skl2onnx makes of it: converted and near the original on the example, converted and not, or not."""
    from onnxruntime import InferenceSession
    from skl2onnx import to_onnx

    if isinstance(example[0], dict):
        return _of_dictionaries(model, example)
    try:
        rows = np.array(example, dtype=object).reshape(-1, 1) if isinstance(example, list) else np.asarray(example)
        if rows.dtype == object:
            rows = rows.astype(str)
        options: Any = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
        try:
            made = to_onnx(model, rows[:1], options=options)
        except Exception:
            made = to_onnx(model, rows[:1])
    except Exception:
        return "–"
    try:
        session = InferenceSession(made.SerializeToString())
        feed = rows.astype(object) if rows.dtype.kind == "U" else rows
        found = session.run(None, {session.get_inputs()[0].name: feed})
    except Exception:
        return "does not run"
    try:
        return "equal" if _near(model, rows, found[0]) else "differs"
    except Exception:
        return "differs"


def _of_dictionaries(model: Any, example: Any) -> str:
    """The same of what takes one dictionary at a time."""
    from onnxruntime import InferenceSession
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DictionaryType, FloatTensorType, StringTensorType

    types = [("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))]
    session = InferenceSession(to_onnx(model, initial_types=types).SerializeToString())
    found = [session.run(None, {"X": row})[0] for row in example if row]
    wanted = model.transform([row for row in example if row]).toarray()
    return "equal" if np.allclose(np.concatenate(found), wanted) else "differs"


def _near(model: Any, rows: Any, found: Any) -> bool:
    method = "predict" if hasattr(model, "predict") else "transform"
    given = rows[:, 0] if rows.dtype.kind == "U" and rows.shape[1] == 1 else rows
    wanted = getattr(model, method)(given)
    dense = np.asarray(wanted.toarray() if hasattr(wanted, "toarray") else wanted)
    found = np.asarray(found)
    if dense.size != found.size:
        return False
    if dense.dtype.kind in "OUSiub":
        return bool((dense.reshape(-1).astype(str) == found.reshape(-1).astype(dense.dtype).astype(str)).all())
    return bool(np.allclose(dense.reshape(-1), found.reshape(-1), rtol=1e-3, atol=1e-4, equal_nan=True))


def main(names: list[str]) -> None:
    from sklearn.utils import all_estimators

    warnings.simplefilter("ignore")
    rows, counts, peers = [], Counter[str](), Counter[str]()
    for name, kind in all_estimators():
        if names and name not in names:
            continue
        if not any(hasattr(kind, method) for method in METHODS) and name != "FrozenEstimator":
            rows.append((name, "nothing to run", "it has no method for other rows than those of the fit", "–"))
            counts["nothing to run"] += 1
            continue
        started = time.perf_counter()
        try:
            model, example = fitted(name, kind)
        except Exception as error:
            rows.append((name, "missing", f"the case does not fit: {error}"[:200], "–"))
            counts["missing"] += 1
            continue
        state, detail = ours(model, example)
        other = theirs(model, example)
        counts[state] += 1
        peers[other] += 1
        rows.append((name, state, detail, other))
        if names or state != "equal":
            print(f"{name}: {state}: {detail[:400]} | {other} ({time.perf_counter() - started:.1f} s)", flush=True)
    print(dict(counts), "skl2onnx:", dict(peers))
    behind = [row[0] for row in rows if row[3] == "equal" and row[1] != "equal"]
    print("equal by skl2onnx and not by us:", behind)
    if not names:
        write(rows, counts, peers)


def write(rows: list[tuple[str, str, str, str]], counts: Counter[str], peers: Counter[str]) -> None:
    import skl2onnx
    import sklearn

    ours_, theirs_ = (", ".join(f"{count} {name}" for name, count in found.most_common()) for found in (counts, peers))
    lines = [
        "# scikit-learn",
        "",
        f"Every estimator of `sklearn.utils.all_estimators()` of scikit-learn {sklearn.__version__}, converted and",
        f"verified, beside skl2onnx {skl2onnx.__version__} in the same run: `python tests/convert/sklearn/walk.py`.",
        "",
        f"- ingot: {ours_}",
        f"- skl2onnx: {theirs_} (– : not converted)",
        "",
        "Equal means for ingot: labels the same, numbers within 1e-5 of scikit-learn's on the example and three seeded",
        "variants of it. For skl2onnx: its first output within 1e-3 on the example alone. Its text vectorisers do not",
        "run where the system lacks the locale en_US. DictVectorizer takes one dictionary at a time in both. What",
        "hashes strings needs MurmurHash3 of com.microsoft, which onnxruntime and ingot have; all else is ONNX alone.",
        "",
        "| estimator | ingot | | skl2onnx |",
        "|---|---|---|---|",
        *(f"| {name} | {state} | {detail.replace('|', '/')[:160]} | {other} |" for name, state, detail, other in rows),
    ]
    RESULT.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
