"""Methods that change a float model before it is quantised, and none of its results."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.quantise.awq import scale_important
from ingot.quantise.calibrate import Progress
from ingot.quantise.equalise import equalise
from ingot.quantise.options import Options
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product, select
from ingot.quantise.samples import Samples
from ingot.quantise.smooth import smooth
from ingot.quantise.statistics import channel_reaches, second_moments


def transformed(
    prepared: Prepared, products: Sequence[Product], samples: Samples | None, options: Options, progress: Progress
) -> Prepared:
    """The model with what the options ask for applied, which is changed."""
    if "equalise" in options.methods:
        prepared = equalise(prepared)
        products = select(prepared, options).products
    if "smooth" in options.methods:
        assert samples is not None
        reaches = channel_reaches(prepared.model, products, samples, progress)
        prepared = smooth(prepared, products, reaches)
        products = select(prepared, options).products
    if "awq" in options.methods:
        assert samples is not None
        moments = second_moments(prepared.model, products, samples, progress)
        prepared = scale_important(prepared, products, moments, options)
    return prepared
