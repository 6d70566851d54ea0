"""Convert every public layer of keras.layers and write the table: benchmarks/results/keras.md."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from convert.keras.cases import NO_MEANING, NOT_EXPRESSIBLE, cases, public
from ingot import encode
from ingot.convert import Request, compare, converted
from ingot.convert.api import in_versions
from ingot.convert.keras import convert_keras
from ingot.errors import ConvertError, IngotError, UnsupportedError, VerifyError

RESULT = Path(__file__).parents[3] / "benchmarks" / "results" / "keras.md"


def outcome(make: Callable[[], Any]) -> tuple[str, str, float]:
    """What comes of one case: equal, not expressible, wrong or missing; why; how far apart at most."""
    made = make()
    model, example = made if isinstance(made, tuple) else (made, None)
    try:
        _, report = converted(model, example, Request())
    except VerifyError as error:
        return "wrong", str(error).replace("\n", "; "), 0.0
    except ConvertError as error:
        reason = "; ".join(error.where) or error.message
        return ("missing" if "no rule for it" in reason else "not expressible"), reason, 0.0
    except IngotError as error:
        return "missing", str(error).replace("\n", "; "), 0.0
    assert report is not None
    return "equal", "", max((output.absolute for output in report.outputs), default=0.0)


def in_onnxruntime(make: Callable[[], Any]) -> str:
    """What onnxruntime makes of the same in opset 18, or in 21 where 18 lacks an operator: equal, or what not."""
    import onnxruntime

    made = make()
    model, example = made if isinstance(made, tuple) else (made, None)
    source = convert_keras(model, example, Request())
    try:
        opset, written = 18, in_versions(source.model, 18)
    except UnsupportedError:
        opset, written = 21, in_versions(source.model, 21)
    try:
        session = onnxruntime.InferenceSession(encode(written))
        for feeds in source.examples:
            for wanted, found in zip(source.original(feeds), session.run(None, feeds), strict=True):
                wrong = compare("", wanted, found, source.tolerance)[1]
                if wrong is not None:
                    return wrong
    except Exception as error:
        return str(error)
    return "equal" if opset == 18 else f"equal in opset {opset}"


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    known, rows, counts = cases(), [], Counter[str]()
    for name in public():
        if names and name not in names:
            continue
        started, peer = time.perf_counter(), "–"
        if name in NO_MEANING:
            state, detail = "no inference meaning", NO_MEANING[name]
        elif name in known:
            state, detail = _together(known[name])
            peers = {in_onnxruntime(make) for make in known[name]} if state == "equal" else {"–"}
            peer = ", ".join(sorted(peers))
        else:
            state, detail = "missing", "no case"
        if name in NOT_EXPRESSIBLE:
            refused, reason, _ = outcome(NOT_EXPRESSIBLE[name])
            if name not in known:
                state, detail = refused, reason
            else:
                detail += f"; else {refused}: {reason}"
        counts[state] += 1
        rows.append((name, state, detail, peer))
        if names or state not in ("equal", "no inference meaning") or not peer.startswith(("equal", "–")):
            print(f"{name}: {state}: {detail[:1500]} | {peer} ({time.perf_counter() - started:.1f} s)", flush=True)
    print(dict(counts))
    if not names:
        _write(rows, counts)


def _together(makes: list[Callable[[], Any]]) -> tuple[str, str]:
    """The state of a layer: the worst of its cases."""
    furthest = 0.0
    for place, make in enumerate(makes):
        try:
            state, detail, apart = outcome(make)
        except Exception as error:
            state, detail, apart = "missing", f"{type(error).__name__}: {error}", 0.0
        if state != "equal":
            return state, f"case {place}: {detail}"
        furthest = max(furthest, apart)
    return "equal", f"{len(makes)} case{'s' if len(makes) > 1 else ''}, at most {furthest:.1e} apart"


def _write(rows: list[tuple[str, str, str, str]], counts: Counter[str]) -> None:
    import keras

    lines = [
        "# Keras",
        "",
        f"Every public class of `keras.layers` of Keras {keras.__version__} on {keras.backend.backend()}, in one model",
        "or several, converted and verified: `python tests/convert/keras/walk.py`.",
        "",
        f"- {', '.join(f'{count} {name}' for name, count in counts.most_common())}",
        "",
        "Equal means: integers, booleans and strings the same, numbers within 1e-4 of Keras' (2e-2 in half precision),",
        "on an example and on seeded variants of it with other batch sizes and lengths. The last column is what",
        "onnxruntime gives for the same model in opset 18.",
        "",
        "| layer | | | onnxruntime |",
        "|---|---|---|---|",
        *(
            f"| {name} | {state} | {detail.replace('|', '/')[:200]} | {peer.replace('|', '/')[:80]} |"
            for name, state, detail, peer in rows
        ),
    ]
    RESULT.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
