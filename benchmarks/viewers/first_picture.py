"""The first picture of a model in a viewer: when it is there, and what it took."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.viewers.processes import browsers, family, processor_seconds, resident

SECONDS = 600
"""How long is waited for a picture."""

_BESIDE = Path(__file__).parent.parent.parent / "build" / "viewers" / "python"
_PYTHON = str(_BESIDE / "bin" / "python")
_REQUIREMENTS = Path(__file__).parent.parent.parent / "requirements" / "viewers.txt"
_PAGE = """() => {
  const [request] = performance.getEntriesByName(new URL('data/model', location.href).href, 'resource');
  return [request.responseEnd, performance.getEntriesByName('first picture')[0].startTime, request.decodedBodySize];
}"""
"""In milliseconds since the page was asked for: when the levels of the model were there, and the picture; bytes."""

_KEPT = "const own = window.eval; Object.defineProperty(window, 'eval', { get: () => own, set: () => {} });"
"""netron replaces eval, which playwright needs; a property that cannot be set stays as it is."""

_WATCHED = """
const watcher = new MutationObserver(() => {
  if (!document.querySelector(%s)) return;
  watcher.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.shownAt = performance.now(); }));
});
const kinds = { subtree: true, childList: true, attributes: true, attributeFilter: ["class", "data-drawn"] };
watcher.observe(document, kinds);
"""
"""Notes when the frame has been made that shows what a selector matches."""

_SERVED = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><canvas></canvas>")
server = HTTPServer(("127.0.0.1", 0), Page)
print(f"http://127.0.0.1:{server.server_port}/")
server.serve_forever()
"""

_ASKING = 0.3
"""Seconds between questions whether that was so: who asks takes time from who draws."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """A program that shows a model in the browser: its command, and what its page has when nodes are drawn."""

    name: str
    command: Callable[[Path], list[str]]
    drawn: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Seconds from the command to the address, and to the picture; from the request to it; of processors; MiB.

    A request begins when the browser goes to the address. `parts` are those of ingot's page: seconds from the request
    to the data and to the picture, and bytes of the data.
    """

    address: float
    whole: float
    page: float
    processor: float
    memory: float
    parts: tuple[float, float, float] | None = None


def peers() -> list[str]:
    """The viewers that are not ours, as their packages are named, with versions."""
    lines = _REQUIREMENTS.read_text("utf-8").splitlines()
    return [line.replace("==", " ") for line in lines if line and not line.startswith("#")]


def viewers() -> list[Viewer]:
    """The viewers that are compared; those that are not ours are installed into an environment of their own first."""
    if not _BESIDE.exists():
        subprocess.run([sys.executable, "-m", "venv", str(_BESIDE)], check=True)
        subprocess.run([_PYTHON, "-m", "pip", "install", "--quiet", "-r", str(_REQUIREMENTS)], check=True)
    return [
        Viewer("netron", _netron, "body.default g.node"),
        Viewer("Model Explorer", _explorer, "webgl-renderer canvas"),
        Viewer("ingot", _ingot, "body[data-drawn]"),
    ]


EMPTY = Viewer("an empty page", lambda _: [sys.executable, "-u", "-c", _SERVED], "canvas")
"""What no viewer can be faster than: the server of the standard library, with a page that has nothing in it."""


def first_picture(chromium: Any, viewer: Viewer, path: Path) -> Picture:
    """Start a viewer on a model, and end it when its picture is there; the browser is open, with an empty page.

    RuntimeError if there is no address, playwright's errors if there is no picture.
    """
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    try:
        context.add_init_script(_KEPT)
        context.add_init_script(_WATCHED % json.dumps(viewer.drawn))
        context.add_cookies([{"name": "consent", "value": "1", "url": "http://127.0.0.1"}])  # netron asks for it once
        page = context.new_page()
        used = processor_seconds(browsers())
        begin = time.time()
        command = viewer.command(path)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            try:
                url = _address(server)
                address = time.time()
                _go(page, url)
                requested, lasted = _shown(page, server)
                whole = requested + lasted - begin
                processes = family(server.pid)
                processor = processor_seconds([*browsers(), *processes]) - used
                parts = _parts(page) if viewer.name == "ingot" else None
                return Picture(address - begin, whole, lasted, processor, resident(processes), parts)
            finally:
                server.terminate()
    finally:
        context.close()


def _shown(page: Any, server: subprocess.Popen[str]) -> tuple[float, float]:
    """When the page was asked for, in seconds of the clock, and how many later the picture was on the screen."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(_ASKING)
        requested, lasted = page.evaluate("[performance.timeOrigin, window.shownAt]")
        if lasted is not None:
            return requested / 1000, lasted / 1000
        if server.poll() is not None:
            raise RuntimeError(f"the viewer has ended with {server.returncode}")
    raise RuntimeError(f"no picture in {SECONDS} s")


def _parts(page: Any) -> tuple[float, float, float]:
    loaded, drawn, size = page.evaluate(_PAGE)
    return loaded / 1000, drawn / 1000, size


def _address(server: subprocess.Popen[str]) -> str:
    """The address that a viewer prints."""
    assert server.stdout is not None
    lines = []
    for line in server.stdout:
        lines.append(line)
        if address := re.search(r"http://(127\.0\.0\.1|localhost):\d+\S*", line):
            return address[0]
    raise RuntimeError(f"no address: {''.join(lines)[-500:]}")


def _go(page: Any, url: str) -> None:
    """Go to an address that may have been printed before it is served."""
    end = time.perf_counter() + SECONDS
    while True:
        try:
            page.goto(url, wait_until="commit")
        except Exception as error:  # playwright's own kind, which is imported where it is installed
            if "ERR_CONNECTION_REFUSED" not in str(error) or time.perf_counter() > end:
                raise
            time.sleep(0.02)
        else:
            return


def _ingot(path: Path) -> list[str]:
    return [sys.executable, "-m", "ingot", "view", str(path), "--no-browser"]


def _netron(path: Path) -> list[str]:
    script = "import netron, sys, time; netron.serve(sys.argv[1], None, address=('127.0.0.1', 0)); time.sleep(900)"
    return [_PYTHON, "-u", "-c", script, str(path)]


def _explorer(path: Path) -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--extensions=model_explorer_onnx", "--no_open_in_browser", "--port", str(port)]
    return [_PYTHON, "-u", "-m", "model_explorer", *options, str(path)]
