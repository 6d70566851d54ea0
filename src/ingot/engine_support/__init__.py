"""Targets: what another engine or an older opset takes of a model, and what would make the model fit."""

from ingot.engine_support.check import Verdict, check_for, verdict
from ingot.engine_support.finding import Finding
from ingot.engine_support.remedy import Remedy
from ingot.engine_support.table import known_targets

__all__ = ["Finding", "Remedy", "Verdict", "check_for", "known_targets", "verdict"]
