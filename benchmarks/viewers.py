"""How soon a model is seen: `ingot view` beside netron, in one browser, in turns.

    python -m benchmarks.viewers model.onnx ...

It needs playwright, Chromium and, for the peer, netron. A first picture is there when the page has drawn nodes. Times
of pages count from the request; netron reads the file after that, ingot has loaded it by then, so that the time from
the command, with the start of Python, is given too. Memory is that of ingot's server when the picture is there.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingot.view.png import browser

ROUNDS = 3
_SECONDS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--no-netron", action="store_true", help="measure ingot alone")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        print("| model | netron, s | ingot, s | from the command, s | resident memory, MiB |")
        print("|---|---|---|---|---|")
        for path in options.models:
            peers: list[float] = []
            own: list[tuple[float, float, float]] = []
            for _ in range(ROUNDS):
                own.append(_ingot(chromium, path))
                if not options.no_netron:
                    peers.append(_netron(chromium, path))
            peer = f"{min(peers):.2f}" if peers else "–"
            seen, whole, memory = (min(column) for column in zip(*own, strict=True))
            print(f"| {path.name} | {peer} | {seen:.2f} | {whole:.2f} | {memory:.0f} |", flush=True)
        chromium.close()


def _ingot(chromium: Any, path: Path) -> tuple[float, float, float]:
    """Seconds from the request and from the command to the picture, and the memory of the server then."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "ingot", "view", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            seen = _seen(
                chromium, url, lambda page: page.wait_for_selector("body[data-drawn]", timeout=1000 * _SECONDS)
            )
            whole = time.perf_counter() - begin
            status = Path(f"/proc/{server.pid}/status").read_text()
            memory = re.search(r"VmRSS:\s+(\d+)", status)
            return seen, whole, 0.0 if memory is None else int(memory[1]) / 1024
        finally:
            server.terminate()


def _netron(chromium: Any, path: Path) -> float:
    script = "import netron, sys, time; netron.serve(sys.argv[1], None, address=('127.0.0.1', 0)); time.sleep(600)"
    command = [sys.executable, "-u", "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            while (address := re.search(r"http://\S+?:\d+", server.stdout.readline())) is None:
                pass
            return _seen(
                chromium,
                address[0],
                lambda page: page.wait_for_selector("g.node", state="attached", timeout=1000 * _SECONDS),
            )
        finally:
            server.terminate()


def _seen(chromium: Any, url: str, drawn: Callable[[Any], object]) -> float:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    try:
        context.add_cookies([{"name": "consent", "value": "1", "url": url}])
        # netron replaces eval, which playwright needs; a property that cannot be set stays as it is
        context.add_init_script(
            "const own = window.eval; Object.defineProperty(window, 'eval', { get: () => own, set: () => {} });"
        )
        context.route("**/*", lambda route: route.continue_() if "127.0.0.1" in route.request.url else route.abort())
        page = context.new_page()
        begin = time.perf_counter()
        page.goto(url)
        drawn(page)
        return time.perf_counter() - begin
    finally:
        context.close()


if __name__ == "__main__":
    main()
