"""A plan as files for kustomize, Argo CD and Flux: the same objects and releases, in the order of the plan's graph."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import Changes
from committed_stacks import folder_of, stack_names
from each_case import each
from hypothesis import given, settings
from hypothesis import strategies as st
from stack_plans import stack_plan
from structural_schema import refusals

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.plan import Plan
from gpu_fabric.plan.records import Item, PlannedAdoption, PlannedObject, PlannedReadiness
from gpu_fabric.plan.steps import Step
from gpu_fabric.render.folder import RenderedPlanError, read_rendered, write_files
from gpu_fabric.render.gitops.conditions import condition_of
from gpu_fabric.render.gitops.files import TOOLS, GitOpsError, gitops_files
from gpu_fabric.render.gitops.notes import wanted_secrets
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.gitops.units import Tool, can_be_waited_for, units
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import ADOPTED_SECTIONS, DYNAMIC, KEPT_OBJECTS

REPOSITORY = "https://git.example.com/team/clusters.git"
ENGINE = ("pulumi.com/", "gpu-fabric/awaited")
OF_TOOLS = ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/")
Object = dict[str, Any]


class Written:
    """A plan as files for a tool, with what is in them."""

    def __init__(self, plan: Plan, tool: Tool) -> None:
        self.plan, self.tool = plan, tool
        self.files = gitops_files(plan, tool, Place(stack=plan.stack, repository=REPOSITORY, path="clusters/gpu"))
        self.name = f"{plan.stack} for {tool}"

    @cached_property
    def parsed(self) -> tuple[tuple[str, Object], ...]:
        """Every object of every file, with its path."""
        return tuple(
            (path, document)
            for path, text in self.files.items()
            if path.endswith(".yaml") and not path.endswith("/values.yaml")
            for document in yaml.load_all(text, yaml.CSafeLoader)
        )

    def documents(self, *folders: str) -> Iterator[tuple[str, Object]]:
        """Every object of the files in some folders, with its file."""
        return ((path, document) for path, document in self.parsed if path.startswith(folders))

    def of_tools(self) -> Iterator[Object]:
        """What only a tool reads."""
        for path, document in self.documents("apps/", "flux/", "steps/", "root.yaml"):
            if path.endswith(("/namespace.yaml", "/waits.yaml")) or _is_of_a_tool(document):
                yield document

    def objects(self) -> Iterator[Object]:
        """What is applied beside the charts, without the annotations of the tool."""
        for path, document in self.documents("steps/"):
            if not path.endswith(("/namespace.yaml", "/waits.yaml")) and not _is_of_a_tool(document):
                yield _without(document, OF_TOOLS)

    def releases(self) -> Iterator[tuple[str, str, str, str, Object]]:
        """Name, namespace, chart with its repository, version and values of each release."""
        for path, document in self.documents("apps/", "steps/"):
            if document["kind"] == "Application" and "chart" in (source := document["spec"]["source"]):
                helm = source["helm"]
                place = document["spec"]["destination"]["namespace"]
                chart = f"{source['repoURL']}/{source['chart']}"
                yield helm["releaseName"], place, chart, source["targetRevision"], helm["valuesObject"]
            elif document["kind"] == "HelmRelease":
                yield self._of_flux(path, document["spec"])
            for chart in document.get("helmCharts", ()):
                values = yaml.safe_load(self.files[path.replace("kustomization.yaml", chart["valuesFile"])])
                place = f"{chart['repo']}/{chart['name']}"
                yield chart["releaseName"], chart["namespace"], place, chart["version"], values

    def _of_flux(self, path: str, spec: Object) -> tuple[str, str, str, str, Object]:
        source = yaml.safe_load(self.files[path.replace("release.yaml", "source.yaml")])["spec"]
        if "chart" in spec:
            chart, version = f"{source['url']}/{spec['chart']['spec']['chart']}", spec["chart"]["spec"]["version"]
        else:
            chart, version = source["url"], source["ref"]["tag"]
        return spec["releaseName"], spec["targetNamespace"], chart, version, spec["values"]


def _is_of_a_tool(document: Object) -> bool:
    groups = ("argoproj.io/", "kustomize.", "helm.toolkit.", "source.toolkit.")
    return str(document["apiVersion"]).startswith(groups)


def _without(manifest: Object, prefixes: tuple[str, ...]) -> Object:
    annotations = manifest["metadata"].get("annotations", {})
    kept = {key: value for key, value in annotations.items() if not key.startswith(prefixes)}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def _sorted(values: Any) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)


@pytest.fixture(scope="module")
def on_clusters(stack_plans: tuple[Plan, ...], root: Path) -> tuple[Plan, ...]:
    """The plan of every stack for tests, and of every example, that applies something on a cluster."""
    names = {path.name.split(".")[1] for path in (root / "examples").glob("Pulumi.*.yaml")} - set(stack_names())
    examples = (stack_plan(name, root / "examples") for name in sorted(names))
    found = tuple(plan for plan in (*stack_plans, *examples) if plan.steps)
    assert len(found) > 30
    return found


@pytest.fixture(scope="module")
def written(on_clusters: tuple[Plan, ...]) -> tuple[Written, ...]:
    """Each of them for each tool."""
    return tuple(Written(plan, tool) for plan in on_clusters for tool in TOOLS)


@pytest.fixture(scope="module")
def definitions() -> dict[tuple[str, str], Object]:
    """The tools' kinds."""
    text = (Path(__file__).parent / "gitops_definitions.yaml").read_text()
    return {(row["apiVersion"], row["kind"]): row["schema"] for row in yaml.safe_load(text)}


