"""Cases that do not pass, each with its reason; the list only shrinks, since a case on it must fail."""

from __future__ import annotations

from pathlib import Path


def _read(path: Path) -> dict[str, str]:
    """`name: reason` on a line; lines that begin with # are comments."""
    rows = [line.split(":", 1) for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, reason in rows}


KNOWN = _read(Path(__file__).parent / "known_failures" / "reference.txt")
KNOWN_CPU = {**KNOWN, **_read(Path(__file__).parent / "known_failures" / "cpu.txt")}
KNOWN_TORCH = _read(Path(__file__).parent / "known_failures" / "to_torch.txt")
