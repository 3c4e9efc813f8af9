"""What the engine does with the plug-in for Oracle's cloud, and a stack's resources by their short names."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cloud_engine import MINUTE_S, Engine, FakeControlPlanes, Resource, served
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.cloud.clock import Clock
from sandbox.cloud.faults import Faults
from sandbox.cloud.oci.credentials import credentials
from sandbox.cloud.oci.fields import token_of
from sandbox.cloud.oci.provider import Oracle
from sandbox.cloud.oci.tenancy import Tenancy
from sandbox.cloud.store import Store
from sandbox.home import SandboxHome

COMPARTMENT = "ocid1.compartment.oc1..example"
IMAGE = "ocid1.image.oc1.iad.example"
H100 = "BM.GPU.H100.8"
GROUP_RULE = f"ALL {{instance.compartment.id = '{COMPARTMENT}'}}"


class OracleEngine(Engine):
    """The engine's side of the protocol with Oracle's provider, and short ways to a whole stack."""

    parts: tuple[Resource, Resource, Resource]
    """The VCN, the subnet and the security group, once there are some."""
    subnet: Resource
    cluster: Resource

    def with_cluster(self) -> OracleEngine:
        """With a cluster in a network of its own."""
        vcn = self.up("Vcn", "vcn", {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.140.0.0/16"], "dnsLabel": "one"})
        lies = {"compartmentId": COMPARTMENT, "vcnId": vcn.id}
        self.subnet = self.up("Subnet", "workers", {**lies, "cidrBlock": "10.140.64.0/19", "dnsLabel": "wo"})
        self.parts = vcn, self.subnet, self.up("NetworkSecurityGroup", "workers", lies)
        self.cluster = self.up("Cluster", "one", self.new_cluster())
        return self

    def new_cluster(self, **changes: Any) -> dict[str, Any]:
        """Inputs of a cluster in the network."""
        vcn, subnet, group = self.parts
        return {
            "compartmentId": COMPARTMENT,
            "vcnId": vcn.id,
            "name": "one",
            "kubernetesVersion": "v1.34.1",
            "type": "ENHANCED_CLUSTER",
            "clusterPodNetworkOptions": [{"cniType": "FLANNEL_OVERLAY"}],
            "endpointConfig": {"subnetId": subnet.id, "isPublicIpEnabled": False, "nsgIds": [group.id]},
            "options": {"kubernetesNetworkConfig": {"podsCidr": "10.240.0.0/12", "servicesCidr": "10.96.0.0/16"}},
            **changes,
        }

    def pool_inputs(self, size: int = 1, **changes: Any) -> dict[str, Any]:
        """Inputs of a node pool of the cluster."""
        placement = {"availabilityDomain": self.domain, "subnetId": self.subnet.id}
        return {
            "compartmentId": COMPARTMENT,
            "clusterId": self.cluster.id,
            "name": "system",
            "kubernetesVersion": "v1.34.1",
            "nodeShape": "VM.Standard.E5.Flex",
            "nodeShapeConfig": {"ocpus": 4, "memoryInGbs": 16},
            "nodeConfigDetails": {"size": size, "placementConfigs": [placement]},
            "nodeSourceDetails": {"sourceType": "IMAGE", "imageId": IMAGE},
            **changes,
        }

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes of the cluster."""
        return self.planes.nodes[self.cluster.id]

    def names(self) -> list[str]:
        return sorted(node["metadata"]["name"] for node in self.nodes())

    @property
    def domain(self) -> str:
        """The name of the first availability domain."""
        return str(
            self.ask("Identity/getAvailabilityDomains", compartmentId=COMPARTMENT)["availabilityDomains"][0]["name"]
        )

    def ask(self, function: str, **given: Any) -> dict[str, Any]:
        module, name = function.split("/")
        self.function = f"oci:{module}/{{0}}:{{0}}"
        return super().ask(name, **given)

    def urn(self, kind: str, name: str) -> str:
        return f"urn:pulumi:dev::project::gpu-fabric:cluster:Oke${token_of(kind)}::{name}"

    def allow(self) -> None:
        """A dynamic group of the compartment's machines, and the policy that lets them join the cluster."""
        group = {
            "compartmentId": self.api.account.tenancy,
            "name": "nodes",
            "description": "d",
            "matchingRule": GROUP_RULE,
        }
        self.up("DynamicGroup", "nodes", group)
        who = f"dynamic-group 'nodes' to {{CLUSTER_JOIN}} in compartment id {COMPARTMENT}"
        statement = f"Allow {who} where target.cluster.id = '{self.cluster.id}'"
        given = {"compartmentId": COMPARTMENT, "name": "join", "description": "d", "statements": [statement]}
        self.up("Policy", "join", given)

    def metadata(self) -> dict[str, str]:
        """What a machine needs to join the cluster."""
        authority = self.planes.create(self.cluster.id).authority
        host = self.cluster.outputs["endpoints"][0]["privateEndpoint"].rpartition(":")[0]
        return {"apiserver_host": host, "cluster_ca_cert": base64.b64encode(authority.encode()).decode()}

    def configuration(self, subnet: Resource, metadata: dict[str, str], shape: str = H100, **more: Any) -> Resource:
        """An instance configuration."""
        details = {
            "shape": shape,
            "metadata": metadata,
            "createVnicDetails": {"subnetId": subnet.id, "assignPublicIp": False},
            "sourceDetails": {"sourceType": "image", "imageId": IMAGE},
            **more,
        }
        given = {"compartmentId": COMPARTMENT, "instanceDetails": {"instanceType": "compute", "launchDetails": details}}
        return self.up("InstanceConfiguration", "gpu", given)

    def cluster_network_inputs(self, configuration: Resource, subnet: Resource, size: int = 2) -> dict[str, Any]:
        return {
            "compartmentId": COMPARTMENT,
            "displayName": "gpu",
            "instancePools": [{"instanceConfigurationId": configuration.id, "size": size}],
            "placementConfiguration": {
                "availabilityDomain": self.domain,
                "primaryVnicSubnets": {"subnetId": subnet.id},
            },
        }


@contextmanager
def oracle_on(home: Path, minute_s: float = MINUTE_S) -> Iterator[OracleEngine]:
    """An engine with a plug-in of its own on the account in this folder."""
    with patch.object(rsa, "generate_private_key", _key):
        account = credentials(SandboxHome(home))
    planes, faults = FakeControlPlanes(), Faults(home)
    tenancy = Tenancy(Store(home / "oci"), faults, Clock(home, minute_s), planes, account)
    with served(Oracle(tenancy)) as stub:
        yield OracleEngine(stub, tenancy, planes)


# A key takes longer to make than most tests with one.
_key = cache(rsa.generate_private_key)
