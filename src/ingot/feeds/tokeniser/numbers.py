"""Numbers of tokens, as files state them."""

from __future__ import annotations

_MOST = 1 << 31


def token_number(stated: object) -> int:
    """The number of a token or of a part of a text; ValueError if none has it."""
    if isinstance(stated, bool) or not isinstance(stated, int) or not 0 <= stated < _MOST:
        raise ValueError(f"{stated!r:.40} is the number of no token")
    return stated
