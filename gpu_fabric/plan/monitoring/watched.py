"""What alarms watch on one fabric: its rails by the names that exporters have, and what the stack has for alarms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gpu_fabric.catalog.alarm import Condition
from gpu_fabric.plan.addresses import AddressPlan
from gpu_fabric.plan.case import Case
from gpu_fabric.plan.fabrics import display_name
from gpu_fabric.plan.gpus import offers_whole_gpus
from gpu_fabric.plan.managers import manager_of
from gpu_fabric.plan.operators.gpu_operator import gpu_direct
from gpu_fabric.plan.rail import Rail
from gpu_fabric.plan.rails import group_rails, plan_rails
from gpu_fabric.plan.records import REPORT, SCHEDULE
from gpu_fabric.plan.steps import Context
from gpu_fabric.plan.tenants import claimed_devices, node_devices
from gpu_fabric.spec.doks import DoksClusterSpec

# The part of a pool's nodes from which on it counts as nearly full; docs/alarms.md calls it a judgement.
_NEARLY_FULL = 0.9


def _series(resource: str) -> str:
    """A resource as kube-state-metrics names it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", resource)


@dataclass(frozen=True)
class RailName:
    """A name that an exporter has for a rail's NIC: its RDMA device, or its interface.

    Where node groups have it on different rails, the texts have both.
    """

    device: str
    rail: str
    nic: str
    gpu: str


@dataclass(frozen=True)
class Watched:
    """A fabric as alarms see it; `namespaces` are those of its operators, `charts` what the stack installs."""

    case: Case
    addresses: AddressPlan
    charts: tuple[str, ...]
    namespaces: tuple[str, ...]

    @classmethod
    def of(cls, context: Context) -> Watched:
        """The fabric of a context."""
        return cls(context.case, context.addresses, context.charts, tuple(sorted(context.namespaces)))

    @property
    def fabric(self) -> str:
        """The fabric's name for people."""
        return display_name(self.case.fabric)

    @cached_property
    def rdma(self) -> tuple[RailName, ...]:
        """The rails by their RDMA devices; none where one is not known."""
        return self._named(lambda rail: rail.rdma_device)

    @cached_property
    def interfaces(self) -> tuple[RailName, ...]:
        """The rails by their interfaces; none where one is not known."""
        return self._named(lambda rail: rail.interface)

    @cached_property
    def devices(self) -> dict[int, tuple[str, ...]]:
        """The rails' resources as kube-state-metrics names them, by how many each node offers; none that is claimed.

        A claimed device is in a ResourceSlice, and the name by which a queue counts it is not a resource of a node.
        """
        offered = node_devices(self.case, () if manager_of(self.case).answers_by_claims else plan_rails(self.case))
        left_out = {self.case.shape.gpus.resource, *(device.resource for device in claimed_devices(self.case))}
        found: dict[int, list[str]] = {}
        for name, count in offered.items():
            if name not in left_out:
                found.setdefault(count, []).append(_series(name))
        return {count: tuple(names) for count, names in found.items()}

    @property
    def most_nodes(self) -> int:
        """Nodes that the smallest pool serves; 0 without a pool that is divided among nodes."""
        return min((pool.max_nodes for pool in self.addresses.pools if pool.division != "sequence"), default=0)

    @property
    def room(self) -> int:
        """Nodes that are neither more than planned nor nearly fill a pool."""
        return max(self.addresses.proof.wanted, int(_NEARLY_FULL * self.most_nodes))

    @property
    def priority(self) -> int | None:
        """The priority of lossless traffic; None where the stack file does not state it."""
        lossless = self.case.spec.fabric.host_preparation.lossless
        return None if lossless is None or self.case.choices.link_type != "ether" else lossless.priority

    @property
    def holds(self) -> Mapping[Condition, bool]:
        """Which conditions of alarms the stack has."""
        choices, software = self.case.choices, self.case.spec.software
        # In mode `shared` the RDMA device of a moved interface stays where the node's exporter sees it.
        counted = choices.access in ("shared", "host") or (
            choices.access == "physical" and choices.rdma_mode == "shared"
        )
        driver = "gpu-operator" in self.charts and software.gpu_operator.driver
        return {
            "counters": counted,
            "interfaces": bool(self.interfaces) and choices.access != "physical",
            "ether": choices.link_type == "ether",
            "infiniband": choices.link_type == "infiniband",
            "priority": self.priority is not None,
            "resources": bool(self.devices),
            "gpus": bool(self.devices) and offers_whole_gpus(self.case.spec),
            "pools": self.most_nodes > 0,
            "peermem": driver and gpu_direct(self.case) == "peermem",
            "driver": driver,
            "releases": bool(self.namespaces),
            "verification": self.case.spec.verification.enabled,
            "schedule": self.case.spec.verification.enabled and self.case.spec.verification.schedule is not None,
            "amdGpus": self._has_amd_gpu_exporter,
            "amdNics": choices.one_pool and software.amd_network_operator.metrics_exporter,
        }

    @property
    def _has_amd_gpu_exporter(self) -> bool:
        """Whether the stack runs AMD's exporter of GPUs: by AMD's operator, or as a plug-in of DigitalOcean's."""
        cluster, section = self.case.spec.cluster, self.case.spec.software.amd_gpu_operator
        managed = isinstance(cluster, DoksClusterSpec) and cluster.plugins.metrics_exporter
        return managed or (section is not None and section.metrics_exporter)

    @cached_property
    def values(self) -> dict[str, str]:
        """What the placeholders of `alarms.yaml` stand for on this fabric, but for those of a single rule."""
        join = f"gpu_fabric_rail_info{{{selector(stack=self.case.spec.name, fabric=self.fabric)}}}"
        namespaces, resources = self.namespaces or ("",), [name for names in self.devices.values() for name in names]
        run, idle = self.case.own_copy(REPORT), self.case.own_copy(SCHEDULE)
        return {
            "rdma": f'device=~"{_any(entry.device for entry in self.rdma) or ".+"}"',
            "interfaces": f'device=~"{_any(entry.device for entry in self.interfaces)}"',
            "rail": (f" * on (device) group_left (rail, nic, gpu) {join}" if self.rdma else "") + self._of_own_nodes,
            "rail words": "rail {{ $labels.rail }} (NIC {{ $labels.nic }}, GPU {{ $labels.gpu }})"
            if self.rdma
            else "{{ $labels.device }}",
            "device": self.rdma[0].device if self.rdma else "mlx5_0",
            "interface": self.interfaces[0].device if self.interfaces else "",
            "node": self.case.spec.monitoring.node_label,
            "cable": cable_text(self.case.spec.monitoring.cables, self.case.spec.monitoring.node_label),
            "resources": _any(resources),
            "resource": resources[0] if resources else "",
            "kinds": str(len(resources)),
            "gpu resource": _series(self.case.shape.gpus.resource),
            "gpus": str(self.case.shape.gpus.count),
            "most": str(self.most_nodes),
            "room": str(self.room),
            "priority": str(self.priority),
            "namespaces": _any(namespaces),
            "namespace": namespaces[0],
            "runs": f"{re.escape(run)}(-.*)?".replace("\\-", "-"),
            "run": f"{run}-0a1b2c3d",
            # A CronJob's Jobs have its name and the minute that they were due.
            "idle": f"{re.escape(idle)}-[0-9]+".replace("\\-", "-"),
            "idle run": f"{idle}-29312345",
        }

    @property
    def _of_own_nodes(self) -> str:
        """What leaves the fabric's own nodes, where node_exporter's series name the node as kube-state-metrics does."""
        names = _any(name for names in self.devices.values() for name in names)
        joins = self.case.spec.monitoring.node_label == "node" and names
        return f' and on (node) kube_node_status_allocatable{{resource=~"{names}"}}' if joins else ""

    def _named(self, name: Callable[[Rail], str | None]) -> tuple[RailName, ...]:
        found: dict[str, list[Rail]] = {}
        for group in self.case.groups:
            for rail in group_rails(self.case, group):
                device = name(rail)
                if device is None:
                    return ()
                found.setdefault(device, []).append(rail)
        return tuple(
            RailName(
                device,
                _either(str(rail.index) for rail in rails),
                _either(rail.pci or "unknown" for rail in rails),
                _either("unknown" if rail.nearest_gpu is None else str(rail.nearest_gpu) for rail in rails),
            )
            for device, rails in found.items()
        )


