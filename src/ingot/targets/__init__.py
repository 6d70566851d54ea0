"""Targets: what another engine or an older opset takes of a model, and what would make the model fit."""

from ingot.targets.check import Verdict, check_for, verdict
from ingot.targets.finding import Finding
from ingot.targets.remedy import Remedy
from ingot.targets.table import known_targets

__all__ = ["Finding", "Remedy", "Verdict", "check_for", "known_targets", "verdict"]
