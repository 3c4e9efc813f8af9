"""Providers whose answers are words: what a program registers among them is what a rendered plan shows."""

from typing import Any

from recording import World

SECRET = "<secret {}>"
# Names of availability domains are found by their ends, which the words for them have not.
DOMAINS = {f"of-a-region-AD-{number}": f"<lookup availability-domains.AD-{number}>" for number in (1, 2, 3)}
ACCOUNT = {"DIGITALOCEAN_TOKEN": SECRET.format("digitalocean:token"), "TF_VAR_tenancy_ocid": "<lookup tenancy.id>"}


def output(name: str, of: str) -> str:
    """What stands for an output of a resource."""
    return f"<output {name}.{of}>"


class SymbolicWorld(World):
    """Every id, fact and answer is what a rendered plan writes in its place."""

    def __init__(self) -> None:
        super().__init__({})

    def id_of(self, name: str) -> str:
        return output(name, "id")

    def computed(self, kind: str, name: str) -> dict[str, Any]:
        authority = "<lookup cluster-kubeconfig.cluster_ca_cert>"
        endpoints = {"privateEndpoint": f"{output(name, 'apiserverHost')}:6443", "publicEndpoint": "public:6443"}
        known: dict[str, dict[str, Any]] = {
            "KubernetesCluster": {
                "endpoint": output(name, "endpoint"),
                "clusterUrn": output(name, "clusterUrn"),
                "kubeConfigs": [{"clusterCaCertificate": authority, "rawConfig": "users: []"}],
            },
            "Cluster": {"endpoints": [endpoints]},
            "Instance": {"privateIp": output(name, "privateIp"), "publicIp": output(name, "publicIp")},
            "Vcn": {"defaultSecurityListId": output(name, "defaultSecurityListId")},
        }
        return known.get(kind, {})

    def answer(self, function: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        prefix = arguments.get("versionPrefix")
        service = {"id": "<lookup oracle-services.id>", "cidrBlock": "<lookup oracle-services.cidr_block>"}
        answers: dict[str, dict[str, Any]] = {
            "getKubernetesVersions": {
                "latestVersion": f"<lookup kubernetes-versions.newest of {prefix}*>",
                "validVersions": [prefix],
            },
            "getServices": {"services": [service]},
            "getAvailabilityDomains": {"availabilityDomains": [{"name": name} for name in DOMAINS]},
            "getNodePoolOption": {
                "sources": [
                    {"imageId": f"<lookup node-images.{image}>", "sourceName": f"{kind}2026.08.14-0-OKE-1.34.1-1191"}
                    for image, kind in (
                        ("image", ""),
                        ("image", "aarch64-"),
                        ("image_for_gpus", "GPU-"),
                        ("image_for_gpus", "GPU-aarch64-"),
                    )
                ]
            },
            "getNodePools": {"nodePools": []},
            "getClusterKubeConfig": {
                "content": "clusters: [{name: c, cluster: {certificate-authority-data: "
                "'<lookup cluster-kubeconfig.cluster_ca_cert>'}}]"
            },
        }
        return answers.get(function)
