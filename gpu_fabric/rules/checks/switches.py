"""The check of keys that belong to something that is switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpu_fabric.base.tables import read_rows
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.spiderpool import CHART as SPIDERPOOL
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.places import Location, dotted

_TABLE = Path(__file__).parents[1] / "switches.yaml"


class Switch(FrozenModel):
    """Keys of a section, and the switch by which they are used; `switches.yaml` explains the fields."""

    section: str
    keys: tuple[str, ...]
    switch: str
    reason: str
    remedy: str
    but: frozenset[str] = frozenset()


def _oke(is_on: Callable[[OkeClusterSpec], bool]) -> Callable[[Case], bool]:
    return lambda case: not isinstance(case.spec.cluster, OkeClusterSpec) or is_on(case.spec.cluster)


def _cleans_nodes(case: Case) -> bool:
    cluster = case.spec.cluster
    if not isinstance(cluster, ExistingClusterSpec) or not cluster.clean_nodes:
        return True
    return any(chart.is_installed(case) for chart in (GPU_OPERATOR, NETWORK_OPERATOR))


def _moves_cni(case: Case) -> bool:
    cluster = case.spec.cluster
    if not isinstance(cluster, ExistingClusterSpec) or cluster.cni_folders is None:
        return True
    return any(chart.is_installed(case) for chart in (NETWORK_OPERATOR, SPIDERPOOL))


_IS_ON: dict[str, Callable[[Case], bool]] = {
    # `enabled: false` in the file states that the rest is for later.
    "verification": lambda case: case.spec.verification.enabled or "enabled" in case.spec.verification.model_fields_set,
    "bastion-host": _oke(lambda cluster: cluster.access.mode == "bastion-host"),
    "bastion-service": _oke(lambda cluster: cluster.access.mode == "bastion-service"),
    "bastion": _oke(lambda cluster: cluster.access.mode != "none"),
    "public-endpoint": _oke(lambda cluster: cluster.endpoint.public),
    "operators-of-nvidia": _cleans_nodes,
    "charts-with-multus": _moves_cni,
    # Each of several fabrics may use it, which is known only once the rules about fabrics hold.
    "sriov-operator": lambda case: bool(case.spec.fabrics) or case.choices.by_sriov_operator,
    "own-policy": lambda case: case.spec.software.network_operator.policy != "theirs",
    "native-pods": _oke(lambda cluster: cluster.cni == "vcn-native"),
}


@check("SWI001")
def keys_belong_to_what_is_on(case: Case) -> Iterator[Problem]:
    """Keys of something that can be switched off are written only where it is on."""
    for row in read_rows(_TABLE, Switch):
        if _IS_ON[row.switch](case):
            continue
        for place, section in _sections(case.spec, row.section.split("."), ()):
            keys = section.model_fields_set if row.keys == ("*",) else section.model_fields_set.intersection(row.keys)
            for key in sorted(keys - row.but):
                for where in _written(section, key, place):
                    yield Problem(dotted(where), f"it has no effect: {row.reason}", row.remedy)


def _sections(value: Any, parts: list[str], place: Location) -> Iterator[tuple[Location, FrozenModel]]:
    if not parts:
        yield place, value
    elif parts[0] == "*":
        for index, entry in enumerate(value):
            yield from _sections(entry, parts[1:], (*place, index))
    else:
        yield from _sections(getattr(value, parts[0]), parts[1:], (*place, _alias(value, parts[0])))


def _written(section: FrozenModel, key: str, place: Location) -> Iterator[Location]:
    """The keys that were written there: those of a section of its own, one by one, if they alone ask for something."""
    inner, here = getattr(section, key), (*place, _alias(section, key))
    asks_by_itself = not getattr(inner, "model_fields_set", True) and type(section).model_fields[key].default is None
    if not isinstance(inner, FrozenModel) or asks_by_itself:
        yield here
        return
    for name in sorted(inner.model_fields_set):
        yield from _written(inner, name, here)


def _alias(section: FrozenModel, key: str) -> str:
    return type(section).model_fields[key].alias or key
