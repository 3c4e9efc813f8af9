"""Committed stacks with single values changed: their plans, or their fabric alone without the rules."""

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from changes import Changes, changed
from committed_stacks import ROOT, folder_of

from gpu_fabric.plan import Plan
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.stack import StackSpec


class PlannedFabric(NamedTuple):
    """What a stack's pods attach to."""

    case: Case
    rails: tuple[Rail, ...]
    addresses: AddressPlan
    networks: tuple[PlannedObject, ...]

    def manifest(self, rail: int) -> dict[str, Any]:
        """The object of a rail's network in the first namespace."""
        return next(entry.object.manifest() for entry in self.networks if entry.name == self.rails[rail].network)

    def config(self, rail: int) -> dict[str, Any]:
        """The CNI configuration of a rail's network."""
        found: dict[str, Any] = json.loads(self.manifest(rail)["spec"]["config"])
        return found

    def chain(self, rail: int) -> list[dict[str, Any]]:
        """The plug-ins of a rail's network."""
        found: list[dict[str, Any]] = self.config(rail)["plugins"]
        return found


def fabric_of(stack: str, changes: Changes | None = None) -> PlannedFabric:
    """The fabric of a stack for tests, with single values changed."""
    case = case_of(spec_of(stack, changes))
    assert isinstance(case.addresses, AddressPlan), case.addresses
    rails = plan_rails(case)
    return PlannedFabric(case, rails, case.addresses, manager_of(case).networks(rails, case.addresses))


def plan_of(stack: str, changes: Changes | None = None) -> Plan:
    """The whole plan of a stack for tests, with single values changed, held against every rule."""
    return _plan(stack, folder_of(stack), json.dumps(changes or {}))


def example(stack: str, changes: Changes | None = None) -> Plan:
    """The whole plan of a stack of examples/, with single values changed, held against every rule."""
    return _plan(stack, ROOT, json.dumps(changes or {}))


@lru_cache(maxsize=32)
def _plan(stack: str, folder: Path, changes: str) -> Plan:
    return plan_spec(spec_of(stack, json.loads(changes), folder))


def spec_of(stack: str, changes: Changes | None, folder: Path | None = None) -> StackSpec:
    """The spec of a stack for tests, with single values changed."""
    spec, problems = validate(changed(_document(stack, folder or folder_of(stack)), changes or {}))
    assert spec is not None, problems
    assert not problems
    return spec


@cache
def _document(stack: str, folder: Path) -> Any:
    return read_document(stack, folder)
