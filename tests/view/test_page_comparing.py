"""Two models in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ingot import Model
from ingot.view.answers import Answers
from ingot.view.comparing.comparison import Comparison
from ingot.view.opening import opened_at_first
from ingot.view.reflow import place
from ingot.view.server import Server
from view.conftest import Open
from view.samples import parsed
from view.test_comparing import after, before, compared
from view.test_page import HOSTILE, click, panel, positions, visible, wait_for

pytestmark = pytest.mark.usefixtures("chromium")


@pytest.fixture
def url() -> Iterator[str]:
    comparison = compared(before(), after())
    with Server(lambda: comparison) as server:
        yield server.url


def served(comparison: Comparison) -> Server:
    return Server(lambda: comparison)


def test_differences_are_listed_coloured_and_lead_to_their_places(open_page: Open, url: str) -> None:
    page = open_page(before(), url=url)
    assert {"Tanh", "Sigmoid"} <= set(visible(page))
    assert "a.onnx → b.onnx" in panel(page)
    assert page.evaluate("ingot.drawing.marks.leaves.size") == 5
    page.click("#panel .difference.removed button:text('Tanh')")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    assert "removed: Tanh a" in panel(page)
    click(page, "LeakyRelu")
    page.wait_for_selector("#panel .difference.changed ins")
    assert page.inner_text("#panel .difference del").startswith("0.1")
    click(page, "MatMul")
    page.wait_for_selector("#panel .difference:has-text('32 elements differ')")


def test_models_stand_side_by_side_and_selections_follow(open_page: Open, url: str) -> None:
    page = open_page(before(), url=url)
    page.click("#beside")
    page.wait_for_selector("body.beside")
    page.wait_for_selector("#panel .difference")
    page.click("#panel .difference.added button:text('Sigmoid')")
    page.wait_for_selector("#panel h1:text-is('Sigmoid')")
    box = page.locator("#graph-a").bounding_box()
    assert box["width"] > 300
    page.click("#beside")
    page.wait_for_selector("#panel h1:text('a.onnx')")
    assert not page.is_visible("#graph-a")


def click_beside(page: Any, side: str, model: Model, title: str) -> None:
    """Click a box of one of two pictures, each of which fits its half of the screen."""
    scene = Answers(model, "").scene
    placed = place(scene, scene.root, opened_at_first(scene))
    left, top, width, height = next(box[1:] for box in positions(placed) if box[0] == title)
    area = page.locator(f"#graph-{side}").bounding_box()
    scale = min(1.6, area["width"] / (placed.width + 60), area["height"] / (placed.height + 40))
    x = area["x"] + area["width"] / 2 + (left + width / 2 - placed.width / 2) * scale
    y = area["y"] + area["height"] / 2 + (top + height / 2 - placed.height / 2) * scale
    page.mouse.click(x, y)


@pytest.mark.parametrize(("side", "model", "element"), [("a", before(), "1"), ("b", after(), "2")])
def test_what_is_selected_in_one_of_two_pictures_is_in_the_panel(
    open_page: Open, url: str, side: str, model: Model, element: str
) -> None:
    page = open_page(before(), url=url)
    page.click("#beside")
    page.wait_for_selector("body.beside")
    click_beside(page, side, model, "LeakyRelu")
    page.wait_for_selector("#panel h1:text-is('LeakyRelu')")
    click_beside(page, side, model, "MatMul")
    page.wait_for_selector("#panel h1:text-is('MatMul')")
    page.wait_for_load_state("networkidle")
    page.click("#panel button:text-is('w')")
    page.wait_for_selector("#panel .histogram")
    assert f"minimum\t{element}" in panel(page)
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("#panel h1:text-is('LeakyRelu')")
    assert f"alpha\t{'0.1' if side == 'a' else '0.5'}" in panel(page)


def test_search_finds_nodes_of_the_picture_beside(open_page: Open, url: str) -> None:
    page = open_page(before(), url=url)
    page.click("#beside")
    page.wait_for_selector("body.beside")
    click_beside(page, "a", before(), "LeakyRelu")
    page.wait_for_selector("#panel h1:text-is('LeakyRelu')")
    page.fill("#search", "tanh")
    page.wait_for_selector("#hits li b:text-is('Tanh')")
    page.press("#search", "Enter")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    assert page.evaluate("ingot.selection.kind") == "model"
    page.fill("#search", "sigmoid")
    page.wait_for_selector("#hits li:text('nothing')")


def test_a_picture_of_two_models_offers_no_run_no_profile_and_no_edit(open_page: Open, url: str) -> None:
    page = open_page(before(), url=url)
    for key in "rtm":
        page.keyboard.press(key)
    assert "Run it".upper() not in panel(page).upper()
    assert page.evaluate("document.getElementById('main').className + document.body.className") == ""
    click(page, "Tanh")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    assert "Compile and explain" not in panel(page)


def test_equal_models_are_shown_as_such(open_page: Open) -> None:
    with served(compared(before(), before())) as server:
        page = open_page(before(), url=server.url)
        page.wait_for_selector("#panel p:text('the models are the same')")


def test_differences_with_markup_in_names_are_shown_as_text(open_page: Open) -> None:
    one, other = parsed("a = Tanh (x) y = Exp (a)"), parsed("a = Tanh (x) y = Exp (a)")
    other.graph.nodes[0].name = HOSTILE
    other.metadata[HOSTILE] = HOSTILE
    with served(compared(one, other)) as server:
        page = open_page(one, url=server.url)
        page.wait_for_selector("#panel .difference")
        assert page.evaluate("document.querySelectorAll('#panel img, #panel script').length") == 0
        wait_for(page, "ingot.drawing.marks.leaves.size > 0")
