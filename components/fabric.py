"""`GpuFabric`: an RDMA fabric on any cluster, as a component of any Pulumi program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi

from gpu_fabric.findings import ConfigurationError, Finding, Severity, finding
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import SecretValue
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.kubeconfig import cluster_entry, cluster_identity, open_choice
from gpu_fabric.spec.load import unset_secrets
from gpu_fabric.spec.places import dotted, within_section
from gpu_fabric.spec.stack_text import StackDocument

from .arguments import as_written, is_known_later, output_findings, refuse, warnings
from .cluster.handle import ClusterHandle, kubernetes_provider
from .engine.steps import Registered, register_steps
from .registration import secret_entry

# Annotations are evaluated here, since Pulumi infers the package's schema from them.

_KUBECONFIG = ("cluster", "kubeconfig")
_CLUSTER_KEYS = ("context", "kubernetes", "pools", "ranges", "shapes", "installed")
_SECTIONS = ("fabric", "software", "verification")


@dataclass
class TaintArgs:
    """A taint of a pool's nodes, which every operand and every job tolerates."""

    key: str
    """Key of the taint, such as nvidia.com/gpu."""
    value: str | None = None
    """Value of the taint. Default: empty."""
    effect: str | None = None
    """NoSchedule, PreferNoSchedule or NoExecute. Default: NoSchedule."""


@dataclass
class GpuPoolArgs:
    """A group of equal GPU nodes."""

    name: str
    """Name of the pool, unique in the fabric: letters in lower case, digits and hyphens."""
    shape: str
    """Machine type from the catalog (`gpu-fabric shapes` lists them) or from `shapes`, such as BM.GPU.H100.8."""
    nodes: int
    """Number of GPU nodes in the pool, 1 to 8192."""
    labels: dict[str, str] | None = None
    """Labels that the pool's nodes have; jobs select by those that all pools have in common. Default: none."""
    taints: list[TaintArgs] | None = None
    """Taints of the pool's nodes. Default: the GPU vendor's, such as nvidia.com/gpu."""
    node_names: list[str] | None = None
    """Names of the nodes, in order, which pin the addresses of each; an empty name keeps the place of a removed node.
    Default: nodes have no fixed addresses."""
    first_share: int | None = None
    """With node_names: number of the first node's share of the addresses, from 0; the pool then keeps its addresses
    when a pool before it grows. Default: after the shares of the pools before it."""


@dataclass
class RangesArgs:
    """Address ranges in CIDR notation that the cluster already uses, and that the fabric must not overlap."""

    pods: str | None = None
    """Range of the pods. Default: not checked, which is a warning."""
    services: str | None = None
    """Range of the services. Default: not checked, which is a warning."""
    nodes: str | None = None
    """Range of the node network (VPC, VCN). Default: not checked, which is a warning."""
    reserved: list[str] | None = None
    """Further ranges in use, such as those of peered networks. Default: none."""


@dataclass
class VerificationArgs:
    """A job that measures each rail alone and then the whole fabric, and the bars that it must reach."""

    enabled: bool | None = None
    """Whether the fabric is measured after its creation or a change. Default: no."""
    launcher: str | None = None
    """Who runs the job: job (a Job of Kubernetes), volcano or mpi-operator. Default: job."""
    nodes: int | None = None
    """Number of GPU nodes that take part, from 2. Default: all of the fabric's."""
    image: str | None = None
    """Image with bash, Open MPI, ssh's server and client, and nccl-tests 2.17.3 or later (rccl-tests on AMD's GPUs).
    Default: none, and one is required."""
    program: str | None = None
    """The test in the image: a name on its PATH, or a path. Default: all_reduce_perf."""
    bar: float | None = None
    """Bus bandwidth in GB/s (1e9 bytes) that the whole fabric must reach. Default: what follows from the line rate."""
    rail_bar: float | None = None
    """Bus bandwidth in GB/s that each rail alone must reach. Default: the fabric's bar, shared by the rails."""
    per_rail: bool | None = None
    """Whether each rail is measured alone first, so that a slow one is named. Default: yes."""
    minutes: int | None = None
    """Time limit of the job in minutes, with the start of its pods, 5 to 1440. Default: 60."""
    wait: bool | None = None
    """Whether `up` waits for the verdict and fails with it; else a later `up` reports it. Default: yes."""
    trigger: str | None = None
    """Any text; another one has an unchanged fabric measured again. Default: none."""