def _planned_objects(plan: RenderedPlan) -> Iterator[Object]:
    """The objects of a rendered plan without what is Pulumi's: no dynamic resource, no wait, no restart."""
    for resource in plan.resources:
        if resource.type == KEPT_OBJECTS:
            yield from (entry for named in resource.properties["objects"].values() for entry in named.values())
        elif resource.type.startswith("kubernetes:") and not resource.type.endswith((RELEASE, "Patch")):
            yield _without(resource.properties, ENGINE)
        else:
            assert resource.type.startswith((DYNAMIC, "kubernetes:")) or not resource.file.startswith("kubernetes/")


def test_every_object_is_written_once_as_it_is_in_the_rendered_plan(written: tuple[Written, ...]) -> None:
    planned = {found.plan.stack: _sorted(_planned_objects(rendered(found.plan))) for found in written[:: len(TOOLS)]}
    for found in written:
        assert _sorted(found.objects()) == planned[found.plan.stack], found.name


def test_every_release_is_written_once_with_its_chart_version_namespace_and_values(
    written: tuple[Written, ...],
) -> None:
    for found in written:
        scheme = "" if found.tool == "argo" else "oci://"
        planned = [
            (
                release.name,
                release.namespace,
                f"{str(release.chart.repository).replace('oci://', scheme)}/{release.chart.name}",
                release.chart.version,
                release.values,
            )
            for release in found.plan.releases
        ]
        assert _sorted(found.releases()) == _sorted(planned), found.name


def test_what_a_tool_reads_has_only_fields_of_the_tools_own_definitions(
    written: tuple[Written, ...], definitions: Mapping[tuple[str, str], Object]
) -> None:
    seen = set()
    for found in written:
        for document in found.of_tools():
            if document["kind"] != "ConfigMap":
                kind = document["apiVersion"], document["kind"]
                seen.add(kind)
                assert refusals(document, definitions[kind]) == [], f"{found.name}: {document}"
    assert seen == set(definitions)


def test_nothing_of_pulumi_and_no_value_of_a_secret_is_written(written: tuple[Written, ...]) -> None:
    for found in written:
        text = "".join(found.files.values())
        assert not any(word in text for word in (*ENGINE, "<secret", "<output", "<lookup")), found.name
        assert all(document["kind"] != "Secret" for _, document in found.documents("")), found.name


def _waves(found: Written) -> dict[str, int]:
    """The wave of each unit, as Argo CD gets it."""
    return {
        path.removeprefix("apps/").removesuffix(".yaml"): int(
            document["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"]
        )
        for path, document in found.documents("apps/")
    }


