"""From Keras 3: a model becomes a graph, each of its layers by one rule, whatever backend it runs on."""

from ingot.convert.keras.conversion import Conversion
from ingot.convert.keras.convert import convert_keras
from ingot.convert.keras.rule import register, rule

__all__ = ["Conversion", "convert_keras", "register", "rule"]
