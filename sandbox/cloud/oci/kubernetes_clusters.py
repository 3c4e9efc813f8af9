"""The resource type Cluster: each is a control plane of the sandbox."""

from __future__ import annotations

from ipaddress import ip_network

from ...home import ClusterRanges
from ..requests import Refused
from ..resource import Call, CloudError
from ..store import Record
from ..wire import Properties
from . import facts
from .machines import bring_about
from .network import ranges_of
from .stored import Stored
from .tenancy import Tenancy, invalid, over_limit, work_request_failed

_TYPES = ("BASIC_CLUSTER", "ENHANCED_CLUSTER")
_POD_NETWORKS = ("FLANNEL_OVERLAY", "OCI_VCN_IP_NATIVE")
# What a cluster gets that names no ranges (OKE quick-start's address plan).
_PODS, _SERVICES = "10.244.0.0/16", "10.96.0.0/16"


class Cluster(Stored):
    """A cluster without machines. Its node pools go with it; machines that have joined by themselves stay behind."""

    kind, collection, active = "Cluster", "cluster", "ACTIVE"
    guarded = False
    takes_s, removal_s, limit_s = 7 * 60, 3 * 60, 60 * 60

    def check(self, inputs: Properties, record: Record | None) -> None:
        if record is None and self.tenancy.faults.happens("not-enough-quota"):
            raise over_limit("the tenancy's limit for clusters is reached")
        if inputs.get("type", _TYPES[0]) not in _TYPES:
            raise invalid(f"type {inputs['type']}: allowed are {', '.join(_TYPES)}")
        version = inputs["kubernetesVersion"]
        if not facts.is_offered(version):
            raise invalid(f"kubernetesVersion {version} is not offered")
        if record is not None:
            if record["fails"]:
                raise Refused(409, f"IncorrectState, cluster {record['id']} is in state FAILED")
            if facts.order(version) < facts.order(record["inputs"]["kubernetesVersion"]):
                raise invalid(f"kubernetesVersion {version} is lower than the cluster's")
            if record["inputs"].get("type") == _TYPES[1] and inputs.get("type", _TYPES[1]) == _TYPES[0]:
                raise invalid("an enhanced cluster does not become a basic one")
        for option in inputs.get("clusterPodNetworkOptions") or []:
            if option["cniType"] not in _POD_NETWORKS:
                raise invalid(f"cniType {option['cniType']}: allowed are {', '.join(_POD_NETWORKS)}")
        self._check_network(inputs)

    def outputs(self, record: Record) -> Properties:
        network = {"podsCidr": _PODS, "servicesCidr": _SERVICES}
        return {
            "type": _TYPES[0],
            "options": {"kubernetesNetworkConfig": network},
            "clusterPodNetworkOptions": [{"cniType": _POD_NETWORKS[0]}],
            "availableKubernetesUpgrades": [],
            "lifecycleDetails": "",
        }

    def extras(self, record: Record) -> Record:
        # a cluster whose creation fails exists at once, and a caller that waits for it sees the failure
        fails = self.tenancy.faults.happens("cluster-error")
        return {"endpoint": "", "authority": "", "managed": None, "fails": fails, "region": self.tenancy.region}

    def bring_about(self, call: Call, record: Record) -> None:
        if record["fails"]:
            raise CloudError(work_request_failed(self.tenancy, "cluster", "the cluster could not be made"))
        if not record["endpoint"]:
            call.say("starting the control plane")
            network = self._ranges(record)
            ranges = ClusterRanges(network["podsCidr"], network["servicesCidr"])
            endpoint = self.tenancy.clusters.create(record["id"], ranges)
            self.tenancy.clusters.set_tokens(record["id"], {})
            known = {"endpoint": endpoint.server, "authority": endpoint.authority}
            self.tenancy.change(self.collection, record["id"], lambda each: each.update(known))
        bring_about(self.tenancy, record["id"])

    def removed(self, call: Call, record: Record) -> None:
        forget_cluster(self.tenancy, record["id"])

    def shown(self, record: Record) -> Properties:
        shown = super().shown(record)
        given, network = record["inputs"].get("options") or {}, self._ranges(record)
        address = record["endpoint"].removeprefix("https://")
        public = (record["inputs"].get("endpointConfig") or {}).get("isPublicIpEnabled")
        endpoint = {
            "kubernetes": "",
            "privateEndpoint": address,
            "publicEndpoint": address if public else "",
            "ipv6endpoint": "",
            "vcnHostnameEndpoint": "",
        }
        return {
            **shown,
            "options": {**given, "kubernetesNetworkConfig": network},
            "endpoints": [endpoint] if address else [],
        }

    def _ranges(self, record: Record) -> dict[str, str]:
        given = (record["inputs"].get("options") or {}).get("kubernetesNetworkConfig") or {}
        return {**record["outputs"]["options"]["kubernetesNetworkConfig"], **given}

    def _check_network(self, inputs: Properties) -> None:
        vcn = self.tenancy.found(inputs["vcnId"])
        config = inputs.get("endpointConfig")
        if config is not None:
            subnet = self.tenancy.found(config["subnetId"])
            if subnet["inputs"]["vcnId"] != vcn["id"]:
                raise invalid("endpointConfig: the subnet is in another VCN")
            if config.get("isPublicIpEnabled") and subnet["inputs"].get("prohibitPublicIpOnVnic"):
                raise invalid("endpointConfig: the subnet allows no public addresses")
        network = (inputs.get("options") or {}).get("kubernetesNetworkConfig") or {}
        flannel = any(option["cniType"] == _POD_NETWORKS[0] for option in inputs.get("clusterPodNetworkOptions") or [])
        for name in ("servicesCidr", *(("podsCidr",) if flannel else ())):
            for text in ranges_of(vcn["inputs"]):
                if network.get(name) and ip_network(network[name]).overlaps(ip_network(text)):
                    raise invalid(f"options: {name} {network[name]} overlaps with the VCN's {text}")