@dataclass
class GpuFabricArgs:
    """Arguments of a GpuFabric.

    Only `kubeconfig`, `cluster_id` and the values of `secrets` may be Outputs of other resources. All else decides
    which resources there are, and must be known before the run.
    """

    kubeconfig: pulumi.Input[str]
    """Content of the cluster's kubeconfig, which is kept as a secret; an Output of the resource that creates the
    cluster works."""
    pools: list[GpuPoolArgs]
    """The cluster's GPU pools, at least one."""
    context: str | None = None
    """Context of the kubeconfig. Default: its current one."""
    cluster_id: pulumi.Input[str] | None = None
    """Identity of the cluster: while it is the same, renewed credentials replace no object. Default: derived from the
    address and the certificate authority in the kubeconfig."""
    kubernetes: str | None = None
    """Kubernetes version of the cluster, such as 1.34, by which the needs of the release line are checked. Default: not
    checked."""
    ranges: RangesArgs | None = None
    """Address ranges that the cluster uses. Default: none is known, which is a warning."""
    shapes: dict[str, Any] | None = None
    """Machine types that are not in the catalog, by name, with the keys of `cluster.shapes` in a stack file
    (docs/shapes.md). Default: none."""
    installed: list[str] | None = None
    """Software that the cluster already has and that is not installed: nfd, multus, gpu-operator, network-operator,
    sriov-operator, cert-manager, prometheus-operator, grafana-operator, kueue, or a controller of jobs. Default:
    none."""
    fabric: dict[str, Any] | None = None
    """How NICs get into pods, and with which addresses: the keys of the section `fabric` in a stack file
    (docs/configuration.md), such as model, manager and addressing. Default: that section's defaults."""
    software: dict[str, Any] | None = None
    """Release line, charts and operators: the keys of the section `software` in a stack file (docs/configuration.md).
    Default: the newest release line, from the vendors' repositories."""
    verification: VerificationArgs | None = None
    """A measurement of the fabric (docs/verification.md). Default: no measurement."""
    secrets: dict[str, pulumi.Input[str]] | None = None
    """Secrets that `software` names, such as in spiderpool.tls.secret, by that name: each the text of a JSON object.
    Default: none."""


