"""Our kinds against the vendors' CRDs: nothing that our models can write may be refused or dropped there."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from played_objects import H100
from structural_schema import refusals
from upstream_definitions import MAY_LACK, definitions_in, is_at_hand

import gpu_fabric.k8s
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.k8s.base import KubernetesObject
from gpu_fabric.k8s.cni import NetworkAttachmentDefinition, network_kind_definition
from gpu_fabric.k8s.mpi_operator import mpi_job_definition
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import plan_spec
from gpu_fabric.spec.load import load_stack
from sandbox.crds import crd_files
from sandbox.definitions import PlayedKind, custom_resource_definition, played_kinds
from sandbox.hardware.inventory import inventory
from sandbox.hardware.sriov import observed_interfaces, synced

ROOT = Path(__file__).resolve().parents[2]
STACKS = sorted(
    path for folder in (ROOT, ROOT / "examples", ROOT / "tests" / "stacks") for path in folder.glob("Pulumi.*.yaml")
)
Manifest = dict[str, Any]
Kind = type[KubernetesObject] | PlayedKind
# The definitions of the Prometheus operator and of the Node Readiness Controller are not among those to compare with.
NOT_AT_HAND = {"PrometheusRule", "NodeReadinessRule"}
NOT_AT_HAND |= {kind for folder, kinds in MAY_LACK.items() if not is_at_hand(folder) for kind in kinds}


def every_emittable_kind() -> tuple[Kind, ...]:
    """Every model of `gpu_fabric.k8s` that is a custom resource, and two of the sandbox's, by group and kind."""
    for module in pkgutil.iter_modules(gpu_fabric.k8s.__path__, "gpu_fabric.k8s."):
        importlib.import_module(module.name)
    found: list[Kind] = [
        kind for kind in _subclasses(KubernetesObject) if kind.__module__.startswith("gpu_fabric.k8s.")
    ]
    found += [played_kinds()[name] for name in ("ClusterPolicy", "NodeFeatureRule")]
    compared = (kind for kind in found if is_custom(kind) and kind.kind not in NOT_AT_HAND)
    return tuple(sorted(compared, key=lambda kind: (kind.group(), kind.kind)))


def is_custom(kind: Kind) -> bool:
    """Whether it is no kind of Kubernetes itself, whose groups have no dot or end with .k8s.io."""
    return "." in kind.group() and not kind.group().endswith(".k8s.io")


def _subclasses(kind: type[KubernetesObject]) -> Iterator[type[KubernetesObject]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


KINDS = every_emittable_kind()

Schema = dict[str, Any]
Definitions = dict[str, tuple[dict[str, Any], ...]]


def our_schema(model: Kind) -> Schema:
    """The schema that our model says."""
    schema: Schema = custom_resource_definition(model)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def vendor_schemas(model: Kind, definitions: Definitions) -> list[Schema]:
    """Every vendor's openAPIV3Schema of a kind at our version."""
    version = model.api_version.rpartition("/")[2]
    return [
        served["schema"]["openAPIV3Schema"]
        for definition in definitions[f"{model.plural}.{model.group()}"]
        for served in definition["versions"]
        if served["name"] == version
    ]


def vendor_refusals(manifest: Manifest, definitions: Definitions) -> list[str]:
    """What the vendors' CRDs say against an object."""
    kinds = {(kind.api_version, kind.kind): kind for kind in KINDS}
    schemas = vendor_schemas(kinds[manifest["apiVersion"], manifest["kind"]], definitions)
    assert schemas, f"no vendor's definition of {manifest['kind']}"
    return [reason for schema in schemas for reason in refusals(manifest, schema)]


def differences(ours: Schema, theirs: Schema, path: str = "") -> Iterator[str]:
    """Where our schema allows what theirs refuses or prunes; both are structural."""
    if theirs.get("x-kubernetes-preserve-unknown-fields"):
        return
    if theirs.get("x-kubernetes-int-or-string"):
        if not ours.get("x-kubernetes-int-or-string") and ours["type"] not in ("integer", "string"):
            yield f"{path}: {ours['type']} where they take an integer or a string"
        return
    if ours.get("x-kubernetes-int-or-string"):
        yield f"{path}: an integer or a string where they have {theirs.get('type')}"
        return
    if ours["type"] != theirs.get("type"):
        yield f"{path}: {ours['type']} where they have {theirs.get('type')}"
        return
    allowed = ours.get("enum", [False, True] if ours["type"] == "boolean" else ["any"])
    if "enum" in theirs and not set(allowed) <= set(theirs["enum"]):
        yield f"{path}: values {allowed} where they allow {theirs['enum']}"
    yield from _bounds(ours, theirs, path)
    missing = set(theirs.get("required", ())) - set(ours.get("required", ()))
    if path and missing:
        yield f"{path}: they require {sorted(missing)}"
    for name, schema in ours.get("properties", {}).items():
        where = f"{path}.{name}" if path else name
        if name in theirs.get("properties", {}):
            yield from differences(schema, theirs["properties"][name], where)
        elif where != "metadata":
            yield f"{where}: unknown to them"
    for inner, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if inner in ours and isinstance(theirs.get(inner), dict):
            yield from differences(ours[inner], theirs[inner], path + mark)
        elif inner in ours:
            yield f"{path}{mark}: unknown to them"


def _bounds(ours: Schema, theirs: Schema, path: str) -> Iterator[str]:
    for bound, tighter in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if bound in theirs and (bound not in ours or tighter(ours[bound], theirs[bound]) != ours[bound]):
            yield f"{path}: {bound} {ours.get(bound)} where they have {theirs[bound]}"


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.kind)
def test_everything_that_a_model_can_write_is_accepted_upstream(model: Kind, definitions: Definitions) -> None:
    schemas = vendor_schemas(model, definitions)
    assert schemas
    assert [list(differences(our_schema(model), theirs)) for theirs in schemas] == [[]] * len(schemas)


