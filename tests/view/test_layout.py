from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from ingot.view.curves import curves
from ingot.view.layout import BOX_GAP, Box, Layout, lay_out
from ingot.view.opening import HEIGHT, WIDTH, opened_at_first
from ingot.view.order import arrange, crossings
from ingot.view.ranks import Line, layered
from ingot.view.reflow import Placed, place
from ingot.view.scene import Scene
from view.samples import layers, parsed

BOX = Box(80.0, 30.0)


def chain(count: int, skips: int = 0, seed: int = 0) -> list[Line]:
    """A chain of items, with lines that skip some of them."""
    generator = random.Random(seed)
    lines = [Line((i,), i, (i + 1,)) for i in range(count - 1)]
    for number in range(skips):
        start = generator.randrange(count - 12)
        lines.append(Line((count + number,), start, (start + generator.randint(2, 10),)))
    return lines


def overlaps(layout: Layout, boxes: list[Box]) -> list[tuple[int, int]]:
    found = []
    for row in layout.rows:
        items = [item for item in row if item >= 0]
        for left, right in pairwise(items):
            space = layout.centres[right] - layout.centres[left] - (boxes[left].width + boxes[right].width) / 2
            if space < BOX_GAP - 1e-6:
                found.append((left, right))
    return found


def test_lines_lead_downwards() -> None:
    lines = chain(40, 20)
    layout = lay_out([BOX] * 40, lines)
    assert all(layout.ranks[line.source] < layout.ranks[target] for line in lines for target in line.targets)


def test_a_chain_is_straight() -> None:
    layout = lay_out([BOX] * 30, chain(30))
    assert len(set(layout.centres)) == 1


def test_boxes_do_not_overlap() -> None:
    generator = random.Random(1)
    boxes = [Box(generator.randint(40, 200), 30.0) for _ in range(120)]
    lines = [Line((i,), generator.randrange(max(1, i - 9), i + 1) - 1, (i,)) for i in range(1, 120)]
    lines += [Line((200 + i,), i, (min(119, i + generator.randint(1, 20)),)) for i in range(0, 110, 3)]
    layout = lay_out(boxes, [line for line in lines if line.source < line.targets[0]])
    assert overlaps(layout, boxes) == []


def test_a_source_stands_close_to_its_reader() -> None:
    layout = lay_out([BOX] * 12, [*chain(10), Line((51,), 10, (11,)), Line((52,), 9, (11,))])
    assert layout.ranks[10] == layout.ranks[11] - 1


def test_several_readers_share_one_line() -> None:
    layout = lay_out([BOX] * 10, [*chain(10), Line((99,), 0, (4, 6, 8))])
    assert len(layout.tracks[-1].bends) == 7  # one trunk, down to the row above the last reader


@pytest.mark.parametrize(
    ("lines", "count", "most"),
    [
        (chain(60, 25), 60, 40),
        ([Line((a, b), a, (3 + b,)) for a in range(3) for b in range(3)], 6, 9),  # complete: nine are the fewest
        (
            [Line((i,), 0, (1 + i,)) for i in range(6)] + [Line((9 + i,), 1 + i, (7 + (5 - i) % 6,)) for i in range(6)],
            13,
            0,
        ),
    ],
)
def test_lines_cross_seldom(lines: list[Line], count: int, most: int) -> None:
    picture = layered(count, lines)
    arrange(picture)
    assert crossings(picture) <= most


def test_ports_stand_in_the_first_and_last_row() -> None:
    boxes = [Box(0.0, 0.0, "first"), BOX, BOX, Box(0.0, 0.0, "last")]
    layout = lay_out(boxes, [Line((0,), 0, (2,)), Line((1,), 1, (2,)), Line((2,), 2, (3,)), Line((3,), 1, (3,))])
    assert layout.ranks == (0, 1, 2, 3)


def test_what_leads_upwards_in_a_broken_graph_is_a_stub() -> None:
    layout = lay_out([BOX] * 3, [Line((0,), 0, (1,)), Line((1,), 1, (2,)), Line((2,), 2, (0,))])
    assert [track.is_stub for track in layout.tracks] == [False, False, True]


