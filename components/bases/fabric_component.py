"""What every component of a fabric on a cluster has in common: arguments, plan, provider and outputs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pulumi
from pydantic.alias_generators import to_camel

from gpu_fabric.findings import ConfigurationError, Finding, Severity, finding
from gpu_fabric.plan import Plan
from gpu_fabric.plan.managers import SYSTEM_NAMESPACE
from gpu_fabric.plan.operators.sharing import SHARED
from gpu_fabric.plan.records import HelmRelease, Item, PlannedObject, PlannedPullSecret
from gpu_fabric.plan.steps import NODES, Step
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.kubeconfig import cluster_entry, cluster_identity, open_choice
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack import StackSpec
from gpu_fabric.spec.stack_text import StackDocument

from ..args import (
    CniFoldersArgs,
    FabricArgs,
    FurtherFabricArgs,
    GpuPoolArgs,
    MonitoringArgs,
    RangesArgs,
    ShapeArgs,
    SoftwareArgs,
    VerificationSettingsArgs,
)
from ..cluster.handle import ClusterHandle, kubernetes_provider
from ..engine.cluster_api import PatientClusterApi
from ..engine.live_cluster import refusal, shares_its_cluster
from ..engine.steps import register_steps
from .arguments import (
    as_written,
    given_as_in_files,
    is_known_later,
    output_findings,
    refuse,
    refuse_other_arguments,
)
from .public_component import PublicComponent, dependencies, fabric_outputs, secret_findings, secret_text

# Annotations are evaluated here, since Pulumi infers the package's schema from them.

_KUBECONFIG = ("cluster", "kubeconfig")
_CLUSTER_KEYS = ("context", "kubernetes", "pools", "ranges", "shapes", "installed", "cni_folders")
_SECTIONS = ("fabric", "fabrics", "software", "verification", "monitoring")
_NAMESPACES, _NETWORKS, _MULTUS = "cluster:Namespaces", "rdma:FabricNetworks", "operators:Multus"


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
    shapes: dict[str, ShapeArgs] | None = None
    """Machine types that are not in the catalog, by name (docs/shapes.md). Default: none."""
    installed: list[str] | None = None
    """Software that the cluster already has and that is not installed, by the names of the key `cluster.installed` of a
    stack file (docs/configuration.md). Default: none."""
    fabric: FabricArgs | Mapping[str, Any] | None = None
    """How NICs get into pods, and with which addresses: the section `fabric` of a stack file (docs/configuration.md);
    in Python also a mapping with its keys. Default: the defaults of its fields."""
    fabrics: dict[str, FurtherFabricArgs] | None = None
    """Further fabrics by name, of some of the pools: the section `fabrics` of a stack file (docs/groups.md). Default:
    none."""
    software: SoftwareArgs | Mapping[str, Any] | None = None
    """Release line, charts and operators: the section `software` of a stack file (docs/configuration.md); in Python
    also a mapping with its keys. Default: the defaults of its fields."""
    verification: VerificationSettingsArgs | None = None
    """A measurement of the fabric (docs/verification.md). Default: no measurement."""
    monitoring: MonitoringArgs | None = None
    """Alarms and a dashboard for the Prometheus and the Grafana of the cluster (docs/alarms.md). Default: none."""
    secrets: dict[str, pulumi.Input[str]] | None = None
    """Secrets that `software` names, such as in spiderpool.tls.secret, by that name: each the text of a JSON object.
    Default: none."""
    cni_folders: CniFoldersArgs | None = None
    """CNI's folders on the nodes, for all that is installed there (docs/managed-kubernetes.md). Default: the usual
    ones."""


class FabricComponent(PublicComponent):
    """A component that plans the fabric of its arguments, and registers all of the plan or a part of it.

    Subclasses name their part by the `_kinds` of its steps and by those that come `_beside` them if the plan has them,
    what `_asks` for it in the arguments, and by annotations the outputs that they have.
    """

    _kinds: ClassVar[Collection[str]] = ()
    _beside: ClassVar[Collection[str]] = ()
    _asks: ClassVar[str] = ""

    def __init__(self, name: str, args: GpuFabricArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Plan the fabric and register it.

        Raises:
            pulumi.RunError: the arguments cannot be used; with every problem, before anything of it is registered.
        """
        # A user's class may extend one of ours.
        public = next(entry for entry in type(self).__mro__ if FabricComponent in entry.__bases__)
        place = f"{public.__name__} {name}"
        refuse_other_arguments(place, args, GpuFabricArgs)
        as_in_files = given_as_in_files(_sections(args))
        spec, plan = _planned(place, name, args)
        if self._kinds and not any(step.kind in self._kinds for step in plan.steps):
            problem = f"the plan of these arguments has nothing for a component {public.__name__}"
            remedy = f"leave the component out, or {self._asks}"
            refuse(place, [finding("SPC002", "", problem, remedy)], as_in_files=as_in_files)
        part = _part(plan, (*self._kinds, *self._beside)) if self._kinds else plan
        look = partial(_refuse_on_cluster, place, args.context, spec, plan, part)
        if isinstance(args.kubeconfig, str):
            look(args.kubeconfig)
        super().__init__(f"gpu-fabric:index:{public.__name__}", name, None, opts)
        self._report(place, plan, as_in_files)
        cluster = self._cluster(place, name, args, opts, look)
        registered = register_steps(part, cluster, self, secret_text(args.secrets or {}))
        self._give_outputs(public, fabric_outputs(plan, registered))

    def _cluster(
        self,
        place: str,
        name: str,
        args: GpuFabricArgs,
        opts: pulumi.ResourceOptions | None,
        look: Callable[[str], None],
    ) -> ClusterHandle:
        """The cluster, with the provider from the options, or one of the component's own; `look` may refuse it."""
        context = args.context

        def usable(text: str) -> str:
            if (reason := _unusable(text, context)) is not None:
                refuse(place, [reason])
            if is_known_later(args.kubeconfig):
                look(text)
            return text

        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(args.kubeconfig).apply(usable)
        # A digest of address and authority reveals nothing; as a secret it would hide what depends on it.
        identity = pulumi.Output.unsecret(kubeconfig.apply(lambda text: cluster_identity(text, context)))
        cluster_id = identity if args.cluster_id is None else pulumi.Output.from_input(args.cluster_id)
        after = dependencies(opts)
        given = self.get_provider("kubernetes:index:Provider")
        provider = given or kubernetes_provider(
            f"{name}-kubernetes", kubeconfig, context, cluster_id, self, after=after
        )
        # A provider of the program's waits for nothing of it.
        first = () if given is None else tuple(after)
        return ClusterHandle(provider, cluster_id, kubeconfig, context, nodes=tuple(after), first=first)


