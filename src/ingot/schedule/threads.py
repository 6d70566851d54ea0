"""The number of threads as a named size."""

from __future__ import annotations

THREADS = "$threads"
"""The name of the number of threads of a session among the sizes of a plan. Were a model to have a size of this name,
its guards would fail, and it would be compiled again without the names that it declares."""
