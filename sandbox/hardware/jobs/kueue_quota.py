"""Whether a queue of Kueue's has what a job asks for, and of which flavor: pure functions.

Flavors are tried in the queue's order. Borrowing from other queues, and taking from jobs that run, is not played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_fabric.k8s.names import PREFERRED_TOPOLOGY
from sandbox.hardware.device_plugins import annotations_of
from sandbox.hardware.jobs.kueue_jobs import PodSet
from sandbox.hardware.jobs.room import Amounts, Room, requests_of, thousandths, times, tolerates, written
from sandbox.hardware.jobs.turns import holds
from sandbox.kubernetes_api import Object

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"


class DoesNotFitError(ValueError):
    """A job cannot be admitted now; the message is Kueue's."""


@dataclass(frozen=True)
class Assignment:
    """What a set of pods gets: a flavor for each resource, and the labels of the domain that its nodes are in."""

    pods: PodSet
    flavors: dict[str, str] = field(default_factory=dict)
    usage: Amounts = field(default_factory=Amounts)
    domain: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> Object:
        """As it is in a Workload's status."""
        usage = {name: written(amount) for name, amount in sorted(self.usage.items())}
        result = {"name": self.pods.name, "count": self.pods.count, "flavors": self.flavors, "resourceUsage": usage}
        if not self.domain:
            return result
        values = [{"universal": value} for value in self.domain.values()]
        part = {"domainCount": 1, "valuesPerLevel": values, "podCounts": {"universal": self.pods.count}}
        return {**result, "topologyAssignment": {"levels": list(self.domain), "slices": [part]}}


def domain_of(assignment: Mapping[str, Any]) -> dict[str, str]:
    """The labels of the domain in a Workload's status; the real Kueue names each pod's node, and ends at that level."""
    topology = assignment.get("topologyAssignment")
    if not topology:
        return {}
    values = [entry["universal"] for entry in topology["slices"][0]["valuesPerLevel"]]
    return dict(zip(topology["levels"], values, strict=True))


class Quota:
    """What one ClusterQueue gives out, less what its workloads have."""

    def __init__(
        self, queue: Object, flavors: Mapping[str, Object], topologies: Mapping[str, Object], used: Iterable[Object]
    ) -> None:
        self._queue, self._flavors, self._topologies = queue, flavors, topologies
        self._used: dict[tuple[str, str], int] = {}
        for workload in used:
            if not holds(workload, "Finished"):
                for entry in workload["status"]["admission"]["podSetAssignments"]:
                    for name, flavor in entry["flavors"].items():
                        self._add(flavor, name, thousandths(entry["resourceUsage"][name]))

    def assign(self, sets: Sequence[PodSet], room: Room) -> list[Assignment]:
        """Give a job what all its pods ask for, and take it from the quota and, with a topology, from the room.

        Raises DoesNotFitError, and then nothing is taken.
        """
        kept, trial = dict(self._used), room.copy()
        try:
            found = [self._placed(self._assigned(pods), trial) for pods in sets]
        except DoesNotFitError:
            self._used = kept
            raise
        room.become(trial)
        return found

    def _add(self, flavor: str, resource: str, amount: int) -> None:
        key = flavor, resource
        self._used[key] = self._used.get(key, 0) + amount

    def _assigned(self, pods: PodSet) -> Assignment:
        groups = self._queue["spec"].get("resourceGroups") or ()
        asked = times(requests_of(pods.template["spec"]), pods.count)
        if any("pods" in group["coveredResources"] for group in groups):
            asked["pods"] = thousandths(pods.count)
        result = Assignment(pods, usage=asked)
        problems = []
        for name in sorted(asked):
            if not any(name in group["coveredResources"] for group in groups):
                problems.append(f"resource {name} unavailable in ClusterQueue")
        for group in groups:
            own = {name: amount for name, amount in asked.items() if name in group["coveredResources"]}
            if not own:
                continue
            reasons: list[str] = []
            for flavor in group["flavors"]:
                short = self._reasons(pods, flavor, own)
                if not short:
                    result.flavors.update(dict.fromkeys(own, flavor["name"]))
                    break
                reasons += short
            else:
                problems += reasons
        if problems:
            raise DoesNotFitError(f"couldn't assign flavors to pod set {pods.name}: {', '.join(problems)}")
        for name, flavor_name in result.flavors.items():
            self._add(flavor_name, name, asked[name])
        return result

    def _reasons(self, pods: PodSet, flavor: Mapping[str, Any], asked: Mapping[str, int]) -> list[str]:
        """Why a set of pods cannot have a flavor; empty where it can."""
        name, spec = flavor["name"], pods.template["spec"]
        definition = self._flavors[name]["spec"]
        tolerating = {**spec, "tolerations": [*(spec.get("tolerations") or ()), *(definition.get("tolerations") or ())]}
        for taint in definition.get("nodeTaints") or ():
            if not tolerates(tolerating, [taint]):
                return [f"untolerated taint {taint['key']} in flavor {name}"]
        labels, selector = definition.get("nodeLabels") or {}, spec.get("nodeSelector") or {}
        if any(selector[key] != value for key, value in labels.items() if key in selector):
            return [f"flavor {name} doesn't match node affinity"]
        found = []
        for quota in flavor["resources"]:
            resource, nominal = quota["name"], thousandths(quota["nominalQuota"])
            wanted, used = asked.get(resource, 0), self._used.get((name, resource), 0)
            if wanted > nominal:
                found.append(
                    f"insufficient quota for {resource} in flavor {name}, previously considered podsets requests (0) + "
                    f"current podset request ({written(wanted)}) > maximum capacity ({written(nominal)})"
                )
            elif wanted and used + wanted > nominal:
                more = written(used + wanted - nominal)
                found.append(f"insufficient unused quota for {resource} in flavor {name}, {more} more needed")
        return found

    def _placed(self, found: Assignment, room: Room) -> Assignment:
        """The assignment with a domain, where its flavor has a topology."""
        flavors = [self._flavors[name]["spec"] for name in dict.fromkeys(found.flavors.values())]
        flavor = next((spec for spec in flavors if spec.get("topologyName")), None)
        if flavor is None:
            return found
        pods, name = found.pods, flavor["topologyName"]
        levels = [level["nodeLabel"] for level in self._topologies[name]["spec"]["levels"]]
        asked = annotations_of({"metadata": pods.template.get("metadata") or {}})
        required, preferred = asked.get(REQUIRED_TOPOLOGY), asked.get(PREFERRED_TOPOLOGY)
        level = required or preferred
        if level is not None and level not in levels:
            raise DoesNotFitError(f"no topology level: {level}")
        lowest = levels.index(level) + 1 if level else 0
        # a preferred topology may be a wider domain, in the end any node
        widest = lowest if required else 0
        spec = {**pods.template["spec"]}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *(flavor.get("tolerations") or ())]
        most = 0
        for depth in range(lowest, widest - 1, -1):
            for domain in room.domains(levels[:depth]):
                trial = room.copy()
                # nodes without the topology's labels are in no domain
                labels = {**dict.fromkeys(levels), **(flavor.get("nodeLabels") or {}), **domain}
                taken = trial.take([spec] * pods.count, labels)
                if len(taken) == pods.count:
                    room.become(trial)
                    found.domain.update(domain)
                    return found
                most = max(most, len(taken))
        fit = f"allows to fit only {most} out of" if most else "doesn't allow to fit any of"
        raise DoesNotFitError(f'topology "{name}" {fit} {pods.count} pod(s)')
