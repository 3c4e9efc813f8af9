"""The check of keys that belong to something that is switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators.gpu_operator import CHART as GPU_OPERATOR
from gpu_fabric.plan.operators.network_operator import CHART as NETWORK_OPERATOR
from gpu_fabric.plan.operators.spiderpool import CHART as SPIDERPOOL
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.places import Location, dotted


class _Switch(NamedTuple):
    """Keys of a section, and when they are used: `*` of a section is each entry of a list, of `keys` every key.

    Keys in `but` are those of another rule.
    """

    section: str
    keys: tuple[str, ...]
    is_on: Callable[[Case], bool]
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


_SWITCHES = (
    _Switch(
        "verification",
        ("*",),
        # `enabled: false` in the file states that the rest is for later.
        lambda case: case.spec.verification.enabled or "enabled" in case.spec.verification.model_fields_set,
        "the verification is off, and nothing is measured",
        "write enabled: true, or enabled: false where it is to stay off",
        but=frozenset({"enabled", "schedule"}),
    ),
    _Switch(
        "cluster.access",
        ("bastion", "operator"),
        _oke(lambda cluster: cluster.access.mode == "bastion-host"),
        "the stack creates no such host",
        "write mode: bastion-host, or leave it out",
    ),
    _Switch(
        "cluster.access",
        ("session_seconds",),
        _oke(lambda cluster: cluster.access.mode == "bastion-service"),
        "the stack has no sessions of the Bastion service",
        "write mode: bastion-service, or leave it out",
    ),
    _Switch(
        "cluster.access",
        ("allowed",),
        _oke(lambda cluster: cluster.access.mode != "none"),
        "the stack creates no bastion",
        "write mode: bastion-host or bastion-service, or leave it out",
    ),
    _Switch(
        "cluster.endpoint",
        ("allowed",),
        _oke(lambda cluster: cluster.endpoint.public),
        "the API server has no public address",
        "write public: true, or leave it out",
    ),
    _Switch(
        "cluster",
        ("clean_nodes",),
        _cleans_nodes,
        "the stack installs neither of NVIDIA's operators, whose labels it would take away",
        "leave it out",
    ),
    _Switch(
        "cluster",
        ("cni_folders",),
        _moves_cni,
        "the stack installs neither the Network Operator nor Spiderpool, and its own Multus uses the usual folders",
        "leave it out",
    ),
    _Switch(
        "software.sriov_operator",
        ("*",),
        # Each of several fabrics may use it, which is known only once the rules about fabrics hold.
        lambda case: bool(case.spec.fabrics) or case.choices.by_sriov_operator,
        "the stack has no use for the SR-IOV operator",
        "leave it out, or name sriov-operator in cluster.installed",
    ),
    _Switch(
        "software.network_operator",
        ("partition_keys",),
        lambda case: case.spec.software.network_operator.policy != "theirs",
        "the cluster's own policy says whether UFM is asked for partitions",
        "write policy: own, or leave it out",
    ),
    *(
        _Switch(
            f"cluster.{pools}.*",
            ("max_pods",),
            _oke(lambda cluster: cluster.cni == "vcn-native"),
            "OKE limits a node's pods only where they have addresses of the VCN",
            "write cni: vcn-native, or leave it out",
        )
        for pools in ("pools", "other_pools")
    ),
)


@check("SWI001")
def keys_belong_to_what_is_on(case: Case) -> Iterator[Problem]:
    """Keys of something that can be switched off are written only where it is on."""
    for switch in _SWITCHES:
        if switch.is_on(case):
            continue
        for place, section in _sections(case.spec, switch.section.split("."), ()):
            keys = (
                section.model_fields_set
                if switch.keys == ("*",)
                else section.model_fields_set.intersection(switch.keys)
            )
            for key in sorted(keys - switch.but):
                for where in _written(section, key, place):
                    yield Problem(dotted(where), f"it has no effect: {switch.reason}", switch.remedy)


def _sections(value: Any, parts: list[str], place: Location) -> Iterator[tuple[Location, FrozenModel]]:
    if not parts:
        yield place, value
    elif parts[0] == "*":
        for index, entry in enumerate(value):
            yield from _sections(entry, parts[1:], (*place, index))
    else:
        yield from _sections(getattr(value, parts[0]), parts[1:], (*place, _alias(value, parts[0])))


def _written(section: FrozenModel, key: str, place: Location) -> Iterator[Location]:
    """The keys that were written there: those of a section of its own, one by one."""
    inner, here = getattr(section, key), (*place, _alias(section, key))
    if not isinstance(inner, FrozenModel):
        yield here
        return
    for name in sorted(inner.model_fields_set):
        yield from _written(inner, name, here)


def _alias(section: FrozenModel, key: str) -> str:
    return type(section).model_fields[key].alias or key
