"""Checking a model against a target: what the target does not take, and what would fix it."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.engine_support.finding import Finding
from ingot.engine_support.opsets import opset_of, refused_by
from ingot.engine_support.remedy import Remedy, remedy_for, to_opset
from ingot.engine_support.table import table_for
from ingot.engine_support.take import findings_for
from ingot.ir.model import Model


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a target makes of a model; `source` says where the facts about it are from."""

    target: str
    source: str
    findings: tuple[Finding, ...]
    remedy: Remedy | None = None

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity == "error"]


def check_for(model: Model, target: str) -> list[Finding]:
    """What a target cannot take of a model: nothing if it takes all of it.

    `target` is `onnxruntime`, `openvino` or `tensorrt`, with a release as `onnxruntime:1.22` if not the newest that is
    known, or an opset, as `opset:17`. InputError for any other.
    """
    if target.startswith("opset:"):
        return refused_by(model, opset_of(target))
    return findings_for(model, table_for(target))


def verdict(model: Model, target: str) -> Verdict:
    """What `check_for` finds, and the remedy that was tried out and helps, if there is one.

    Of an opset that can express the whole model, the remedy is the command that brings it there.
    """
    findings = tuple(check_for(model, target))
    if target.startswith("opset:"):
        opset, own = opset_of(target), model.opset
        way = None if findings or own in (None, opset) else Remedy((to_opset(own or opset, opset),), 0, ())
        return Verdict(f"opset {opset}", "the rules that rewrite operators in older versions", findings, way)
    table = table_for(target)
    errors = [finding for finding in findings if finding.severity == "error"]
    remedy = None
    if errors:

        def judge(candidate: Model) -> list[Finding]:
            return [finding for finding in findings_for(candidate, table) if finding.severity == "error"]

        remedy = remedy_for(model, table, errors, judge)
    return Verdict(f"{table} ({table.where})", table.source, findings, remedy)
