"""Catalogs: which operator a name means in which version of which domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module

from ingot.errors import CheckError, UnsupportedError, nearest
from ingot.ir.domains import canonical, spelled_out
from ingot.ir.node import Node
from ingot.ops.define import Operator
from ingot.ops.index import DOWNGRADES, MODULES


class Catalog:
    """Operators by domain, name and version; immutable: `with_operators` gives a larger one."""

    def __init__(
        self, operators: Iterable[Operator] = (), modules: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """A catalog of operators, and of those that modules of this package define, by domain and name.

        `modules` is as `ingot.ops.index` has it; a module is imported when one of its operators is first looked up.
        """
        self._by_name: dict[tuple[str, str], list[Operator]] = {}
        self._indexed = modules or {}
        for operator in operators:
            self._by_name.setdefault((operator.domain, operator.name), []).append(operator)
        for versions in self._by_name.values():
            _sort(versions)

    def with_operators(self, *operators: Operator) -> Catalog:
        """A catalog of these and more; an operator of a name and version that is here already replaces it."""
        new = {(o.domain, o.name, v) for o in operators for v in o.since}
        larger = Catalog((), self._indexed)
        larger._by_name = dict(self._by_name)
        for key in dict.fromkeys((o.domain, o.name) for o in operators):
            own = [o for o in operators if (o.domain, o.name) == key]
            others = [o for o in self._of(key) if not any((*key, v) in new for v in o.since)]
            larger._by_name[key] = _sort([*others, *own])
        return larger

    def find(self, domain: str, name: str, version: int) -> Operator | None:
        """What `name` means when `version` of its domain is imported: the newest definition not newer than that."""
        latest = None
        for operator in self._of((canonical(domain), name)):
            if operator.since[0] <= version:
                latest = operator
        return latest

    def get(self, domain: str, name: str, version: int) -> Operator:
        """The same; CheckError, with the reason and the nearest name, if there is none.

        UnsupportedError, with what to do, for an operator that only onnxruntime has.
        """
        operator = self.find(domain, name, version)
        if operator is not None:
            return operator
        from ingot.ops.contrib.refused import message, refusal  # rarely needed

        refused = refusal(domain, name)
        if refused is not None:
            raise UnsupportedError(message(domain, name, refused), hint=refused.action)
        shown = spelled_out(domain)
        versions = self.versions(domain, name)
        if versions:
            raise CheckError(
                f"{shown} has no operator {name} in version {version}: it came with {versions[0].since[0]}",
                hint=f"import version {versions[0].since[0]} or newer",
            )
        names = [name for place, name in self._keys() if place == canonical(domain)]
        if not names:
            raise CheckError(f"nothing is known of domain '{shown}', which operator {name} is from")
        raise CheckError(f"{shown} has no operator {name}", hint=nearest(name, names))

    def operator_of(self, node: Node, imports: Mapping[str, int]) -> Operator | None:
        """What a node applies where `imports` are the operator sets by canonical domain; None if nothing is known."""
        return self.find(node.domain, node.op_type, imports.get(node.domain, 0))

    def versions(self, domain: str, name: str) -> list[Operator]:
        """Every meaning of a name, oldest first."""
        return list(self._of((canonical(domain), name)))

    def newest(self, domain: str, name: str) -> Operator | None:
        versions = self._of((canonical(domain), name))
        return versions[-1] if versions else None

    def domains(self) -> list[str]:
        return sorted({domain for domain, _ in self._keys()})

    def __iter__(self) -> Iterator[Operator]:
        """All operators, whose modules are imported for that."""
        for key in self._keys():
            yield from self._of(key)

    def __len__(self) -> int:
        return sum(len(self._of(key)) for key in self._keys())

    def __bool__(self) -> bool:
        """Whether there is an operator; no module is imported for that."""
        return bool(self._by_name or self._indexed)

    def _keys(self) -> dict[tuple[str, str], None]:
        """The domains and names of all operators."""
        indexed = ((domain, name) for domain, names in self._indexed.items() for name in names)
        return dict.fromkeys((*indexed, *self._by_name))

    def _of(self, key: tuple[str, str]) -> list[Operator]:
        """Every meaning of a name of a domain, oldest first."""
        versions = self._by_name.get(key)
        if versions is None:
            modules = self._indexed.get(key[0], {}).get(key[1])
            if modules is None:
                return []
            versions = self._by_name[key] = _sort(_defined(key, modules.split()))  # in another thread too: the same
        return versions


@cache
def standard() -> Catalog:
    """Every operator of this package."""
    return Catalog((), MODULES)


def with_downgrades(operator: Operator) -> Operator:
    """An operator with its rules to downgrade, whose modules are imported here: looking it up leaves them alone."""
    for module in DOWNGRADES.get(operator.domain, {}).get(operator.name, "").split():
        import_module(f"{__package__}.{module}")
    return operator


def _defined(key: tuple[str, str], modules: Iterable[str]) -> list[Operator]:
    """The operators of a domain and name among the variables of modules of this package."""
    items = (item for module in modules for item in vars(import_module(f"{__package__}.{module}")).values())
    operators = (item for item in items if isinstance(item, Operator))
    return list(dict.fromkeys(operator for operator in operators if (operator.domain, operator.name) == key))


def _sort(versions: list[Operator]) -> list[Operator]:
    """Definitions of one name, oldest first; TypeError if two cover one version."""
    versions.sort(key=lambda operator: operator.since)
    covered = [version for operator in versions for version in operator.since]
    if covered != sorted(set(covered)):
        raise TypeError(f"two definitions of {versions[0].name} cover one version: {covered}")
    return versions