def _dependencies(found: Written) -> dict[str, set[str]]:
    """What each unit depends on, as Flux gets it."""
    prefix = f"{found.plan.stack}-"
    return {
        path.removeprefix("flux/").removesuffix(".yaml"): {
            entry["name"].removeprefix(prefix) for entry in document["spec"].get("dependsOn", ())
        }
        for path, document in found.documents("flux/")
        if not path.endswith("kustomization.yaml")
    }


def _reached(graph: Mapping[str, set[str]], name: str) -> set[str]:
    found, waiting = set[str](), set(graph.get(name, ()))
    while waiting:
        found |= waiting
        waiting = {earlier for each in waiting for earlier in graph.get(each, ())} - found
    return found


def _before(plan: Plan) -> dict[str, set[str]]:
    """All steps that come before each step, over any number of edges."""
    graph = {step.name: {name for name in step.after if plan.step(name)} for step in plan.steps}
    return {name: _reached(graph, name) for name in graph}


def test_the_waves_of_argo_cd_respect_every_edge_of_the_graph_of_steps(written: tuple[Written, ...]) -> None:
    for found in (entry for entry in written if entry.tool == "argo"):
        waves = _waves(found)
        late = [
            (step, earlier)
            for step, before in _before(found.plan).items()
            for earlier in before
            if step in waves and earlier in waves and waves[step] <= waves[earlier]
        ]
        assert late == [], found.name
        assert set(waves.values()) == set(range(1 + max(waves.values()))), found.name


def test_what_flux_depends_on_is_every_earlier_step_of_the_graph_and_no_other(written: tuple[Written, ...]) -> None:
    for found in (entry for entry in written if entry.tool == "flux"):
        dependencies = _dependencies(found)
        for step, before in _before(found.plan).items():
            if step in dependencies:
                assert _reached(dependencies, step) == before & dependencies.keys(), f"{found.name}: {step}"


