"""The bytes of a text as printable characters, as GPT-2's vocabulary has them."""

from __future__ import annotations

from functools import cache


def as_characters(text: str) -> str:
    """A character for each byte of a text in UTF-8."""
    table = byte_characters()
    return "".join(table[byte] for byte in text.encode("utf-8", "replace"))


@cache
def byte_characters() -> tuple[str, ...]:
    """The character of each byte: itself where it is printable in Latin-1, else one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    characters: list[str] = []
    others = 0
    for byte in range(256):
        if byte in printable:
            characters.append(chr(byte))
        else:
            characters.append(chr(0x100 + others))
            others += 1
    return tuple(characters)