def forget_cluster(tenancy: Tenancy, identifier: str) -> None:
    """End a cluster's control plane, and forget its node pools and add-ons."""
    for kind in ("nodepool", "addon"):
        for record in tenancy.store.list(kind):
            if record["inputs"]["clusterId"] == identifier:
                tenancy.store.remove(kind, record["id"])
    tenancy.store.remove("cluster", identifier)
    tenancy.clusters.delete(identifier)


def kubeconfig(cluster: Record, endpoint: str, region: str) -> str:
    """The text of a cluster's kubeconfig, whose user is the command `oci`. Raises Refused without such an endpoint."""
    import base64

    from gpu_fabric.base.yaml_files import as_yaml

    public = (cluster["inputs"].get("endpointConfig") or {}).get("isPublicIpEnabled")
    if endpoint == "PUBLIC_ENDPOINT" and not public:
        raise invalid(f"cluster {cluster['id']} has no public endpoint")
    if not cluster["endpoint"]:
        raise invalid(f"cluster {cluster['id']} is not active yet")
    short = cluster["id"][-11:]
    arguments = ["ce", "cluster", "generate-token", "--cluster-id", cluster["id"], "--region", region]
    command = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "oci",
        "args": arguments,
        "env": [],
        "interactiveMode": "Never",
        "provideClusterInfo": False,
    }
    where = {
        "certificate-authority-data": base64.b64encode(cluster["authority"].encode()).decode(),
        "server": cluster["endpoint"],
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": f"cluster-{short}", "cluster": where}],
        "users": [{"name": f"user-{short}", "user": {"exec": command}}],
        "contexts": [{"name": f"context-{short}", "context": {"cluster": f"cluster-{short}", "user": f"user-{short}"}}],
        "current-context": f"context-{short}",
    }
    return as_yaml(document)