def _item(name: str, number: int) -> Item:
    """An object, or a wait that a tool cannot state by an object of its own."""
    if number % 3:
        return PlannedObject(object=ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={}))
    return PlannedReadiness(
        api_version="example.com/v1", kind="Thing", name=name, wait_for="condition=Ready", timeout=9
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Step, ...]:
    """Steps, each after some of those before it."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 12))):
        name = f"step-{number}"
        after = draw(st.sets(st.sampled_from([step.name for step in steps]))) if steps else set()
        items = (_item(name, draw(st.integers(0, 5))),)
        steps.append(Step(name=name, component=name, kind="a:B", items=items, after=tuple(sorted(after))))
    return tuple(steps)


@settings(max_examples=60)
@given(graphs(), st.booleans())
def test_any_graph_keeps_its_order_when_the_steps_that_a_tool_cannot_state_are_left_out(
    dev_plan: Plan, steps: tuple[Step, ...], waits_are_kept: bool
) -> None:
    plan = dev_plan.model_copy(update={"steps": steps})
    found = units(plan, can_be_waited_for if waits_are_kept else lambda unit: unit.is_applied)
    graph, waves = {unit.name: set(unit.after) for unit in found}, {unit.name: unit.wave for unit in found}
    for unit in found:
        earlier = _before(plan)[unit.step] & graph.keys()
        assert _reached(graph, unit.name) == earlier
        assert unit.wave == max((waves[name] + 1 for name in earlier), default=0)


def test_flux_waits_for_all_that_a_step_applies_with_the_planned_conditions_and_time(root: Path) -> None:
    found = Written(stack_plan("oke-h200", root), "flux")
    specs = {path: document["spec"] for path, document in found.documents("flux/") if "spec" in document}
    policy = specs["flux/nic-policies.yaml"]
    assert (policy["wait"], policy["timeout"]) == (True, "1260s")
    assert policy["healthCheckExprs"] == [
        {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "NicClusterPolicy",
            "current": "(has(status.state) && status.state == 'ready')",
        }
    ]
    ready = specs["flux/gpu-operator-ready.yaml"]
    assert ready["healthChecks"] == [{"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "cluster-policy"}]
    assert "c.reason == 'Reconciled'" in ready["healthCheckExprs"][0]["current"]
    assert {"name": "oke-h200-gpu-operator-ready"} in policy["dependsOn"]


def test_a_dry_run_on_the_nodes_is_not_waited_for(plan_with: Callable[[Changes], Plan]) -> None:
    plan = plan_with({"software.charts": "upstream", "fabric.hostPreparation": {"dryRun": True, "disableAcs": True}})
    (unit,) = (unit for unit in units(plan) if unit.step == "host-preparation")
    assert not unit.awaited
    found = dict(Written(plan, "flux").documents("flux/host-preparation"))
    assert found["flux/host-preparation.yaml"]["spec"]["wait"] is False


def test_argo_cd_gets_the_health_of_applications_and_of_each_kind_that_is_waited_for(root: Path) -> None:
    found = Written(stack_plan("oke-h200", root), "argo")
    data = yaml.safe_load(found.files["argocd-cm.yaml"])["data"]
    kinds = {name.removeprefix("resource.customizations.health.") for name in data}
    assert kinds == {
        "argoproj.io_Application",
        "kueue.x-k8s.io_ClusterQueue",
        "mellanox.com_NicClusterPolicy",
        "nvidia.com_ClusterPolicy",
    }
    assert (
        'condition("Active", "status") == "True"' in data["resource.customizations.health.kueue.x-k8s.io_ClusterQueue"]
    )


def test_argo_cd_is_told_what_has_failed_and_does_not_wait_in_silence(root: Path) -> None:
    """What these scripts answer was tried by a Lua interpreter; here is what they look at."""
    data = yaml.safe_load(Written(stack_plan("oke-h200", root), "argo").files["argocd-cm.yaml"])["data"]
    health = {name.rpartition(".health.")[2]: text for name, text in data.items()}
    assert {name for name, text in health.items() if "Degraded" in text} == {
        "argoproj.io_Application",
        "mellanox.com_NicClusterPolicy",
        "nvidia.com_ClusterPolicy",
    }
    assert '{"error", "ignore"}' in health["mellanox.com_NicClusterPolicy"]
    assert '{"ignored"}' in health["nvidia.com_ClusterPolicy"]
    assert "operation.retryCount" in health["argoproj.io_Application"]


def test_objects_that_come_one_after_another_do_so_in_waves_of_their_application_and_in_kustomizes_order(
    root: Path,
) -> None:
    plan = stack_plan("oke-h200", root)
    queues = [entry.name for entry in plan.applied("kueue-queues")]
    waves = {
        document["metadata"]["name"]: int(document["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
        for _, document in Written(plan, "argo").documents("steps/kueue-queues")
    }
    # The queue and the way into it from a namespace have one name.
    assert sorted(waves, key=waves.__getitem__) == list(dict.fromkeys(queues[::-1]))[::-1]
    kustomization = yaml.safe_load(Written(plan, "kustomize").files["steps/kueue-queues/kustomization.yaml"])
    assert [name.partition("-")[0] for name in kustomization["resources"]] == [
        entry.object.kind.lower() for entry in plan.applied("kueue-queues")
    ]
    assert kustomization["sortOptions"] == {"order": "fifo"}


@pytest.fixture(scope="module")
def with_spiderpool(plan_with: Callable[[Changes], Plan]) -> Callable[[Changes], Plan]:
    """The development stack with Spiderpool, whose charts are the vendors'."""
    ours = {"software.charts": "upstream", "fabric.manager": "spiderpool"}
    return lambda changes: plan_with(ours | dict(changes))


def test_fields_of_an_object_that_an_operator_creates_are_merged_into_it_and_never_deleted(
    with_spiderpool: Callable[[Changes], Plan],
) -> None:
    plan = with_spiderpool({"software.spiderpool.coordinator.tunePodRoutes": True})
    annotations = {}
    for tool in TOOLS:
        (patch,) = (each for _, each in Written(plan, tool).documents("steps/") if each["kind"] == "SpiderCoordinator")
        assert patch["spec"] == {"tunePodRoutes": True}
        annotations[tool] = patch["metadata"].get("annotations", {})
    assert annotations == {
        "kustomize": {},
        "argo": {"argocd.argoproj.io/sync-options": "Delete=false,Prune=false,ServerSideApply=true,Validate=false"},
        "flux": {"kustomize.toolkit.fluxcd.io/prune": "disabled", "kustomize.toolkit.fluxcd.io/ssa": "Merge"},
    }


