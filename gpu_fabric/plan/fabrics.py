"""The fabrics of a stack, each as a case of its own: its pools, its section, and what the others mean to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpu_fabric.plan.case import Case, case_of
from gpu_fabric.spec.cluster import PoolSpec
from gpu_fabric.spec.fabric import FabricSpec
from gpu_fabric.spec.further_fabric import MAIN, FurtherFabricSpec
from gpu_fabric.spec.network_types import IPNetwork
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.verification import VerificationSpec


def fabric_sections(spec: StackSpec) -> dict[str, FabricSpec]:
    """Every fabric's section by name, in the order of the stack file: first that of the section `fabric`."""
    return {"": spec.fabric, **spec.fabrics}


def pools_of_fabric(spec: StackSpec, name: str) -> tuple[PoolSpec, ...]:
    """The pools of a fabric, in the order of the stack file; the section `fabric` has those that no other has."""
    if name:
        return tuple(pool for pool in spec.cluster.pools if pool.name in spec.fabrics[name].pools)
    taken = {pool for entry in spec.fabrics.values() if entry.purpose == "compute" for pool in entry.pools}
    return tuple(pool for pool in spec.cluster.pools if pool.name not in taken)


def supernets(spec: StackSpec) -> dict[str, IPNetwork]:
    """The range of each fabric that states one, by the fabric's name."""
    sections = fabric_sections(spec).items()
    return {name: entry.addressing.supernet for name, entry in sections if entry.addressing.supernet is not None}


def is_storage(section: FabricSpec) -> bool:
    """Whether a section is of a storage fabric."""
    return isinstance(section, FurtherFabricSpec) and section.purpose == "storage"


def fabric_cases(spec: StackSpec) -> tuple[Case, ...]:
    """A case for each fabric, in the order of the stack file; the rules about `fabrics` hold already."""
    sections = fabric_sections(spec)
    compute = {name: _case(spec, name) for name, entry in sections.items() if not is_storage(entry)}
    storage: dict[str, Case] = {}
    for name, entry in sections.items():
        if is_storage(entry):
            below = _beside(spec, name, compute)
            before = max((case.shape.rails for case in below), default=0)
            before += sum(case.shape.rails for case in _beside(spec, name, storage))
            storage[name] = _case(spec, name, below, before)
    found = {name: replace(case, storage=_beside(spec, name, storage)) for name, case in compute.items()}
    cases = tuple((found | storage)[name] for name in sections)
    return tuple(replace(case, all_fabrics=cases) for case in cases) if len(cases) > 1 else cases


def fabrics_of_pool(spec: StackSpec, pool: PoolSpec) -> tuple[StackSpec, ...]:
    """The stack as each fabric of a pool's nodes has it, the compute fabric first."""
    names = [name for name in fabric_sections(spec) if pool in pools_of_fabric(spec, name)]
    return tuple(
        fabric_spec(spec, name) for name in sorted(names, key=lambda name: is_storage(fabric_sections(spec)[name]))
    )


def display_name(fabric: str) -> str:
    """A fabric's name in texts and outputs."""
    return fabric or MAIN


def _case(spec: StackSpec, name: str, compute: tuple[Case, ...] = (), rails_before: int = 0) -> Case:
    others = {f"fabric {display_name(other)}": text for other, text in supernets(spec).items() if other != name}
    return case_of(fabric_spec(spec, name), name, others, compute, rails_before)


def fabric_spec(spec: StackSpec, name: str) -> StackSpec:
    """The stack as one of its fabrics has it: with the pools and the section of that fabric alone."""
    section, verification = fabric_sections(spec)[name], spec.verification
    if isinstance(section, FurtherFabricSpec):
        section = section.model_copy(update={"prefix": spec.fabric.prefix})
        # The number of nodes and the bars are of the fabric that the section was written for.
        inherited = verification.model_copy(update={"nodes": None, "bar": None, "rail_bar": None})
        verification = VerificationSpec() if is_storage(section) else section.verification or inherited
    cluster = spec.cluster.model_copy(update={"pools": pools_of_fabric(spec, name)})
    return spec.model_copy(update={"cluster": cluster, "fabric": section, "fabrics": {}, "verification": verification})


def _beside(spec: StackSpec, name: str, cases: Mapping[str, Case]) -> tuple[Case, ...]:
    """The cases that share nodes with a fabric."""
    return tuple(case for other, case in cases.items() if share_nodes(spec, (name, other)))


def share_nodes(spec: StackSpec, names: Iterable[str]) -> bool:
    """Whether all of these fabrics have a pool in common."""
    pools = [{pool.name for pool in pools_of_fabric(spec, name)} for name in names]
    return bool(set.intersection(*pools))
