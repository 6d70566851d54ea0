"""From PyTorch: a module or an exported program, by way of torch.export, one rule for each operator."""

from ingot.convert.torch.convert import convert_torch
from ingot.convert.torch.rule import Rule, Site, rule

__all__ = ["Rule", "Site", "convert_torch", "rule"]
