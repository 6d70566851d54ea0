"""Tests say what runs a model when it matters; where they do not, the reference does, which compiles nothing."""

from __future__ import annotations

import os

os.environ.setdefault("INGOT_PROVIDERS", "reference")
