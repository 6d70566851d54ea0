"""What models become at each stage is verified in these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_DEBUG", "1")
