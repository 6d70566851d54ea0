"""Catalogs: which operator a name means in which version of which domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from ingot.errors import CheckError, nearest
from ingot.ir.domains import canonical, spelled_out
from ingot.ir.node import Node
from ingot.ops.define import Operator


class Catalog:
    """Operators by domain, name and version; immutable: `with_operators` gives a larger one."""

    def __init__(self, operators: Iterable[Operator] = ()) -> None:
        self._by_name: dict[tuple[str, str], list[Operator]] = {}
        for operator in operators:
            self._by_name.setdefault((operator.domain, operator.name), []).append(operator)
        for key, versions in self._by_name.items():
            versions.sort(key=lambda operator: operator.since)
            covered = [version for operator in versions for version in operator.since]
            if covered != sorted(set(covered)):
                raise TypeError(f"two definitions of {key[1]} cover one version: {covered}")

    def with_operators(self, *operators: Operator) -> Catalog:
        """A catalog of these and more; an operator of a name and version that is here already replaces it."""
        new = {(o.domain, o.name, v) for o in operators for v in o.since}
        others = [o for o in self if not any((o.domain, o.name, v) in new for v in o.since)]
        return Catalog([*others, *operators])

    def find(self, domain: str, name: str, version: int) -> Operator | None:
        """What `name` means when `version` of its domain is imported: the newest definition not newer than that."""
        latest = None
        for operator in self._by_name.get((canonical(domain), name), ()):
            if operator.since[0] <= version:
                latest = operator
        return latest

    def get(self, domain: str, name: str, version: int) -> Operator:
        """The same; CheckError, with the reason and the nearest name, if there is none."""
        operator = self.find(domain, name, version)
        if operator is not None:
            return operator
        shown = spelled_out(domain)
        versions = self.versions(domain, name)
        if versions:
            raise CheckError(
                f"{shown} has no operator {name} in version {version}: it came with {versions[0].since[0]}",
                hint=f"import version {versions[0].since[0]} or newer",
            )
        names = [key[1] for key in self._by_name if key[0] == canonical(domain)]
        if not names:
            raise CheckError(f"nothing is known of domain '{shown}', which operator {name} is from")
        raise CheckError(f"{shown} has no operator {name}", hint=nearest(name, names))

    def operator_of(self, node: Node, imports: Mapping[str, int]) -> Operator | None:
        """What a node applies where `imports` are the operator sets by canonical domain; None if nothing is known."""
        return self.find(node.domain, node.op_type, imports.get(node.domain, 0))

    def versions(self, domain: str, name: str) -> list[Operator]:
        """Every meaning of a name, oldest first."""
        return list(self._by_name.get((canonical(domain), name), ()))

    def newest(self, domain: str, name: str) -> Operator | None:
        versions = self._by_name.get((canonical(domain), name))
        return versions[-1] if versions else None

    def domains(self) -> list[str]:
        return sorted({domain for domain, _ in self._by_name})

    def __iter__(self) -> Iterator[Operator]:
        for versions in self._by_name.values():
            yield from versions

    def __len__(self) -> int:
        return sum(map(len, self._by_name.values()))


@cache
def standard() -> Catalog:
    """Every operator of this package: whatever its modules define."""
    package = import_module("ingot.ops")
    operators: dict[int, Operator] = {}
    for module in walk_packages(package.__path__, "ingot.ops."):
        for item in vars(import_module(module.name)).values():
            if isinstance(item, Operator):
                operators[id(item)] = item
    return Catalog(operators.values())
