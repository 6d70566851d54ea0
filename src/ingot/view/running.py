"""What the page asks of running models: inputs, runs, values, comparisons and profiles, for each tab by itself."""

from __future__ import annotations

import io
import math
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.errors import InputError
from ingot.passes.precisions import PRECISIONS
from ingot.session import Cancel, Session
from ingot.tools.bench.cores import allowed
from ingot.view.answering import NotThere, is_number, stated
from ingot.view.colours import in_colour
from ingot.view.differences import Difference, differences
from ingot.view.flowed import flowed, one_tile
from ingot.view.inputs import Change
from ingot.view.labels import labels_of, read_labels
from ingot.view.plain import plain
from ingot.view.runs import Outcome, Runs

if TYPE_CHECKING:
    from ingot.ir.node import Node
    from ingot.ir.value import Value
    from ingot.view.answers import Answers

_TAB = re.compile(r"[A-Za-z0-9-]{1,40}")
_MOST_TABS = 16
"""Tabs whose runs are held: those that asked last."""

_MOST_WORST = 30
_MOST_TEXT = 1 << 20
_CHANGES = ("scale", "noise", "element")

Json = Any


class Running:
    """The runs of a model for the page, by the name that each tab has chosen for itself."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._tabs: dict[str, Runs] = {}
        self._choosing = threading.Lock()
        self._session: Session | None = None
        self._profile: Json = None
        self._fates: Mapping[str, list[str]] | None = None
        self._compiling = threading.Lock()

    def get(self, path: str) -> Json:
        """The answer to a path; NotThere if there is none."""
        name, *rest = path.split("/")
        match name, rest:
            case "state", [tab]:
                return self._state(self._runs(tab))
            case "profile", []:
                if self._profile is None:
                    raise NotThere("nothing was measured yet")
                return self._profile
            case "explain", [leaf] if is_number(leaf):
                return self._explain(int(leaf))
            case "result", [tab, *numbers] if len(numbers) in (2, 3) and all(map(is_number, numbers)):
                return self._result(self._runs(tab), *map(int, numbers))
        raise NotThere(f"nothing is found under '{path}'")

    def file(self, path: str) -> bytes:
        """A value of a run, `flow/TAB/RUN/VALUE`, as the content of an .npy file."""
        match = re.fullmatch(r"flow/([^/]+)/(\d{1,9})/(\d{1,9})", path)
        if match is None:
            raise NotThere(f"nothing is found under '{path}'")
        content = io.BytesIO()
        np.save(content, plain(self._runs(match[1]).array(int(match[2]), self._value(int(match[3])).name)))
        return content.getvalue()

    def post(self, path: str, body: bytes) -> Json:
        """The answer to a request that computes something; NotThere for any other."""
        name, *rest = path.split("/", 4)
        if not rest:
            raise NotThere(f"nothing is computed under '{path}'")
        runs = self._runs(rest[0])
        match name, rest[1:]:
            case "cancel", []:
                runs.cancel()
                return {}
            case "cancel", [work]:
                runs.works.stop(work)
                return {}
            case "feed", [index, rate, file] if is_number(index) and is_number(rate):
                if int(index) < len(self._answers.model.inputs):
                    return {"text": runs.inputs.upload(int(index), file, body, int(rate) or None)}
            case "labels", []:
                runs.labels = read_labels(body.decode("utf-8", "replace")) if body else []
                return {"count": len(runs.labels)}
            case "tokeniser", []:
                from ingot.feeds.tokeniser.read import read_tokeniser  # rarely needed

                runs.inputs.tokeniser = read_tokeniser(body) if body else None
                return {"text": runs.inputs.tokeniser.kind if runs.inputs.tokeniser else ""}
        action = _ACTIONS.get(name)
        if action is None or len(rest) != 1:
            raise NotThere(f"nothing is computed under '{path}'")
        return action(self, runs, _options(body))

    def _explain(self, number: int) -> Json:
        """Who runs a node, in sentences; the model is compiled for the first that is asked for."""
        from ingot.view.fates import fates_of  # imports the compiler

        scene = self._answers.scene
        node = scene.leaf(number).node if number < len(scene.leaves) else None
        if node is None:
            raise NotThere(f"there is no node {number}")
        with self._compiling:
            if self._fates is None:
                self._fates = fates_of(self._answers.model)
        lines = self._fates.get(node.label, ["optimised away before anything was compiled, or part of a function"])
        return {"lines": lines}

    def _runs(self, tab: str) -> Runs:
        if not _TAB.fullmatch(tab):
            raise NotThere("a tab has a short name of letters and digits")
        runs_by_tab = self._answers.runs_by_tab
        with self._choosing:  # a tab asks for several values at once
            runs = self._tabs.pop(tab, None)
            if runs is None:
                runs = Runs(self._answers.model, self._session)
                runs.labels = labels_of(self._answers.model.metadata)
                for old in list(self._tabs)[: max(0, len(self._tabs) + 1 - _MOST_TABS)]:
                    self._tabs.pop(old).cancel()
                    runs_by_tab.pop(old, None)
            if (last := runs_by_tab.get(tab, runs)) is not runs:  # of the model before it was edited, or after
                runs.inputs, runs.labels = last.inputs.fitting(self._answers.model), last.labels
            self._tabs[tab] = runs_by_tab[tab] = runs
            return runs

    def _state(self, runs: Runs) -> Json:
        """What a page that was loaded again has to know."""
        last = runs.last
        return {
            "running": runs.is_running,
            "works": runs.works.names,
            "profiled": self._profile is not None,
            "notes": runs.inputs.notes,
            "labels": len(runs.labels),
            "tokeniser": runs.inputs.tokeniser.kind if runs.inputs.tokeniser else "",
            "run": None if last is None else self._outcome(last),
            "differences": runs.differences,
        }

    def _speak(self, runs: Runs, options: Mapping[str, Json]) -> Json:
        return {"notes": runs.inputs.speak(str(options.get("text", ""))[:_MOST_TEXT])}

    def _run(self, runs: Runs, options: Mapping[str, Json]) -> Json:
        base = _optional_number(options, "base")
        outcome = runs.run(_number(options, "seed"), _shapes(options), self._changes(options), keep=base)
        self._session = self._session or runs.opened()
        shown = self._outcome(outcome)
        runs.differences = None
        if base is not None:
            runs.differences = self._differences(runs.outcome(base), outcome.arrays, "the run before")
        return {**shown, "differences": runs.differences}

    def _compare(self, runs: Runs, options: Mapping[str, Json]) -> Json:
        """Compare a run with another one, with compiled kernels, or with these in a precision."""
        from ingot.view.elsewhere import values_compiled  # imports the compiler

        outcome = runs.outcome(_number(options, "run"))
        other = options.get("with")
        if isinstance(other, int):
            runs.differences = self._differences(outcome, runs.outcome(other).arrays, f"run {other}")
            return runs.differences
        precision = other if isinstance(other, str) and other in PRECISIONS else None
        if other != "cpu" and precision is None:
            raise NotThere("a run is compared with another one, with 'cpu', or with a precision")

        model = self._answers.model

        def compared(cancel: Cancel) -> Json:
            arrays = values_compiled(model, outcome.arrays, outcome.feeds, precision, cancel, outcome.seed)
            differences = self._differences(outcome, arrays, f"compiled, {precision}" if precision else "compiled")
            cancel.check()
            runs.differences = differences  # before the work has ended, for a page that asks when it is loaded again
            return differences

        return runs.works.do("compare", compared)

    def _measure(self, runs: Runs, options: Mapping[str, Json]) -> Json:
        from ingot.view.profiles import profile, profile_json  # imports the compiler

        feeds, _ = runs.inputs.feeds(_number(options, "seed"), _shapes(options), {})
        if not isinstance(options.get("precision") or "", str):
            raise InputError("'precision' is the name of one")
        precision = options.get("precision") or None
        threads = _optional_number(options, "threads")
        if threads is not None and not 1 <= threads <= len(allowed()):
            raise InputError(f"this program may use {len(allowed())} processors; {threads} threads are asked for")
        seconds = min(30.0, max(0.0, _amount(options, "seconds", 1.0)))
        model, scene = self._answers.model, self._answers.scene

        def measured(cancel: Cancel) -> Json:
            times = profile(model, feeds, threads=threads, precision=precision, seconds=seconds, cancel=cancel)
            measurement = self._answers.numbered(lambda leaves: profile_json(times, scene, leaves))
            cancel.check()
            self._profile = measurement
            return measurement

        return runs.works.do("profile", measured)

    def _outcome(self, outcome: Outcome) -> Json:
        def shown(leaves: Mapping[Node | Value, int]) -> Json:
            values = self._answers.named_values()
            number = self._answers.scene.number_of
            ranges = {number(values[name]): each for name, each in outcome.ranges.items() if name in values}
            computed = [name for name in outcome.ranges if name in values]
            makers = {name: node for name in computed if (node := values[name].producer) is not None and node in leaves}
            order = list(dict.fromkeys(leaves[node] for node in makers.values()))
            turns = {leaf: turn for turn, leaf in enumerate(order)}
            first = None if outcome.first is None or outcome.first not in values else values[outcome.first].producer
            return {
                "number": outcome.number,
                "seconds": outcome.seconds,
                "ranges": {value: each.text for value, each in ranges.items()},
                "faults": [value for value, each in ranges.items() if each.invalid],
                "first": None if first is None else leaves.get(first),
                "order": order,
                "places": {number(values[name]): turns[leaves[node]] for name, node in makers.items()},
                "assumed": list(outcome.open_sizes),
                "inputs": {name: str(getattr(array, "shape", "")) for name, array in outcome.feeds.items()},
            }

        return self._answers.numbered(shown)

    def _differences(self, outcome: Outcome, arrays: Mapping[str, Any], what: str) -> Json:
        apart = differences(outcome.arrays, arrays)

        def shown(leaves: Mapping[Node | Value, int]) -> Json:
            scene, values = self._answers.scene, self._answers.named_values()
            nodes: dict[int, float] = {}
            levels: dict[int, float] = {}
            rows: list[tuple[float, float, int, int]] = []
            for name, each in apart.items():
                value = values.get(name)
                leaf = None if value is None else leaves.get(value.producer or value)
                if value is None or leaf is None:
                    continue
                error = _finite(each.relative)
                nodes[leaf] = max(nodes.get(leaf, 0.0), error)
                level: int | None = scene.leaves[leaf][0]
                while level is not None:
                    levels[level] = max(levels.get(level, 0.0), error)
                    level = scene.around(level)
                rows.append((error, _finite(each.largest), leaf, scene.number_of(value)))
            worst = sorted(rows, key=lambda row: -row[0])[:_MOST_WORST]
            return {
                "what": what,
                "nodes": nodes,
                "levels": levels,
                "compared": len(rows),
                "equal": sum(row[0] == 0 for row in rows),
                "outputs": self._output_rows(apart),
                "worst": [
                    {"error": error, "largest": largest, "leaf": leaf, "value": value, "title": self._title(value)}
                    for error, largest, leaf, value in worst
                    if error
                ],
            }

        return self._answers.numbered(shown)

    def _output_rows(self, apart: Mapping[str, Difference]) -> list[tuple[str, float]]:
        names = self._answers.model.graph.outputs.names
        return [(name, _finite(apart[name].relative)) for name in names if name in apart]

    def _title(self, number: int) -> str:
        value = self._value(number)
        return f"{value.producer.op_type} {value.name}" if value.producer is not None else value.name

    def _result(self, runs: Runs, run: int, number: int, tile: int | None = None) -> Json:
        value = self._value(number)
        array = runs.array(run, value.name)
        try:
            if tile is not None:
                return one_tile(array, tile)
        except IndexError:
            raise NotThere(f"'{value.name}' has no tile {tile}") from None
        shown = flowed(array, value, runs.labels)
        return {**shown, "colours": in_colour(array) if value.producer is None else None}

    def _value(self, number: int) -> Value:
        values = self._answers.scene.values
        if not 0 <= number < len(values):
            raise NotThere(f"there is no value {number}")
        return values[number]

    def _changes(self, options: Mapping[str, Json]) -> dict[int, Change]:
        changes: dict[int, Change] = {}
        wanted = options.get("changes") or {}
        if not isinstance(wanted, dict) or not all(isinstance(each, dict) for each in wanted.values()):
            raise NotThere("changes of inputs are an object of objects")
        for index, each in wanted.items():
            if not is_number(str(index)) or int(index) >= len(self._answers.model.inputs):
                raise NotThere(f"there is no input {index}")
            if each.get("kind") not in _CHANGES:
                raise NotThere(f"an input is changed by {', '.join(_CHANGES)}")
            changes[int(index)] = Change(each["kind"], _amount(each, "amount", 0.0), _number(each, "at"))
        return changes


_ACTIONS: dict[str, Callable[[Running, Runs, Mapping[str, Json]], Json]] = {
    "run": Running._run,
    "compare": Running._compare,
    "profile": Running._measure,
    "text": Running._speak,
}


def _options(body: bytes) -> Mapping[str, Json]:
    """What a request states; NotThere if its shapes are none."""
    options = stated(body)
    if not isinstance(options.get("shapes", {}), dict):
        raise NotThere("the shapes of a run are an object, in JSON")
    return options


def _shapes(options: Mapping[str, Json]) -> dict[str, str]:
    return {str(name): str(text) for name, text in options.get("shapes", {}).items() if str(text).strip()}


def _number(options: Mapping[str, Json], name: str) -> int:
    number = options.get(name, 0)
    if not isinstance(number, int) or not 0 <= number < 1 << 63:
        raise InputError(f"'{name}' is a number from 0 on")
    return number


def _amount(options: Mapping[str, Json], name: str, default: float) -> float:
    amount = options.get(name, default)
    if not isinstance(amount, int | float) or not abs(amount) <= sys.float_info.max:
        raise InputError(f"'{name}' is a finite number")
    return float(amount)


def _optional_number(options: Mapping[str, Json], name: str) -> int | None:
    return None if options.get(name) is None else _number(options, name)


def _finite(number: float) -> float:
    """A number as JSON has it: what is infinite is very large."""
    return number if math.isfinite(number) else 1e300
