"""Checks of the group `doks`: the cluster, its versions and its limits."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.catalog.version import lies_below
from gpu_fabric.plan.case import Case
from gpu_fabric.rules.chart_values import charts_in_use, gpu_operator_parts, value_at
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec import DoksClusterSpec
from gpu_fabric.spec.places import Location, dotted


def doks_cluster(case: Case) -> DoksClusterSpec | None:
    """The cluster where DigitalOcean makes it; None elsewhere."""
    return case.spec.cluster if isinstance(case.spec.cluster, DoksClusterSpec) else None


@check("DOK002")
def region_has_the_size(case: Case) -> Iterator[Problem]:
    """The size was seen in the region."""
    cluster = doks_cluster(case)
    regions = case.shape.doks.regions if case.shape.doks else ()
    if cluster and regions and cluster.region not in regions:
        yield Problem(
            dotted(("cluster", "region")),
            f"{case.shape.name} is known in {', '.join(regions)} only",
            f"write {' or '.join(regions)}, unless your contract says {cluster.region}",
        )


@check("DOK014")
def version_is_pinned(case: Case) -> Iterator[Problem]:
    """The version is an exact one, or a minor version."""
    cluster = doks_cluster(case)
    if cluster and cluster.version == "latest":
        yield Problem(
            dotted(("cluster", "version")),
            "latest is another version at every run",
            "write an exact version such as 1.36.1-do.0, or a minor one such as 1.36",
        )


@check("DOK015")
def support_has_no_known_end(case: Case) -> Iterator[Problem]:
    """No end of the version's support is published."""
    cluster = doks_cluster(case)
    if cluster is None:
        return
    minor = ".".join(cluster.version.split("-")[0].split(".")[:2])
    facts = case.known.doks_clusters.versions.get(minor)
    if facts is not None:
        forced = facts.forced_upgrades_from
        yield Problem(
            dotted(("cluster", "version")),
            f"DigitalOcean's support of {minor} ends on {facts.support_ends}"
            + (f", and upgrades are forced from {forced}" if forced else ""),
            "write a newer version",
        )


@check("DOK016")
def version_drives_the_fabric(case: Case) -> Iterator[Problem]:
    """The version's node image brings the drivers of the fabric's NICs."""
    cluster, facts = doks_cluster(case), case.known.doks_clusters
    if cluster is None or not case.shape.nics:
        return
    lowest = facts.fabric_from_by_gpu.get(case.shape.gpus.model or "", facts.fabric_from)
    if lies_below(cluster.version, lowest):
        yield Problem(
            dotted(("cluster", "version")),
            f"{cluster.version} does not drive the fabric of {case.shape.name}",
            f"write {lowest} or newer",
        )


@check("DOK017")
def upgrades_leave_the_version_alone(case: Case) -> Iterator[Problem]:
    """DigitalOcean does not raise a version that the stack file goes on setting."""
    cluster = doks_cluster(case)
    if cluster and cluster.auto_upgrade and cluster.version_applies == "always":
        yield Problem(
            dotted(("cluster", "autoUpgrade")),
            f"automatic upgrades raise the version above {cluster.version}, which the next run then lowers",
            "write autoUpgrade: false, or versionApplies: at-creation",
        )


@check("DOK018")
def control_plane_is_highly_available(case: Case) -> Iterator[Problem]:
    """The control plane survives the loss of a node, in clusters that are protected or would have it by default."""
    cluster, since = doks_cluster(case), case.known.doks_clusters.high_availability_from
    if cluster is None:
        return
    by_default = not lies_below(cluster.version, since)
    wanted = cluster.high_availability
    if wanted is False and by_default:
        problem = f"switched off, although it is on by default from {since} on"
    elif wanted is False and cluster.protect:
        problem = "switched off, and the cluster is protected"
    elif wanted is None and cluster.protect and not by_default:
        problem = f"off by default below {since}, and the cluster is protected"
    else:
        return
    yield Problem(dotted(("cluster", "highAvailability")), problem, "write highAvailability: true")


@check("DOK019")
def gpus_are_advertised(case: Case) -> Iterator[Problem]:
    """Somebody advertises the GPUs as the resource that jobs ask for."""
    cluster, gpus = doks_cluster(case), case.shape.gpus
    if cluster is None or cluster.plugins.gpu == "managed":
        return
    at, remedy = dotted(("cluster", "plugins", "gpu")), "write gpu: managed"
    chart = charts_in_use(case).get("gpu-operator")
    if cluster.plugins.gpu == "dra":
        yield Problem(at, f"jobs ask for {gpus.resource}, which no node has with the DRA driver", remedy)
    elif chart is not None and value_at(chart.values, "devicePlugin", "enabled") is False:
        place = chart.place("devicePlugin", "enabled")
        yield Problem(place, "DigitalOcean's device plug-in is off as well", "leave it out, or write gpu: managed")
    elif chart is None and "gpu-operator" not in cluster.installed:
        lacking = (
            "software.gpuOperator.install is false"
            if gpus.vendor == "nvidia"
            else "the stack installs no GPU Operator for AMD's GPUs"
        )
        yield Problem(at, f"{lacking}, and none is listed as installed", remedy)