def _refuse_on_cluster(
    place: str, context: str | None, spec: StackSpec, plan: Plan, part: Plan, kubeconfig: str
) -> None:
    """End the run where the cluster that a plan shares lacks something, or has objects of others with its names.

    Raises:
        pulumi.RunError: with everything that is in the way.
    """
    if not shares_its_cluster(plan):
        return
    from gpu_fabric.live.stack import Stack

    expected = (step for step in plan.steps if step.name == SHARED and step not in part.steps)
    judged = part.model_copy(update={"steps": (*part.steps, *expected)})
    if text := refusal(place, PatientClusterApi(kubeconfig, context), Stack(spec, judged), compares=False):
        raise pulumi.RunError(text)


def _planned(component: str, name: str, args: GpuFabricArgs) -> tuple[StackSpec, Plan]:
    """The spec and plan of a component's arguments; `component` is its type and name, for messages.

    Raises:
        pulumi.RunError: with every problem.
    """
    given = {to_camel(key): getattr(args, key) for key in _CLUSTER_KEYS}
    if not is_known_later(args.cluster_id):
        given["id"] = args.cluster_id
    sections = {"cluster": given, **_sections(args)}
    written = {section: as_written(value) for section, value in sections.items() if value is not None}
    written["cluster"] = {
        "provider": "existing",
        # The kubeconfig is not part of the plan.
        "kubeconfigSecret": "kubeconfig",
        **{key: value for key, value in written["cluster"].items() if given[key] is not None},
    }
    document = StackDocument(name=name, file=component, root=Path(), sections=written, null_is_absent=True)
    of_kubeconfig = tuple(_kubeconfig_findings(args))
    problems = (
        *output_findings(sections),
        *(entry for entry in of_kubeconfig if entry.severity is Severity.ERROR),
        *secret_findings(document, args.secrets or {}),
    )
    try:
        found = prepare(document.model_copy(update={"unclear": problems}), for_up=True)
    except ConfigurationError as error:
        refuse(component, error.findings, as_in_files=given_as_in_files(_sections(args)))
    plan = found.plan
    return found.spec, plan.model_copy(update={"findings": (*of_kubeconfig, *plan.findings)})


def _part(plan: Plan, kinds: Collection[str]) -> Plan:
    """The steps of some kinds; what came after other steps comes after what the component depends on.

    A namespace belongs to the part whose chart is installed in it, or to that of the networks, which are offered in it;
    a Secret belongs where its namespace does.
    """
    offered = (name for one in plan.by_fabric.values() for name in one.workload.namespaces)
    homes: dict[str, str] = {SYSTEM_NAMESPACE: _MULTUS, **dict.fromkeys(offered, _NETWORKS)}
    homes |= {item.namespace: step.kind for step in plan.steps for item in step.items if isinstance(item, HelmRelease)}

    def own(step: Step) -> Step:
        items = step.items
        if step.kind == _NAMESPACES:
            items = tuple(item for item in items if homes.get(_namespace(item)) in kinds)
        return step.model_copy(update={"items": items})

    kept = [found for step in plan.steps if step.kind in (*kinds, _NAMESPACES) if (found := own(step)).items]
    names = {step.name for step in kept}

    def after(step: Step) -> Step:
        return step.model_copy(update={"after": tuple({name if name in names else NODES: None for name in step.after})})

    return plan.model_copy(update={"steps": tuple(map(after, kept))})


def _namespace(item: Item) -> str:
    """The namespace that an item of the namespaces' step is, or is in."""
    assert isinstance(item, PlannedObject | PlannedPullSecret), "nothing else is in that step"
    return item.namespace if isinstance(item, PlannedPullSecret) else item.name


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


def _sections(args: GpuFabricArgs) -> dict[str, Any]:
    """The arguments that are sections of a stack file."""
    return {section: getattr(args, section) for section in _SECTIONS}
