"""Where the command line begins: the commonest way to view a model does not wait for click, nor for other options."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.view.later import imported_later

if TYPE_CHECKING:
    from ingot.view.answering import Answering


def main() -> None:
    """Run the command that `sys.argv` states."""
    match sys.argv[1:]:
        case ["view", path] if _is_plain(path):
            _view(path, open_browser=True)
        case ["view", path, "--no-browser"] if _is_plain(path):
            _view(path, open_browser=False)
        case _:
            from ingot.cli.main import main as run  # imports click

            run()


def _is_plain(path: str) -> bool:
    """Whether an argument can be nothing but the path of a file that is there."""
    return not path.startswith("-") and os.path.isfile(path) and not os.environ.get("INGOT_DEBUG")


def _view(path: str, *, open_browser: bool) -> None:
    """As `ingot view` with these arguments, whose options click need not look for."""
    imported_later("inspect")
    from ingot.view.serving import serve_until_interrupted  # other commands need none of it

    try:
        serve_until_interrupted(lambda: _page(path), open_browser=open_browser)
    except (Exception, KeyboardInterrupt) as error:
        from ingot.cli import failures  # imports click

        failures.show(error)
        failures.abandon_stdout()
        sys.exit(failures.exit_code(error))


def _page(path: str) -> Answering:
    from ingot.view.answers import Answers  # which a page that is being opened need not wait for
    from ingot.view.any_model import load_any
    from ingot.view.editable import Editable

    return Editable(Answers(load_any(Path(path)), Path(path).name), path)
