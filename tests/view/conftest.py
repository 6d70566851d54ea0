"""A browser to test the page in, where one is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ingot import Model
from ingot.view.answers import Answers
from ingot.view.editable import Editable
from ingot.view.png import browser as installed_browser
from ingot.view.server import Server

Open = Callable[..., Any]
"""Opens the page of a model, with a fragment of its address, and returns playwright's page once it is drawn."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser without a window, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
    program = installed_browser()
    if program is None:
        pytest.skip("the page is tested in Chromium, and no browser is installed")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Open]:
    """Opens pages; whatever they log, request from elsewhere or raise fails the test."""
    with ExitStack() as stack:
        complaints: list[str] = []

        def opened(
            model: Model,
            fragment: str = "",
            *,
            url: str | None = None,
            source: str | None = None,
            moves: bool = False,
            **options: Any,
        ) -> Any:
            if url is None:
                shown = Editable(Answers(model, "model.onnx"), source)
                url = stack.enter_context(Server(lambda: shown)).url
            page = chromium.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", **options)
            stack.callback(page.close)
            own = "http://127.0.0.1:" if moves else url.rpartition("/")[0]

            def requested(request: Any) -> None:
                if not request.url.startswith((own, "data:", "blob:")):
                    complaints.append(f"request: {request.url}")

            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
            page.on("request", requested)
            page.goto(url + fragment)
            page.wait_for_selector("body[data-typed]", timeout=20_000)
            return page

        yield opened
        assert complaints == []