class GpuFabric(pulumi.ComponentResource):
    """Installs what an RDMA fabric needs on a cluster: operators, networks, address pools, NCCL files, verification.

    Must exist before: the cluster, with its GPU nodes; name their resources in `depends_on` if this program creates
    them. Waits until operators are ready, nodes offer GPUs and NICs, and a verification has passed. Torn down in
    reverse, which needs the cluster's API server: with `deleted_with` nothing is deleted one by one. Reads no
    configuration and no environment variable.
    """

    contract: pulumi.Output[dict[str, Any]]
    """What the pods of a job carry to use the fabric, as in a stack's output `fabric` (docs/contract.md)."""
    address_plan: pulumi.Output[dict[str, Any]]
    """The ranges of rails, nodes and pools, with the proof that they are large enough and do not overlap
    (docs/addresses.md)."""
    networks: pulumi.Output[list[str]]
    """Names of the networks (NetworkAttachmentDefinitions) that a pod attaches, one for each interface."""
    verification: pulumi.Output[dict[str, Any] | None]
    """Outcome of the verification: state, job, bars and measured values in GB/s. None without a verification."""
    ready: pulumi.Output[bool]
    """True, known when every resource is applied, every wait has ended and the verification has passed, if `up` waits
    for it. Resources that need the fabric depend on it."""

    def __init__(self, name: str, args: GpuFabricArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Plan the fabric and register it.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        plan = _plan(name, args)
        super().__init__("gpu-fabric:index:GpuFabric", name, None, opts)
        for text in warnings(f"GpuFabric {name}", _reportable(plan)):
            pulumi.log.warn(text, self)
        cluster = self._cluster(name, args, opts)
        secrets = args.secrets or {}
        registered = register_steps(plan, cluster, self, lambda wanted: _secret_text(secrets, wanted))
        self.contract = pulumi.Output.from_input(_document(plan.workload))
        self.address_plan = pulumi.Output.from_input(_document(plan.addresses))
        self.networks = pulumi.Output.from_input(
            list(dict.fromkeys(network.network for network in plan.workload.networks))
        )
        self.verification = pulumi.Output.from_input(registered.verification)
        self.ready = _ready(registered)
        self.register_outputs(
            {
                "contract": self.contract,
                "addressPlan": self.address_plan,
                "networks": self.networks,
                "verification": self.verification,
                "ready": self.ready,
            }
        )

    def _cluster(self, name: str, args: GpuFabricArgs, opts: pulumi.ResourceOptions | None) -> ClusterHandle:
        """The cluster, with the provider from the options, or one of the component's own."""
        place, context = f"GpuFabric {name}", args.context

        def usable(text: str) -> str:
            if (reason := _unusable(text, context)) is not None:
                refuse(place, [reason])
            return text

        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(args.kubeconfig).apply(usable)
        # A digest of address and authority reveals nothing; as a secret it would hide what depends on it.
        identity = pulumi.Output.unsecret(kubeconfig.apply(lambda text: cluster_identity(text, context)))
        cluster_id = identity if args.cluster_id is None else pulumi.Output.from_input(args.cluster_id)
        provider = self.get_provider("kubernetes:index:Provider") or kubernetes_provider(
            f"{name}-kubernetes", kubeconfig, context, cluster_id, self, after=_dependencies(opts)
        )
        return ClusterHandle(provider, cluster_id, kubeconfig, context, nodes=tuple(_dependencies(opts)))


def _plan(name: str, args: GpuFabricArgs) -> Plan:
    """The plan of a component's arguments.

    Raises:
        pulumi.RunError: with every problem.
    """
    given = {key: getattr(args, key) for key in _CLUSTER_KEYS}
    if not is_known_later(args.cluster_id):
        given["id"] = args.cluster_id
    sections = {"cluster": given, **{section: getattr(args, section) for section in _SECTIONS}}
    written = {section: as_written(value) for section, value in sections.items() if value is not None}
    written["cluster"] = {
        "provider": "existing",
        # The kubeconfig is not part of the plan.
        "kubeconfigSecret": "kubeconfig",
        **{key: value for key, value in written["cluster"].items() if given[key] is not None},
    }
    document = StackDocument(name=name, file=f"GpuFabric {name}", root=Path(), sections=written)
    of_kubeconfig = tuple(_kubeconfig_findings(args))
    problems = (
        *output_findings(sections),
        *(entry for entry in of_kubeconfig if entry.severity is Severity.ERROR),
        *_secret_findings(document, args.secrets or {}),
    )
    try:
        plan = prepare(document.model_copy(update={"unclear": problems}), for_up=True)
    except ConfigurationError as error:
        refuse(error.file, error.findings)
    return plan.model_copy(update={"findings": (*of_kubeconfig, *plan.findings)})


def _kubeconfig_findings(args: GpuFabricArgs) -> Iterator[Finding]:
    """Problems of a kubeconfig that is known before the run."""
    if is_known_later(args.kubeconfig) or is_known_later(args.context):
        return
    if not isinstance(args.kubeconfig, str):
        yield finding(
            "SPC002", dotted(_KUBECONFIG), "must be text, or an Output of it", "give it the content of a kubeconfig"
        )
    elif (reason := _unusable(args.kubeconfig, args.context)) is not None:
        yield reason
    else:
        yield from open_choice(args.kubeconfig, args.context, "the kubeconfig")


def _unusable(text: str, context: str | None) -> Finding | None:
    """Why a kubeconfig cannot be used; None if it can. Never repeats its content."""
    try:
        cluster_entry(text, context)
    except ValueError as error:
        remedy = "give it the content of a complete kubeconfig (not its path), and a context that it holds"
        return finding("CLU001", dotted(_KUBECONFIG), str(error), remedy)
    return None


def _secret_findings(document: StackDocument, secrets: Mapping[str, Any]) -> Iterator[Finding]:
    """Secrets that are named and not given."""
    for path, key in unset_secrets(document):
        if key not in secrets and not within_section(path, "cluster"):
            yield finding("SPC003", path, f"the secret {key!r} is not among `secrets`", f"add secrets={{{key!r}: ...}}")


def _secret_text(secrets: Mapping[str, pulumi.Input[str]], wanted: SecretValue) -> str | pulumi.Output[str]:
    given = secrets[wanted.key]
    if isinstance(given, str):
        return secret_entry(given, wanted)
    known: pulumi.Output[str] = pulumi.Output.secret(given)
    return known.apply(lambda text: secret_entry(text, wanted))


def _reportable(plan: Plan) -> list[Finding]:
    return [entry for entry in plan.findings if entry.severity is Severity.WARNING]


def _document(model: Any) -> dict[str, Any]:
    """A record of the plan as outputs have it."""
    document: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return document


def _dependencies(opts: pulumi.ResourceOptions | None) -> list[Any]:
    """What the component comes after. Pulumi does not let the children of a component wait for it."""
    if opts is None or opts.depends_on is None:
        return []
    found: Any = opts.depends_on
    return list(found) if isinstance(found, list | tuple) else [found]


def _ready(registered: Registered) -> pulumi.Output[bool]:
    """True, known when all resources are applied and the verification has ended."""
    applied = [pulumi.Output.from_input(entry).apply(_identity) for entry in registered.resources]
    return pulumi.Output.all(registered.verification, *applied).apply(lambda _: True)


def _identity(resource: Any) -> Any:
    """An output of a resource that is known when it is applied, and in a preview only if it exists."""
    return resource.id if isinstance(resource, pulumi.CustomResource) else resource.urn
