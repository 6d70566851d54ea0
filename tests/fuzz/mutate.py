"""Mutations of model files and texts: the same seed and number always give the same input.

Some work on bytes and more on the tree of fields, so that much of the damage is deep inside a file that is otherwise
well formed: fields doubled, moved, dropped, given another type or number, lengths that lie, parts of other files.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from wiretree import BYTES, EIGHT, FOUR, VARINT, Item, Tree, long_varint, parse, varint

_INTS = [0, 1, 2, 3, 7, 8, 63, 64, 100, 127, 128, 255, 256, 999, 1 << 15, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31]
_INTS += [1 << 32, 1 << 40, 1 << 59, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 2]
_BYTES = [b"", b"\0", b"\xff", b"\xc3\x28", b"a", b"../x", b"n*(m+1)//2", b"x" * 300, b"\x80" * 12, bytes(64)]
_LONGEST = 1 << 16


def mutated(seed: int, number: int, corpus: Sequence[bytes]) -> bytes:
    """Input `number` of the run of that seed."""
    source = random.Random(f"{seed}/{number}")
    data = source.choice(corpus)
    for _ in range(source.choice([1, 1, 1, 2, 2, 3, 5, 8])):
        change = source.choice(_ON_BYTES) if source.random() < 0.3 else _in_tree
        changed = change(source, data, source.choice(corpus))
        if len(changed) < _LONGEST:
            data = changed
    return data


def mutated_words(seed: int, number: int, corpus: Sequence[bytes]) -> bytes:
    """Input `number` of the run of that seed, of files that are found their way in by offsets: words are changed."""
    source = random.Random(f"{seed}/{number}")
    data = source.choice(corpus)
    for _ in range(source.choice([1, 1, 1, 2, 2, 3, 5, 8])):
        change = source.choice(_ON_BYTES) if source.random() < 0.2 else _set_word
        changed = change(source, data, source.choice(corpus))
        if len(changed) < _LONGEST:
            data = changed
    return data


def mutated_text(seed: int, number: int, corpus: Sequence[str]) -> str:
    """Text `number` of the run of that seed."""
    source = random.Random(f"{seed}/{number}")
    text = source.choice(corpus)
    for _ in range(source.choice([1, 1, 2, 3, 5])):
        text = source.choice(_ON_TEXT)(source, text, source.choice(corpus))
    return text[:_LONGEST]


# On bytes.


def _flip(source: random.Random, data: bytes, _: bytes) -> bytes:
    out = bytearray(data or b"\0")
    for _count in range(source.choice([1, 1, 2, 8])):
        out[source.randrange(len(out))] ^= 1 << source.randrange(8)
    return bytes(out)


def _overwrite(source: random.Random, data: bytes, _: bytes) -> bytes:
    position = source.randrange(len(data) + 1)
    new = source.choice([b"\0", b"\x7f", b"\x80", b"\xff", source.randbytes(source.randint(1, 8))])
    return data[:position] + new + data[position + len(new) :]


def _insert(source: random.Random, data: bytes, _: bytes) -> bytes:
    position = source.randrange(len(data) + 1)
    return data[:position] + source.randbytes(source.choice([1, 1, 2, 4, 16])) + data[position:]


def _delete(source: random.Random, data: bytes, _: bytes) -> bytes:
    position = source.randrange(len(data) + 1)
    return data[:position] + data[position + source.choice([1, 1, 2, 4, 16, 100]) :]


def _cut(source: random.Random, data: bytes, _: bytes) -> bytes:
    return data[: source.randrange(len(data) + 1)]


def _repeat(source: random.Random, data: bytes, _: bytes) -> bytes:
    start = source.randrange(len(data) + 1)
    part = data[start : start + source.choice([1, 2, 5, 20, 100])]
    return data[:start] + part * source.choice([2, 3, 20, 200]) + data[start:]


def _set_word(source: random.Random, data: bytes, _: bytes) -> bytes:
    """Another word, or a part of one: a number, one near to what it was, or one that is elsewhere in the file."""
    start = source.randrange(0, max(len(data) - 4, 1), 4)
    old = int.from_bytes(data[start : start + 4], "little")
    elsewhere = source.randrange(0, max(len(data) - 4, 1))
    other = int.from_bytes(data[elsewhere : elsewhere + 4], "little")
    near = old + source.choice([-8, -4, -2, -1, 1, 2, 4, 8])
    word = source.choice([*_INTS, near, near, other, other, source.randrange(len(data) + 8)]) & 0xFFFFFFFF
    new = word.to_bytes(4, "little")[: source.choice([1, 2, 4, 4])]
    return data[:start] + new + data[start + len(new) :]


def _edit_varint(source: random.Random, data: bytes, _: bytes) -> bytes:
    start = stop = source.randrange(len(data) + 1)
    while stop < len(data) and data[stop] > 127 and stop < start + 9:
        stop += 1
    value = source.choice(_INTS) + source.randint(-1, 1)
    new = varint(value) if source.random() < 0.7 else long_varint(value & (1 << 64) - 1, source.randint(2, 11))
    return data[:start] + new + data[stop + 1 :]


def _splice(source: random.Random, data: bytes, other: bytes) -> bytes:
    start, stop = sorted(source.randrange(len(other) + 1) for _ in range(2))
    position = source.randrange(len(data) + 1)
    keep = position if source.random() < 0.5 else position + stop - start
    return data[:position] + other[start:stop] + data[keep:]


_ON_BYTES: list[Callable[[random.Random, bytes, bytes], bytes]] = [
    _flip,
    _overwrite,
    _insert,
    _delete,
    _cut,
    _repeat,
    _edit_varint,
    _splice,
]


# On fields.


def _in_tree(source: random.Random, data: bytes, other: bytes) -> bytes:
    try:
        root, donor = parse(data), parse(other)
        tree = source.choice(list(root.walk()))
        if tree.items:
            source.choice(_ON_FIELDS)(source, tree, donor)
            return root.encoded()
    except (ValueError, RecursionError):  # it is no message any more, or one too deep for this
        pass
    return source.choice(_ON_BYTES)(source, data, other)


def _double(source: random.Random, tree: Tree, _: Tree) -> None:
    index = source.randrange(len(tree.items))
    copies = source.choice([1, 1, 2, 20, 300])
    tree.items[index:index] = [tree.items[index]] * copies


def _drop(source: random.Random, tree: Tree, _: Tree) -> None:
    del tree.items[source.randrange(len(tree.items))]


def _reorder(source: random.Random, tree: Tree, _: Tree) -> None:
    source.shuffle(tree.items)


def _renumber(source: random.Random, tree: Tree, _: Tree) -> None:
    item = source.choice(tree.items)
    item.number = source.choice([*tree.descriptor.fields_by_number, 0, 15, 100, 5988, (1 << 29) - 1, 1 << 29])


def _retype(source: random.Random, tree: Tree, _: Tree) -> None:
    item = source.choice(tree.items)
    item.wire = source.choice([VARINT, EIGHT, BYTES, 3, 4, FOUR, 6, 7])
    if item.wire == VARINT:
        item.payload = source.choice(_INTS)
    elif not isinstance(item.payload, Tree):
        item.payload = source.randbytes({EIGHT: 8, FOUR: 4}.get(item.wire, source.randint(0, 20)))


def _refill(source: random.Random, tree: Tree, _: Tree) -> None:
    item = source.choice(tree.items)
    if isinstance(item.payload, int):
        item.payload = source.choice([*_INTS, item.payload + 1, max(0, item.payload - 1)])
    elif isinstance(item.payload, bytes) and item.wire == BYTES:
        long = source.choice([b"", item.payload[:-1], item.payload + b"\0", item.payload * 2])
        item.payload = source.choice([*_BYTES, long, long, long, source.randbytes(source.randint(0, 40))])
    elif isinstance(item.payload, bytes):
        item.payload = source.randbytes(len(item.payload))


def _lie(source: random.Random, tree: Tree, _: Tree) -> None:
    item = source.choice(tree.items)
    if item.wire == BYTES:
        body = item.payload.encoded() if isinstance(item.payload, Tree) else item.payload
        true = len(body) if isinstance(body, bytes) else 0
        item.wrong_length = source.choice([true + 1, max(0, true - 1), 0, true * 2, *_INTS])


def _move_in(source: random.Random, tree: Tree, donor: Tree) -> None:
    """A field of another file, into the place where such a field belongs or into any."""
    giver = source.choice([found for found in donor.walk() if found.name == tree.name] or list(donor.walk()))
    if giver.items:
        tree.items.insert(source.randint(0, len(tree.items)), source.choice(giver.items))


def _trade(source: random.Random, tree: Tree, donor: Tree) -> None:
    """A message for one of its kind from another file, or from inside of itself."""
    inner = [item for item in tree.items if isinstance(item.payload, Tree)]
    if inner:
        item = source.choice(inner)
        assert isinstance(item.payload, Tree)
        name = item.payload.name
        choices = [found for found in (*donor.walk(), *tree.walk()) if found.name == name]
        item.payload = source.choice(choices).copy()


def _nest(source: random.Random, tree: Tree, _: Tree) -> None:
    """A message inside copies of itself, where its kind allows that."""
    for _count in range(source.choice([1, 2, 20, 60])):
        if len(tree.encoded()) > _LONGEST // 8:
            return
        inside = [found for found in tree.walk() if found is not tree and found.name == tree.name]
        if not inside:
            return
        source.choice(inside).items.extend(tree.copy().items)


def _unknown(source: random.Random, tree: Tree, _: Tree) -> None:
    number = source.choice([15, 99, 5988, (1 << 29) - 1])
    wire = source.choice([VARINT, EIGHT, BYTES, 3, FOUR])
    payload: int | bytes = {EIGHT: bytes(8), FOUR: bytes(4), 3: b"\x08\x01" + varint(number << 3 | 4)}.get(wire, b"new")
    if wire == VARINT:
        payload = source.choice(_INTS)
    tree.items.insert(source.randint(0, len(tree.items)), Item(number, wire, payload))


def _pack(source: random.Random, tree: Tree, _: Tree) -> None:
    """Numbers one by one into a packed run, or a packed run into numbers one by one."""
    item = source.choice(tree.items)
    if isinstance(item.payload, int):
        same = [found for found in tree.items if found.number == item.number and isinstance(found.payload, int)]
        run = b"".join(varint(found.payload) for found in same if isinstance(found.payload, int))
        tree.items = [found for found in tree.items if all(found is not other for other in same)]
        tree.items.append(Item(item.number, BYTES, run))
    elif isinstance(item.payload, bytes) and item.wire == BYTES and len(item.payload) < 2000:
        tree.items.remove(item)
        tree.items += [Item(item.number, VARINT, byte) for byte in item.payload]


_ON_FIELDS: list[Callable[[random.Random, Tree, Tree], None]] = [
    _double,
    _drop,
    _reorder,
    _renumber,
    _retype,
    _refill,
    _refill,
    _refill,
    _lie,
    _move_in,
    _move_in,
    _trade,
    _nest,
    _unknown,
    _pack,
]


# On text.

_WORDS = "agraph ir_version opset_import float int64 string seq optional map sparse_tensor { } ( ) [ ] < > = => : , ."
_WORDS += ' "" " \\ # @ ` ? -1 1e400 nan inf 0x1F 9223372036854775808 float[ float[N] int4 [] {} () /* 𝕏 \0 \ud7ff'
_TOKENS = _WORDS.split(" ")


def _swap_characters(source: random.Random, text: str, _: str) -> str:
    position = source.randrange(len(text) + 1)
    return text[:position] + source.choice(_TOKENS) + text[position + source.randint(0, 2) :]


def _drop_characters(source: random.Random, text: str, _: str) -> str:
    position = source.randrange(len(text) + 1)
    return text[:position] + text[position + source.choice([1, 1, 3, 10, 100]) :]


def _repeat_characters(source: random.Random, text: str, _: str) -> str:
    start = source.randrange(len(text) + 1)
    part = text[start : start + source.choice([1, 2, 5, 20, 100])]
    return text[:start] + part * source.choice([2, 3, 20, 200]) + text[start:]


def _shuffle_lines(source: random.Random, text: str, _: str) -> str:
    lines = text.split("\n")
    first, second = source.randrange(len(lines)), source.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _splice_text(source: random.Random, text: str, other: str) -> str:
    start, stop = sorted(source.randrange(len(other) + 1) for _ in range(2))
    position = source.randrange(len(text) + 1)
    return text[:position] + other[start:stop] + text[position:]


def _cut_text(source: random.Random, text: str, _: str) -> str:
    return text[: source.randrange(len(text) + 1)]


_ON_TEXT: list[Callable[[random.Random, str, str], str]] = [
    _swap_characters,
    _swap_characters,
    _swap_characters,
    _drop_characters,
    _repeat_characters,
    _shuffle_lines,
    _splice_text,
    _cut_text,
]
