"""From TensorFlow: a SavedModel or a function, by way of its graph, one rule for each raw operator."""

from ingot.convert.tensorflow.convert import convert_tensorflow
from ingot.convert.tensorflow.rule import Rule, Site, rule

__all__ = ["Rule", "Site", "convert_tensorflow", "rule"]
