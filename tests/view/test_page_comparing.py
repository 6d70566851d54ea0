"""Two models in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ingot.view.comparing.comparison import Comparison
from ingot.view.server import Server
from view.conftest import Open
from view.samples import parsed
from view.test_comparing import after, before, compared
from view.test_page import HOSTILE, click, panel, visible, wait_for

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
