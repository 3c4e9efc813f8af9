"""The resource type Addon: what Oracle installs in a cluster."""

from __future__ import annotations

import re

from ..requests import Refused
from ..resource import Call, CloudError
from ..store import Record
from ..wire import Properties
from . import facts
from .machines import addons_of, bring_about
from .stored import Stored
from .tenancy import Tenancy, conflict, invalid

_POLL_S = 10


AUTOSCALER = "ClusterAutoscaler"
_BOUNDS = re.compile(r"(?P<least>\d+):(?P<most>\d+):(?P<pool>ocid1\.nodepool\.\S+)")


def scaled_pools(tenancy: Tenancy, inputs: Properties) -> list[Record]:
    """The node pools whose sizes the autoscaler changes, by its setting `nodes`: bounds and id of each, with commas.

    Source: Oracle's documentation of the add-on's configuration arguments; its own words of refusal are not known.
    """
    settings = {entry["key"]: entry["value"] for entry in inputs.get("configurations") or []}
    if settings.get("authType", "instance") not in ("instance", "workload"):
        raise invalid(f"add-on {AUTOSCALER}: authType {settings['authType']} is not instance or workload")
    found = []
    for entry in filter(None, (part.strip() for part in settings.get("nodes", "").split(","))):
        match = _BOUNDS.fullmatch(entry)
        if match is None or int(match["least"]) > int(match["most"]):
            raise invalid(f"add-on {AUTOSCALER}: nodes: {entry} is not MIN:MAX:OCID of a node pool")
        pool = tenancy.found(match["pool"])
        if pool["inputs"]["clusterId"] != inputs["clusterId"]:
            raise invalid(f"add-on {AUTOSCALER}: nodes: {match['pool']} is a node pool of another cluster")
        found.append({**pool, "least": int(match["least"]), "most": int(match["most"])})
    return found


class Addon(Stored):
    """An add-on. It comes up once the cluster has a machine without GPUs, and waits for one until its time limit."""

    kind, collection, active, guarded, failed_is = "Addon", "addon", "ACTIVE", False, "lost"
    takes_s, removal_s, limit_s = 60, 30, 30 * 60

    def check(self, inputs: Properties, record: Record | None) -> None:
        cluster = self.tenancy.found(inputs["clusterId"])
        name, known = inputs["addonName"], facts.addons()
        if name not in known:
            raise invalid(f"there is no add-on {name}: {', '.join(known)}")
        if cluster["inputs"].get("type") != "ENHANCED_CLUSTER":
            raise invalid(f"add-on {name}: a basic cluster has none")
        present = {each["inputs"]["addonName"] for each in addons_of(self.tenancy, cluster["id"])}
        if (needed := known[name].get("needs")) and needed not in present:
            raise invalid(f"add-on {name} needs {needed}")
        if record is None and name in present and not inputs.get("overrideExisting"):
            raise conflict(f"addon {name} exists")
        if name == AUTOSCALER:
            scaled_pools(self.tenancy, inputs)
        if self.tenancy.faults.happens("addon-busy"):
            raise Refused(409, f"IncorrectState, cluster {cluster['id']} is being changed")

    def outputs(self, record: Record) -> Properties:
        version = record["inputs"].get("version") or facts.addons()[record["inputs"]["addonName"]]["version"]
        return {"currentInstalledVersion": version, "addonErrors": [], "configurations": []}

    def extras(self, record: Record) -> Record:
        return {"stuck": self.tenancy.faults.happens("addon-stuck")}

    def new_id(self) -> str:
        return self.tenancy.new_id("addon")

    def bring_about(self, call: Call, record: Record) -> None:
        watch, waited, limit = self.tenancy.clock.stopwatch(), 0, call.limit(self.limit_s)
        while record["stuck"] or not self._has_room(record["inputs"]["clusterId"]):
            call.say("needs attention: no machine without GPUs runs")
            if watch.reached(limit):
                raise CloudError(f"timeout while waiting for add-on {record['inputs']['addonName']}: NEEDS_ATTENTION")
            waited += _POLL_S
            watch.wait_until(min(waited, limit), call.cancelled)
            call.check_cancelled()
        bring_about(self.tenancy, record["inputs"]["clusterId"])

    def removed(self, call: Call, record: Record) -> None:
        bring_about(self.tenancy, record["inputs"]["clusterId"])

    def _has_room(self, cluster: str) -> bool:
        pools = [pool for pool in self.tenancy.store.list("nodepool") if pool["inputs"]["clusterId"] == cluster]
        machines = [
            each for each in self.tenancy.store.list("instance") if each["cluster"] == cluster and each["joined"]
        ]
        shapes = [pool["inputs"]["nodeShape"] for pool in pools if pool["nodes"] and not pool["stuck"]]
        shapes += [machine["inputs"]["shape"] for machine in machines]
        return any(facts.shape_of(shape) is None for shape in shapes)
