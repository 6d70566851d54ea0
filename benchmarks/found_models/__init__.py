"""Models that no test was written for: out of packages on PyPI and npm, and as exporters write them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent.parent / "build" / "found"
"""Where models are unpacked to, and what is measured of them is kept."""
