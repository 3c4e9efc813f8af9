"""`GpuCluster`: a cluster with an RDMA fabric, at DigitalOcean or Oracle, as a component of any Pulumi program."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path

import pulumi

from gpu_fabric.findings import finding
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack_text import StackDocument

from .args import (
    DoksClusterArgs,
    FabricArgs,
    FurtherFabricArgs,
    MonitoringArgs,
    OkeClusterArgs,
    SoftwareArgs,
    VerificationSettingsArgs,
)
from .bases.arguments import as_written, given_as_in_files, output_findings, refuse, refuse_other_arguments
from .bases.cluster_arguments import ClusterArguments, plan_cluster
from .bases.cluster_component import create_cluster
from .bases.public_component import PublicComponent, fabric_outputs, secret_findings, secret_text
from .engine.steps import register_steps
from .outputs import AddressPlan, FabricContract, VerificationOutcome

# Annotations are evaluated here, since Pulumi infers the package's schema from them.

_SECTIONS = ("fabric", "fabrics", "software", "verification", "monitoring")


@dataclass
class GpuClusterArgs:
    """Arguments of a GpuCluster: where the cluster is created, and the fabric on it.

    Only what opens the account (`token`, `settings`, `kubeconfig_token`) and the values of `secrets` may be Outputs of
    other resources. All else decides which resources there are, and must be known before the run.
    """

    doks: DoksClusterArgs | None = None
    """The cluster, if DigitalOcean creates it. Default: none, and `oke` is required."""
    oke: OkeClusterArgs | None = None
    """The cluster, if Oracle creates it. Default: none, and `doks` is required."""
    fabric: FabricArgs | None = None
    """How NICs get into pods, and with which addresses: the section `fabric` of a stack file (docs/configuration.md).
    Default: the defaults of its fields."""
    fabrics: dict[str, FurtherFabricArgs] | None = None
    """Further fabrics by name, of some of the pools: the section `fabrics` of a stack file (docs/groups.md). Default:
    none."""
    software: SoftwareArgs | None = None
    """Release line, charts and operators: the section `software` of a stack file (docs/configuration.md). Default: the
    defaults of its fields."""
    verification: VerificationSettingsArgs | None = None
    """A measurement of the fabric (docs/verification.md). Default: no measurement."""
    monitoring: MonitoringArgs | None = None
    """Alarms and a dashboard for the Prometheus and the Grafana of the cluster (docs/alarms.md). Default: none."""
    secrets: dict[str, pulumi.Input[str]] | None = None
    """Secrets that `software` names, such as in spiderpool.tls.secret, by that name: each the text of a JSON object.
    Default: none."""


class GpuCluster(PublicComponent):
    """Creates a cluster with GPU pools at DigitalOcean or Oracle, and installs what an RDMA fabric needs on it.

    Must exist before: an account there, and what the arguments name by id. Waits until the nodes have joined, operators
    are ready, nodes offer GPUs and NICs, and a verification has passed. Torn down with the cluster: the objects on it
    are not deleted one by one, unless it is protected. Reads no configuration and no environment variable.
    """

    cluster_id: pulumi.Output[str]
    """Id of the cluster at its cloud."""
    kubeconfig: pulumi.Output[str]
    """Content of a kubeconfig for the cluster, which is a secret."""
    access: pulumi.Output[str | None]
    """Command that opens a way to machines without public addresses. None where the arguments ask for no access."""
    contract: pulumi.Output[FabricContract]
    """What the pods of a job carry to use the fabric, as in a stack's output `fabric` (docs/contract.md)."""
    contracts: pulumi.Output[dict[str, FabricContract]]
    """The contract of each fabric by its name, as in a stack's output `fabrics`; `main` is that of `contract`."""
    address_plan: pulumi.Output[AddressPlan]
    """The ranges of rails, nodes and pools, with the proof that they are large enough and do not overlap
    (docs/addresses.md)."""
    networks: pulumi.Output[list[str]]
    """Names of the networks (NetworkAttachmentDefinitions) that a pod attaches, one for each interface."""
    verification: pulumi.Output[VerificationOutcome | None]
    """Outcome of the verification. None without a verification."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied, every wait has ended and the verification has passed, if `up` waits
    for it. Resources that need the fabric depend on it."""

    def __init__(self, name: str, args: GpuClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Plan the cluster and its fabric, and register both.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        component = f"GpuCluster {name}"
        refuse_other_arguments(component, args, GpuClusterArgs)
        cluster, secrets = _cluster(component, args), args.secrets or {}
        given = {key: value for key in _SECTIONS if (value := getattr(args, key)) is not None}
        sections = {key: as_written(value) for key, value in given.items()}
        as_in_files = given_as_in_files({key: getattr(args, key) for key in ("doks", "oke", *_SECTIONS)})
        document = StackDocument(name=name, file=component, root=Path(), sections=sections, null_is_absent=True)
        plan = plan_cluster(
            component,
            name,
            cluster,
            opts,
            sections,
            (*output_findings(given), *secret_findings(document, secrets)),
            as_in_files=as_in_files,
        )
        super().__init__("gpu-fabric:index:GpuCluster", name, None, opts)
        self._report(component, plan, as_in_files)
        handle = create_cluster(component, name, plan, cluster, self, opts)
        registered = register_steps(plan, handle, self, secret_text(secrets))
        of_cluster = {"cluster_id": handle.cluster_id, "kubeconfig": handle.kubeconfig, "access": handle.access}
        self._give_outputs(GpuCluster, {**of_cluster, **fabric_outputs(plan, registered)})


def _cluster(component: str, args: GpuClusterArgs) -> ClusterArguments:
    """The arguments of the one cluster.

    Raises:
        pulumi.RunError: there is none, or there are two.
    """
    found = {"doks": args.doks, "oke": args.oke}
    given = [key for key, value in found.items() if value is not None]
    if len(given) != 1:
        number = "both `doks` and `oke` are given" if given else "neither `doks` nor `oke` is given"
        refuse(component, [finding("SPC002", "", number, "give one of them: where the cluster is created")])
    (cloud,) = given
    if not (is_dataclass(found[cloud]) or isinstance(found[cloud], Mapping)):
        problem = finding(
            "SPC002", dotted((cloud,)), "must be the arguments of a cluster", "give it a dataclass of them"
        )
        refuse(component, [*output_findings({cloud: found[cloud]})] or [problem])
    return ClusterArguments.of(cloud, found[cloud], cloud)