def selector(**labels: str) -> str:
    """Labels with their values, as PromQL selects them."""
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text of `alarms.yaml` with its placeholders filled."""
    return re.sub(r"<([a-z ]+)>", lambda found: values[found[1]], text)


def cable_text(cables: Mapping[str, str], node: str) -> str:
    """The template of the cable's name in an alarm's text; empty where the stack file names none.

    `instance` can end with a port, which is not part of a node's name.
    """
    tests = [
        (
            _test(place, node),
            text.replace("{node}", f"{{{{ $labels.{node} }}}}").replace("{rail}", "{{ $labels.rail }}"),
        )
        for place, text in sorted(cables.items(), key=lambda entry: _specificity(entry[0]))
    ]
    if not tests:
        return ""
    chain = "{{ else ".join(f"if {test} }}}}Cable: {text}." for test, text in tests)
    return f"{{{{ {chain}{{{{ end }}}}"


def _test(place: str, node: str) -> str:
    name, _, rail = place.partition("/")
    pattern = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".").replace("\\-", "-").replace("\\", "\\\\")
    named = f'match "^{pattern}(:[0-9]+)?$" $labels.{node}'
    return f'and ({named}) (eq $labels.rail "{int(rail)}")' if rail else named


def _specificity(place: str) -> tuple[int, int, str]:
    """Places with a rail first, then those with the most characters that stand for themselves."""
    return (-("/" in place), -len(re.sub(r"[*?]", "", place)), place)


def _any(names: Iterable[str]) -> str:
    return "|".join(names)


def _either(texts: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(texts))