def planned(path: Path) -> Plan:
    return plan_spec(load_stack(path.name.split(".")[1], path.parent))


def custom_objects(plan: Plan) -> list[KubernetesObject]:
    objects = (item.object for item in plan.objects)
    return [entry for entry in objects if is_custom(type(entry)) and entry.kind not in NOT_AT_HAND]


@pytest.mark.parametrize("folder", MAY_LACK)
def test_later_definitions_are_compared_where_they_were_fetched(folder: str) -> None:
    if not is_at_hand(folder):
        pytest.skip("this copy of the vendors' files is older than the table: make upstream")
    assert {*MAY_LACK[folder]} <= {kind.kind for kind in KINDS}


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.name)
def test_every_planned_object_of_a_committed_stack_is_accepted_upstream(
    path: Path, definitions: Definitions, spiderpool_definitions: Definitions
) -> None:
    plan = planned(path)
    of_spiderpool = "spiderpool" in [release.name for release in plan.releases]
    known = spiderpool_definitions if of_spiderpool else definitions
    refused = {item.metadata.name: vendor_refusals(item.manifest(), known) for item in custom_objects(plan)}
    assert {name: reasons for name, reasons in refused.items() if reasons} == {}


# Each line's definitions: those of its operators take the place of the others'.
LINES = {
    "26.7": (
        *("network-operator-26.7.0-rc.2", "sriov-network-operator-in-26.7.0-rc.2"),
        *("nic-configuration-operator-in-26.7.0-rc.2", "spectrum-x-operator-in-26.7.0-rc.2"),
    ),
    "26.1": ("network-operator-26.1.2", "sriov-network-operator-in-26.1.2"),
}
# Stacks that 26.1 cannot have, and the rule that says so: it has no NicNodePolicy, no driver for claims, and another
# version of the planes' objects.
NOT_BY_26_1 = {
    "node-kinds": "CLU007|FAB014",
    "two-machines": "CLU007|FAB014",
    "two-machines-operators": "CLU007|FAB014",
}
NOT_BY_26_1 |= {"sriov-claims": "DRA017", "planes-swplb": "PLN002"}
# The guide's line has a policy of its chart, and values that no later chart takes.
LATER = [path for path in STACKS if 'releaseLine: "23.10"' not in path.read_text()]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("path", LATER, ids=lambda path: path.name)
def test_every_object_of_a_committed_stack_in_another_line_is_accepted_by_that_lines_definitions(
    path: Path, line: str, definitions: Definitions, spiderpool_definitions: Definitions
) -> None:
    stack = load_stack(path.name.split(".")[1], path.parent)
    software = stack.software.model_copy(update={"release_line": line})
    changed = stack.model_copy(update={"software": software})
    if line == "26.1" and (refused_by := NOT_BY_26_1.get(stack.name)):
        with pytest.raises(ConfigurationError, match=refused_by):
            plan_spec(changed)
        return
    plan = plan_spec(changed)
    of_spiderpool = "spiderpool" in [release.name for release in plan.releases]
    own = {name: (spec,) for folder in LINES[line] for name, spec in definitions_in(folder)}
    known = spiderpool_definitions if of_spiderpool else {**definitions, **own}
    refused = {item.metadata.name: vendor_refusals(item.manifest(), known) for item in custom_objects(plan)}
    assert {name: reasons for name, reasons in refused.items() if reasons} == {}


# What the lines differ in: the field of the later one, and the value with which its objects have it.
OF_THE_NEXT_LINE = {
    "NicConfigurationTemplate": (("template", "spectrumXOptimized", "platformType"), "b300"),
    "SpectrumXRailPoolConfig": (("vfStateFollow",), True),
}