@pytest.mark.parametrize(("count", "seconds"), [(2300, 0.3), (10_000, 1.5)])
def test_large_graphs_are_laid_out_in_time(count: int, seconds: float) -> None:
    lines = chain(count, count // 3)
    times = []
    for _ in range(2):
        begin = time.thread_time()
        layout = lay_out([BOX] * count, lines)
        times.append(time.thread_time() - begin)
        if times[-1] < seconds:
            break
    assert min(times) < seconds  # of one processor, whatever else the machine does
    assert max(layout.centres) - min(layout.centres) < 40 * 80  # compact: a chain with short branches


def boxes_in(placed: Placed, x: float = 0.0, y: float = 0.0) -> list[tuple[float, float, float, float]]:
    """The rectangles of closed boxes in a picture."""
    boxes = []
    for item, each in enumerate(placed.level.items):
        left, top = x + placed.lefts[item], y + placed.tops[item]
        if item in placed.inner:
            boxes += boxes_in(placed.inner[item], left, top)
        elif each.box.width:
            boxes.append((left, top, left + placed.widths[item], top + placed.heights[item]))
    return boxes


def test_open_groups_make_way_for_what_is_inside() -> None:
    scene = Scene(layers(6, names="/encoder/layer.{}/"))
    everything = set(scene.everything())
    placed = place(scene, scene.root, everything)
    boxes = boxes_in(placed)
    assert len(boxes) > 10
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert left >= -1e-6
        assert right <= placed.width + 1e-6
        assert bottom <= placed.height + 1e-6
        for a, b, c, d in boxes[:number]:
            assert a >= right or c <= left or b >= bottom or d <= top


def test_lines_end_at_the_boxes_that_they_lead_to() -> None:
    scene = Scene(layers(3, names="/encoder/layer.{}/"))
    placed = place(scene, scene.root, set(scene.everything()))
    for curve in curves(placed):
        x, y = curve.corners[-1]
        assert placed.lefts[curve.target] - 1 <= x <= placed.lefts[curve.target] + placed.widths[curve.target] + 1
        assert y == pytest.approx(placed.tops[curve.target])
        assert all(a[1] <= b[1] + 1e-6 for a, b in zip(curve.corners, curve.corners[1:], strict=False))


def test_open_groups_have_room_for_their_titles() -> None:
    scene = Scene(layers(3, names="/a_module_of_many_letters/layer.{}/"))
    placed = place(scene, scene.root, set(scene.everything()))
    repeats = [item for item in placed.inner if placed.level.items[item].members]
    assert repeats
    for item in repeats:
        assert placed.widths[item] >= placed.level.items[item].box.width + 110  # of which fonts that are wide take more
        inner = placed.inner[item]
        assert min(inner.lefts) > 40  # what is inside stands in the middle


def test_a_module_that_is_most_of_the_model_is_open_though_the_picture_is_tall() -> None:
    def first(modules: int) -> tuple[list[str], float]:
        lines = [f"v{number + 1} = LeakyRelu <alpha = {number}.0> (v{number})" for number in range(32)]
        model = parsed(" ".join(lines) + " y = Relu (v32)", inputs="float[n] v0")
        for number, node in enumerate(model.graph.nodes[:-1]):
            node.name = f"/net{number * modules // 32}/{node.op_type}_{number}"
        scene = Scene(model)
        opened = opened_at_first(scene)
        return [scene.level(number).title for number in opened], place(scene, scene.root, opened).height

    titles, height = first(1)
    assert "net0" in titles
    assert height > HEIGHT
    assert first(4)[1] <= HEIGHT  # none of four is most of it


def test_the_first_picture_of_a_large_model_fits_a_screen() -> None:
    scene = Scene(layers(400))
    placed = place(scene, scene.root, opened_at_first(scene))
    assert placed.width <= WIDTH
    assert placed.height <= HEIGHT
