"""The resource type NodePool: machines that Oracle makes, labels and cycles."""

from __future__ import annotations

from ..requests import Refused
from ..resource import Call, CloudError
from ..store import Record
from ..wire import Properties
from . import facts
from .machines import bring_about, check_capacity, check_launch, free_address
from .policies import may_launch
from .pools import has_rdma
from .stored import Stored
from .tenancy import conflict, invalid, not_found, over_limit, work_request_failed

_BOOT_VOLUMES = "BOOT_VOLUME_REPLACE"
_PERMISSIONS = {"computeClusterId": "COMPUTE_CLUSTER_LAUNCH_INSTANCE", "hostGroupId": "HOST_GROUP_LAUNCH_INSTANCE"}


class NodePool(Stored):
    """A managed pool. Its size changes in place; other changes reach new nodes only, unless the pool cycles them."""

    kind, collection, active = "NodePool", "nodepool", "ACTIVE"
    guarded = False
    # the provider deletes it by itself
    failed_is = "gone"
    takes_s, removal_s, limit_s = 5 * 60, 2 * 60, 60 * 60

    def check(self, inputs: Properties, record: Record | None) -> None:
        cluster = self.tenancy.found(inputs["clusterId"])
        version = inputs.get("kubernetesVersion") or cluster["inputs"]["kubernetesVersion"]
        if not facts.is_offered(version) or facts.order(version) > facts.order(cluster["inputs"]["kubernetesVersion"]):
            raise invalid(
                f"kubernetesVersion {version} is not one for a cluster of {cluster['inputs']['kubernetesVersion']}"
            )
        image = (inputs.get("nodeSourceDetails") or {}).get("imageId", "")
        if (of_image := facts.version_of_image(self.tenancy.region, image)) not in (None, version):
            raise conflict(
                f"Kubernetes version does not match Kubernetes version of OKE worker node image ({of_image})"
            )
        config = inputs.get("nodeConfigDetails")
        if not config or not config["placementConfigs"]:
            raise invalid("nodeConfigDetails names no placement")
        if config["size"] < 0:
            raise invalid("nodeConfigDetails: size is negative")
        self._check_placements(inputs, config)
        self._check_pod_network(cluster, config)
        self._check_cycling(inputs, record)
        present = len(record["nodes"]) if record else 0
        if config["size"] > present:
            if record is None and self.tenancy.faults.happens("not-enough-quota"):
                raise over_limit("the tenancy's limit for nodes is reached")
            check_capacity(self.tenancy, inputs["nodeShape"])

    def outputs(self, record: Record) -> Properties:
        cluster = self.tenancy.found(record["inputs"]["clusterId"])
        return {
            "kubernetesVersion": cluster["inputs"]["kubernetesVersion"],
            "initialNodeLabels": [],
            "lifecycleDetails": "",
            "nodeSources": [],
        }

    def extras(self, record: Record) -> Record:
        inputs = record["inputs"]
        in_cluster = "computeClusterId" in inputs["nodeConfigDetails"]
        stuck = self.tenancy.faults.happens("pool-never-ready")
        fails = self.tenancy.faults.happens("pool-fails")
        return {"nodes": [], "stuck": stuck, "fails": fails, "rdma": in_cluster and has_rdma(inputs["nodeShape"])}

    def bring_about(self, call: Call, record: Record) -> None:
        tenancy, identifier, cluster = self.tenancy, record["id"], record["inputs"]["clusterId"]
        if record.get("fails"):
            raise CloudError(work_request_failed(tenancy, "nodepool", "Out of host capacity."))
        if record["stuck"]:
            call.say("waiting for the pool's nodes")
            self.pass_time(call, tenancy.clock.stopwatch(), float("inf"), call.limit(self.limit_s))
        tenancy.request(call, "GetWorkRequest", lambda: self._launch(identifier))
        bring_about(tenancy, cluster)

        def names() -> list[str]:
            pool = tenancy.store.get(self.collection, identifier)
            if pool is None:
                raise CloudError(f"node pool {identifier} is gone")
            return [node["address"] for node in pool["nodes"]]

        tenancy.wait_until_ready(call, cluster, names)

    def grow(self, identifier: str) -> None:
        """Launch one more machine, as Oracle's autoscaler does."""
        with self.tenancy.store.lock():
            record = self._found(identifier)
            record["inputs"]["nodeConfigDetails"]["size"] += 1
            self.tenancy.store.put(self.collection, record)
            self._launch(identifier)
        bring_about(self.tenancy, record["inputs"]["clusterId"])

    def replace(self, identifier: str, machine: str, *, smaller: bool) -> None:
        """Delete one machine; another takes its place unless the pool gets smaller. Its node goes first."""
        with self.tenancy.store.lock():
            record = self._found(identifier)
            left = [node for node in record["nodes"] if node["id"] != machine]
            if len(left) == len(record["nodes"]):
                raise not_found(machine)
            record["nodes"] = left
            if smaller:
                record["inputs"]["nodeConfigDetails"]["size"] -= 1
            self.tenancy.store.put(self.collection, record)
        bring_about(self.tenancy, record["inputs"]["clusterId"])
        with self.tenancy.store.lock():
            self._launch(identifier)
        bring_about(self.tenancy, record["inputs"]["clusterId"])

    def removed(self, call: Call, record: Record) -> None:
        bring_about(self.tenancy, record["inputs"]["clusterId"])

    def shown(self, record: Record) -> Properties:
        nodes = [
            {
                "id": node["id"],
                "name": f"oke-{record['id'][-11:]}-{node['id'][-5:]}",
                "nodePoolId": record["id"],
                "privateIp": node["address"],
                "availabilityDomain": node["availabilityDomain"],
                "faultDomain": node["faultDomain"],
                "subnetId": node["subnet"],
                "kubernetesVersion": node["version"],
                "state": "ACTIVE",
                "lifecycleDetails": "",
            }
            for node in record["nodes"]
        ]
        return {**super().shown(record), "nodes": nodes}

    def _check_placements(self, inputs: Properties, config: Properties) -> None:
        source = inputs.get("nodeSourceDetails") or {}
        details = {"shape": inputs["nodeShape"], "shapeConfig": inputs.get("nodeShapeConfig"), "sourceDetails": source}
        for placement in config["placementConfigs"]:
            check_launch(self.tenancy, details, placement["availabilityDomain"])
            self.tenancy.found(placement["subnetId"])
            if placement.get("preemptibleNodeConfig"):
                check_preemptible(inputs["nodeShape"], placement)
            if placement.get("capacityReservationId") and len(config["placementConfigs"]) > 1:
                raise invalid("placementConfigs: a pool with a capacity reservation has one placement")
        asked = {**config, **config["placementConfigs"][0]}
        for name, permission in _PERMISSIONS.items():
            if asked.get(name) and not may_launch(self.tenancy, permission, inputs["compartmentId"], "nodepool"):
                raise Refused(
                    404, f"NotAuthorizedOrNotFound, no policy lets node pools use {asked[name]} ({permission})"
                )
        if "computeClusterId" in config and not has_rdma(inputs["nodeShape"]):
            raise invalid(f"shape {inputs['nodeShape']} has no RDMA network")

    def _check_pod_network(self, cluster: Record, config: Properties) -> None:
        options = cluster["inputs"].get("clusterPodNetworkOptions") or cluster["outputs"]["clusterPodNetworkOptions"]
        known = [option["cniType"] for option in options]
        pods = config.get("nodePoolPodNetworkOptionDetails") or {}
        kind = pods.get("cniType") or known[0]
        if kind not in known:
            raise invalid(f"cniType {kind} is not the cluster's, which is {', '.join(known)}")
        if kind == "OCI_VCN_IP_NATIVE" and not pods.get("podSubnetIds"):
            raise invalid(f"nodePoolPodNetworkOptionDetails: {kind} needs podSubnetIds")

    def _check_cycling(self, inputs: Properties, record: Record | None) -> None:
        """What cannot be done with new boot volumes, by Oracle's documentation; its own words are not known."""
        cycling = inputs.get("nodePoolCyclingDetails") or {}
        if not cycling.get("isNodeCyclingEnabled") or _BOOT_VOLUMES not in (cycling.get("cycleModes") or []):
            return
        if cycling.get("maximumUnavailable", "1") in ("0", "0%"):
            raise invalid("nodePoolCyclingDetails: maximumUnavailable is 0, and boot volumes are to be replaced")
        labels = _labels(inputs)
        if record and any(node["labels"] != labels for node in record["nodes"]):
            raise invalid("nodePoolCyclingDetails: a new boot volume gives a node no other initialNodeLabels")

    def _launch(self, identifier: str) -> None:
        record = self._found(identifier)
        inputs, nodes = record["inputs"], record["nodes"]
        config = inputs["nodeConfigDetails"]
        wanted = {
            "labels": _labels(inputs),
            "userData": (inputs.get("nodeMetadata") or {}).get("user_data", ""),
            "version": inputs.get("kubernetesVersion") or record["outputs"]["kubernetesVersion"],
            "image": (inputs.get("nodeSourceDetails") or {}).get("imageId", ""),
        }
        cycling = inputs.get("nodePoolCyclingDetails") or {}
        if cycling.get("isNodeCyclingEnabled"):
            replace = _BOOT_VOLUMES not in (cycling.get("cycleModes") or [])
            old = [node for node in nodes if any(node[key] != value for key, value in wanted.items())]
            if replace:
                nodes = [node for node in nodes if node not in old]
            else:
                nodes = [{**node, **wanted} if node in old else node for node in nodes]
        del nodes[config["size"] :]
        record["nodes"] = nodes
        while len(nodes) < config["size"]:
            number = len(nodes)
            placement = config["placementConfigs"][number % len(config["placementConfigs"])]
            among = placement.get("faultDomains") or facts.fault_domains()
            machine = self.tenancy.new_id("instance")
            nodes.append(
                {
                    "id": machine,
                    "availabilityDomain": placement["availabilityDomain"],
                    "faultDomain": among[number % len(among)],
                    "subnet": placement["subnetId"],
                    "address": free_address(self.tenancy, placement["subnetId"], machine),
                    **wanted,
                }
            )
            # the next one's address is to be another
            self.tenancy.store.put(self.collection, record)
        self.tenancy.store.put(self.collection, record)


def check_preemptible(shape: str, placement: Properties) -> None:
    """Oracle's documentation of preemptible instances, support and limitations; its own words are not known."""
    if shape.startswith("BM."):
        raise invalid(f"preemptibleNodeConfig: {shape} is a bare-metal shape")
    if placement.get("capacityReservationId"):
        raise invalid("preemptibleNodeConfig: preemptible capacity cannot be used with a capacity reservation")
    if placement["preemptibleNodeConfig"]["preemptionAction"]["type"] != "TERMINATE":
        raise invalid("preemptionAction: type is not TERMINATE")


def _labels(inputs: Properties) -> dict[str, str]:
    return {each["key"]: each.get("value", "") for each in inputs.get("initialNodeLabels") or []}