def test_what_its_webhook_forbids_to_delete_in_the_foreground_is_deleted_in_the_background(
    with_spiderpool: Callable[[Changes], Plan],
) -> None:
    plan = with_spiderpool({"fabric.addressing.exclude": ["192.168.0.250"]})
    (unit,) = (unit for unit in units(plan) if unit.step == "reserved-ips")
    (application,) = (each for _, each in Written(plan, "argo").documents("apps/reserved-ips"))
    assert unit.in_background
    assert application["metadata"]["finalizers"] == ["resources-finalizer.argocd.argoproj.io/background"]
    assert "PrunePropagationPolicy=background" in application["spec"]["syncPolicy"]["syncOptions"]


def test_a_value_from_a_secret_is_a_reference_for_flux_and_refused_for_the_others(
    with_spiderpool: Callable[[Changes], Plan],
) -> None:
    plan = with_spiderpool({"software.spiderpool.tls": {"method": "provided", "secret": "webhook"}})
    found = Written(plan, "flux")
    (release,) = (each for _, each in found.documents("steps/spiderpool/") if each["kind"] == "HelmRelease")
    assert {key: value for key, value in release["spec"]["valuesFrom"][0].items() if key in ("kind", "name")} == {
        "kind": "Secret",
        "name": "webhook",
    }
    assert "| flux-system | webhook | entry `" in found.files["NOTES.md"]
    for tool in ("argo", "kustomize"):
        with pytest.raises(GitOpsError, match=r"chart spiderpool takes values from the secret webhook.*use --as flux"):
            Written(plan, tool)


def test_what_is_adopted_is_a_file_that_no_tool_applies_and_the_page_has_the_command_for_it(
    written: tuple[Written, ...],
) -> None:
    adopting = [found for found in written if found.plan.records(PlannedAdoption)]
    assert {found.tool for found in adopting} == set(TOOLS)
    for found in adopting:
        for resource in rendered(found.plan).resources:
            if resource.type == ADOPTED_SECTIONS:
                manifest, manager = resource.properties["manifest"], resource.properties["manager"]
                path = f"adopt/{manifest['kind'].lower()}-{manifest['metadata']['name']}.json"
                assert json.loads(found.files[path]) == manifest
                # With the manager `kubectl` the sections that an administrator has applied would be taken out.
                apply = f"kubectl apply --server-side --field-manager={manager} -f"
                assert f"&& {apply} {path}\n" in found.files["NOTES.md"], found.name
                assert f"| {apply} -`" in found.files["NOTES.md"], found.name
        files = [path for path, text in found.files.items() if '"sriovDevicePlugin"' in text]
        assert [path for path in files if path.endswith((".yaml", ".yml"))] == [], found.name


def test_a_chart_that_kustomize_cannot_read_is_refused_for_kustomize_alone(
    plan_with: Callable[[Changes], Plan],
) -> None:
    sriov = {"software.charts": "upstream", "fabric.model": "sriov", "fabric.virtualFunctions": "sriov-operator"}
    for line, said in (("26.1", "26.1.2 with sriovNetworkOperator.enabled"), ("26.4", ""), ("26.7", "")):
        plan = plan_with({**sriov, "software.releaseLine": line})
        refused = [tool for tool in TOOLS if (error := _refusal(plan, tool)) and said in error]
        assert refused == (["kustomize"] if said else []), line


def _refusal(plan: Plan, tool: Tool) -> str:
    try:
        Written(plan, tool)
    except GitOpsError as error:
        return str(error)
    return ""


def test_a_secret_that_a_chart_names_is_listed_with_its_namespace(plan_with: Callable[[Changes], Plan]) -> None:
    values = {"operator": {"imagePullSecrets": ["mirror-login"]}}
    plan = plan_with({"software.charts": "upstream", "software.gpuOperator.values": values})
    notes = Written(plan, "argo").files["NOTES.md"]
    assert "| gpu-operator | mirror-login | type `kubernetes.io/dockerconfigjson`: a Docker configuration " in notes