@pytest.mark.parametrize("kind", OF_THE_NEXT_LINE)
def test_planes_are_in_the_form_of_their_line_and_the_next_ones_is_known(kind: str, definitions: Definitions) -> None:
    own = {name: (spec,) for folder in LINES["26.7"] for name, spec in definitions_in(folder)}
    if kind in NOT_AT_HAND:
        pytest.skip("this copy of the vendors' files is older than the table: make upstream")
    plan = planned(ROOT / "examples" / "Pulumi.planes-swplb.yaml")
    (made,) = (entry for entry in custom_objects(plan) if entry.kind == kind)
    path, value = OF_THE_NEXT_LINE[kind]
    later = made.manifest()
    place = later["spec"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    assert vendor_refusals(made.manifest(), own) == []
    assert vendor_refusals(later, own) == [f"$.spec.{'.'.join(path)}: unknown field"]
    typed = type(made).model_validate({"metadata": later["metadata"], "spec": later["spec"]})
    assert vendor_refusals(typed.manifest(), definitions) == []


def without_words(schema: Any) -> Any:
    """A schema without its descriptions; a field of that name stays."""
    if isinstance(schema, list):
        return [without_words(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {name: without_words(field) for name, field in schema.get("properties", {}).items()}
    rest = {key: without_words(value) for key, value in schema.items() if key not in ("description", "properties")}
    return rest | ({"properties": fields} if fields else {})


def test_the_definition_of_mpi_jobs_that_is_installed_is_the_published_one(definitions: Definitions) -> None:
    ours = mpi_job_definition().manifest()["spec"]
    (theirs,) = definitions["mpijobs.kubeflow.org"]
    (version,) = theirs["versions"]

    assert ours["versions"] == [without_words(version)]
    assert {key: ours[key] for key in ("group", "names", "scope")} == {
        key: theirs[key] for key in ("group", "names", "scope")
    }


def test_a_field_that_the_vendor_does_not_know_would_be_seen(definitions: Definitions) -> None:
    manifest = {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": {"name": "nic-cluster-policy"},
        "spec": {
            "ofedDriver": {"image": "a", "env": [{"name": "A", "valeu": "b"}]},
            "sriovDevicePlugin": {"image": "a", "resources": []},
        },
    }
    assert vendor_refusals(manifest, definitions) == [
        "$.spec.ofedDriver.env[0].valeu: unknown field",
        "$.spec.sriovDevicePlugin.resources: unknown field",
    ]


@cache
def generated() -> set[str]:
    """The names of the files of all definitions that the sandbox makes from models."""
    return {path.stem for path, _ in crd_files()}


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.kind)
def test_a_kind_has_the_vendors_group_version_scope_and_names(model: Kind, definitions: Definitions) -> None:
    ours = custom_resource_definition(model)["spec"]
    for theirs in definitions[f"{model.plural}.{model.group()}"]:
        assert (ours["group"], ours["scope"]) == (theirs["group"], theirs["scope"])
        assert ours["versions"][0]["name"] in [version["name"] for version in theirs["versions"]]
        # a list kind may be left to its default
        names = {"listKind": f"{model.kind}List", **theirs["names"]}
        if f"{model.group()}_{model.plural}" not in generated():
            # in the sandbox the real definition has the short names
            names = {name: names[name] for name in ours["names"]}
        assert ours["names"] == names


def test_the_kind_of_networks_that_the_stack_itself_brings_is_the_vendors(definitions: Definitions) -> None:
    model = NetworkAttachmentDefinition
    ours = network_kind_definition().manifest()
    (version,) = ours["spec"]["versions"]
    mine = version["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert ours["metadata"]["name"] in definitions
    for theirs in vendor_schemas(model, definitions):
        spec = theirs["properties"]["spec"]
        assert "required" not in spec
        assert mine["properties"]["config"]["type"] == spec["properties"]["config"]["type"]
        assert mine["properties"].keys() == spec["properties"].keys()


def test_what_the_played_sriov_daemon_writes_of_a_node_is_accepted_upstream(definitions: Definitions) -> None:
    bare = inventory(H100.model_copy(update={"vfs_per_nic": 0}))
    interfaces = observed_interfaces(synced([{"pciAddress": "0000:0c:00.0", "numVfs": 2, "mtu": 4220}], (), bare))
    assert [len(nic["Vfs"]) for nic in interfaces if "Vfs" in nic] == [2]
    status = {"syncStatus": "Failed", "lastSyncError": "no", "interfaces": interfaces, "system": {"rdmaMode": "shared"}}
    (theirs,) = definitions["sriovnetworknodestates.sriovnetwork.openshift.io"]
    (version,) = theirs["versions"]
    assert refusals({"metadata": {}, "status": status}, version["schema"]["openAPIV3Schema"]) == []
