"""A catalog imports the modules of an operator when it is first looked up, as the index lists them."""

from __future__ import annotations

import subprocess
import sys

from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import operator
from ingot.ops.index import MODULES
from ingot.ops.write_index import INDEX

_IMPORTED = "[name for name in sys.modules if name.startswith('ingot.ops.math') or name.startswith('ingot.ops.image')]"


def _printed(script: str) -> str:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout


def test_the_index_is_up_to_date() -> None:
    written = _printed(
        "import sys; from ingot.ops.write_index import index, text_of; sys.stdout.write(text_of(*index()))"
    )
    assert INDEX.read_text("utf-8") == written, "run: python -m ingot.ops.write_index"


def test_every_indexed_name_is_an_operator_of_that_domain() -> None:
    for domain, names in MODULES.items():
        for name in names:
            assert {(domain, name)} == {(meaning.domain, meaning.name) for meaning in standard().versions(domain, name)}


def test_a_catalog_imports_what_is_looked_up() -> None:
    imported = _printed(
        "import sys; from ingot.ops.catalog import standard; c = standard(); assert c and c.domains()\n"
        f"print({_IMPORTED}); c.get('', 'Sin', 22); print('ingot.ops.math.trigonometry' in {_IMPORTED}, "
        f"[name for name in {_IMPORTED} if '.image' in name])"
    )
    assert imported.split("\n")[:2] == ["[]", "True []"]


def test_rules_and_older_meanings_in_other_modules_come_with_an_operator() -> None:
    script = (
        "from ingot.ops.catalog import standard; versions = standard().versions('', 'Resize'); "
        "print([sorted(meaning.rules) for meaning in versions])"
    )
    rules = [sorted({*meaning.rules} - {"downgrade"}) for meaning in standard().versions("", "Resize")]
    assert _printed(script).strip() == str(rules)
    assert "lower" in standard().versions("", "Resize")[-1].rules


def test_rules_to_downgrade_are_imported_by_who_downgrades() -> None:
    script = (
        "from ingot.ops.catalog import standard, with_downgrades; conv = standard().find('', 'Conv', 22); "
        "print('downgrade' in conv.rules, 'downgrade' in with_downgrades(conv).rules)"
    )
    assert _printed(script).strip() == "False True"


def test_a_larger_catalog_imports_no_more() -> None:
    imported = _printed(
        "import sys; from ingot.ops.catalog import standard; from ingot.ops.define import Operator\n"
        "own = Operator('Own', 'test', (1,), print, False)\n"
        f"larger = standard().with_operators(own); print({_IMPORTED}, larger.find('test', 'Own', 1) is own)"
    )
    assert imported.strip() == "[] True"


def test_an_operator_replaces_one_of_its_version_in_a_larger_catalog() -> None:
    @operator("Relu", since=14)
    def relu() -> None:
        """Nothing."""

    larger = standard().with_operators(relu)
    assert larger.find("", "Relu", 14) is relu
    assert larger.find("", "Relu", 5) is standard().find("", "Relu", 5)
    assert standard().find("", "Relu", 14) is not relu
    assert not Catalog()