@check("DOK037")
def gpu_operator_leaves_the_rest_to_digitalocean(case: Case) -> Iterator[Problem]:
    """Of what the nodes have the GPU Operator brings the device plug-in only, and only where DigitalOcean's is off."""
    cluster, chart = doks_cluster(case), charts_in_use(case).get("gpu-operator")
    if cluster is None or chart is None:
        return
    for part, place in gpu_operator_parts(chart):
        if part == "devicePlugin" and cluster.plugins.gpu == "operator":
            continue
        other = ", or cluster.plugins.gpu: operator" if part == "devicePlugin" else ""
        yield Problem(place, f"DigitalOcean's nodes have the {part} already", f"write false{other}")


@check("DOK020")
def rdma_is_advertised(case: Case) -> Iterator[Problem]:
    """DigitalOcean's plug-in advertises the NICs that jobs ask for."""
    cluster = doks_cluster(case)
    if cluster and cluster.plugins.rdma == "off" and case.choices.manager == "doks":
        yield Problem(
            dotted(("cluster", "plugins", "rdma")),
            "jobs ask for rdma/fabricN, which no node has",
            "write rdma: managed",
        )


@check("DOK030")
def sign_on_leaves_the_stack_a_way_in(case: Case) -> Iterator[Problem]:
    """The stack's kubeconfig works although tokens do not."""
    cluster = doks_cluster(case)
    if cluster and cluster.single_sign_on and cluster.single_sign_on.required and cluster.kubeconfig.mode != "exec":
        yield Problem(
            dotted(("cluster", "kubeconfig", "mode")),
            f"singleSignOn.required stops the token of mode {cluster.kubeconfig.mode}",
            "write mode: exec, or singleSignOn.required: false",
        )


@check("DOK031")
def kubeconfig_does_not_expire(case: Case) -> Iterator[Problem]:
    """The stack still reaches its cluster next week."""
    cluster = doks_cluster(case)
    if cluster and cluster.kubeconfig.mode == "raw":
        yield Problem(
            dotted(("cluster", "kubeconfig", "mode")),
            "the provider's own kubeconfig expires, after seven days unless expireSeconds says otherwise",
            # With a token, whoever reads this stack's kubeconfig would have the account.
            "write mode: exec" if case.spec.split.part == "cluster" else "write mode: token or mode: exec",
        )


@check("DOK032")
def kubeconfig_outlives_the_run(case: Case) -> Iterator[Problem]:
    """The kubeconfig lives at least ten minutes."""
    cluster = doks_cluster(case)
    if cluster and cluster.kubeconfig.mode == "raw" and 0 < cluster.kubeconfig.expire_seconds < 600:
        yield Problem(
            dotted(("cluster", "kubeconfig", "expireSeconds")),
            f"{cluster.kubeconfig.expire_seconds} seconds may pass before the stack is up",
            "write 600 or more, or 0 for the provider's seven days",
        )


@check("DOK033")
def tags_are_free(case: Case) -> Iterator[Problem]:
    """No tag begins as those do by which DigitalOcean and its provider find their own resources."""
    cluster = doks_cluster(case)
    if cluster is None:
        return
    tags: list[tuple[Location, str]] = [(("cluster", "tags", place), tag) for place, tag in enumerate(cluster.tags)]
    for number, pool in enumerate(cluster.pools):
        tags += [(("cluster", "pools", number, "tags", place), tag) for place, tag in enumerate(pool.tags)]
    for where, tag in tags:
        if tag.startswith(("k8s", "terraform:")):
            yield Problem(
                dotted(where), f"{tag} is reserved", "write a tag that begins neither with k8s nor terraform:"
            )


@check("DOK035")
def cluster_is_protected(case: Case) -> Iterator[Problem]:
    """The engine refuses to delete or replace the cluster."""
    cluster = doks_cluster(case)
    if cluster and not cluster.protect:
        yield Problem(
            dotted(("cluster", "protect")),
            "a change that replaces the cluster would be carried out",
            "write protect: true for a cluster that people depend on",
        )