def test_a_secret_that_a_policy_without_a_namespace_names_is_listed_once_and_in_its_operators_namespace(
    plan_with: Callable[[Changes], Plan],
) -> None:
    given = {"software.charts": "upstream", "software.imagePullSecrets": [{"name": "pull"}]}
    rows = list(wanted_secrets(plan_with(given)))
    assert {row.name for row in rows} == {"pull"}
    assert len({row.namespace for row in rows}) == len(rows)
    assert "nvidia-network-operator" in {row.namespace for row in rows}
    assert [row for row in rows if " " in row.namespace] == []


@each(
    ("stack", "said"),
    [
        ("externally-managed", "`kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration sriov-op"),
        (
            "externally-managed",
            "waits until `status.syncStatus` of the sriovnetworknodestates of every node is Succeeded",
        ),
        ("oke-h200", "waits until every GPU node offers `nvidia.com/gpu`"),
        ("oke-h200", "empties queue fabric before it is deleted"),
        ("oke-h200", "The stack creates its cluster in a cloud: 67 resources"),
        ("guide-23-10", "`kubectl rollout restart -n network-operator daemonset/"),
        ("spiderpool-sriov-per-node", "replaces the objects of `rail-00` to `rail-07`, each as one"),
    ],
)
def test_what_no_manifest_states_is_listed_with_what_to_do_instead(stack: str, said: str) -> None:
    plan = stack_plan(stack, folder_of(stack))
    for tool in TOOLS:
        assert said in Written(plan, tool).files["NOTES.md"]


def test_kustomizes_page_has_a_command_for_every_unit_and_every_condition_in_order(root: Path) -> None:
    notes = Written(stack_plan("oke-h200", root), "kustomize").files["NOTES.md"]
    places = [
        notes.index("kustomize build steps/namespaces | kubectl apply --server-side --force-conflicts -f -"),
        notes.index('kustomize build --enable-helm --helm-kube-version "$KUBE_VERSION" steps/gpu-operator |'),
        notes.index("kubectl wait clusterpolicy.v1.nvidia.com/cluster-policy --for=jsonpath='{.status.state}'=ready"),
        notes.index("kustomize build steps/nic-policies |"),
        notes.index("kustomize build steps/networks |"),
        notes.index("kubectl wait clusterqueue.v1beta2.kueue.x-k8s.io/fabric --for=condition=Active --timeout=300s"),
    ]
    assert all(one < other for one, other in pairwise(places))


def test_charts_of_this_repository_are_refused_with_the_key_to_change(dev_plan: Plan) -> None:
    with pytest.raises(
        GitOpsError, match=r"charts gpu-operator, network-operator come from a folder.*software\.charts"
    ):
        Written(dev_plan, "flux")


def test_a_stack_that_only_creates_a_cluster_is_refused(root: Path) -> None:
    with pytest.raises(GitOpsError, match="applies nothing on a cluster: name the stack that does"):
        Written(stack_plan("doks-split-cluster", root / "examples"), "argo")


def test_the_same_plan_is_the_same_bytes_and_a_node_more_changes_few_files(
    plan_with: Callable[[Changes], Plan],
) -> None:
    upstream = {"software.charts": "upstream"}
    for tool in TOOLS:
        few = Written(plan_with(upstream), tool).files
        assert Written(plan_with(upstream), tool).files == few
        many = Written(plan_with(upstream | {"cluster.pools[0].nodes": 4}), tool).files
        assert {path for path in few if few[path] != many[path]} <= {"NOTES.md"}


def test_the_folder_is_replaced_as_a_whole_and_is_no_rendered_plan(root: Path, tmp_path: Path) -> None:
    plan = stack_plan("oke-h200", root)
    for tool in ("argo", "flux"):
        files = Written(plan, tool).files
        write_files(tmp_path / "out", files)
        there = {
            path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
        }
        assert there == set(files)
    with pytest.raises(RenderedPlanError, match="written with --as flux; write it without --as"):
        read_rendered(tmp_path / "out")


def test_a_condition_in_another_form_is_an_error() -> None:
    with pytest.raises(ValueError, match="no tool is known to wait"):
        condition_of("jsonpath={.status.list[0]}=a")
