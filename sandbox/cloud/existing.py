"""What a stack file names as existing in its cloud, so that the sandbox tries the file as it is."""

from __future__ import annotations

from gpu_fabric.spec.doks import DoksClusterSpec
from gpu_fabric.spec.oke import OkeClusterSpec
from gpu_fabric.spec.stack import StackSpec
from ..home import SandboxHome


def place_existing(home: SandboxHome, spec: StackSpec) -> list[str]:
    """Make it in the simulated cloud where it is not there yet; gives what was made, in words.

    It belongs to no stack: no `destroy` deletes it, and it stays until the sandbox's files are deleted.
    """
    cluster = spec.cluster
    if isinstance(cluster, OkeClusterSpec):
        from .oci import existing as at_oracle
        from .oci.provider import open_tenancy

        tenancy = open_tenancy(home)
        tenancy.region = cluster.region
        return at_oracle.place_existing(tenancy, cluster)
    if isinstance(cluster, DoksClusterSpec):
        from .digitalocean import existing as at_digitalocean
        from .digitalocean.provider import open_api

        return at_digitalocean.place_existing(open_api(home), cluster)
    return []
