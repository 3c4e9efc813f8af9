"""The rendered plan and the program, resource by resource: what one has, the other has, and just so."""

import base64
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from programs import ROOT, run_program, stack_config
from recording import Recording, Registration
from symbolic_world import ACCOUNT, DOMAINS, SymbolicWorld

from components.engine.object_writing import restore_integers
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.render.folder import read_rendered, write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan, RenderedResource
from gpu_fabric.render.rendering import rendered
from gpu_fabric.resources.dynamic import DYNAMIC, VERIFICATION
from gpu_fabric.spec.stack_text import StackDocument

FOLDERS = {"": ROOT, "examples/": ROOT / "examples", "tests/": ROOT / "tests" / "stacks"}
STACK_FILES = {
    f"{prefix}{path.name.split('.')[1]}": path
    for prefix, folder in FOLDERS.items()
    for path in sorted(folder.glob("Pulumi.*.yaml"))
}
# What a program registers that is no part of a plan, by the beginning of its type, with the reason.
OF_THE_ENGINE = {"pulumi:providers:": "how the engine reaches a cloud or a cluster: credentials, and where they lead"}
# Properties that only the engine needs, with the reason.
PROPERTIES_OF_THE_ENGINE = {"__provider": "the name of the class that does what a dynamic resource does"}

Both = tuple[RenderedPlan, Recording]


@pytest.fixture(scope="module")
def both(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Both]:
    """A committed stack's rendered plan as read from its folder, and the program's registrations."""

    @cache
    def both_of(name: str) -> Both:
        path = STACK_FILES[name]
        stack = path.name.split(".")[1]
        config = stack_config(path, kubeconfig)
        sections = {key.removeprefix("gpu-fabric:"): value for key, value in config.items()}
        document = StackDocument(name=stack, file=path.name, root=ROOT, sections=sections)
        return _read_back(prepare(document, for_up=False).plan, tmp_path_factory), _recorded(stack, config)

    return both_of


@pytest.fixture(params=sorted(STACK_FILES))
def stack(request: pytest.FixtureRequest, both: Callable[[str], Both]) -> Both:
    """Each committed stack in turn."""
    return both(request.param)


def _read_back(plan: Plan, folders: pytest.TempPathFactory) -> RenderedPlan:
    folder = folders.mktemp("plans") / "plan"
    write_files(folder, files(rendered(plan)))
    return read_rendered(folder)


def _recorded(stack: str, config: dict[str, dict[str, Any]], secrets: dict[str, str] | None = None) -> Recording:
    return run_program(stack, config, secrets, environment=ACCOUNT, world=SymbolicWorld())


def _planned(recording: Recording) -> Iterator[Registration]:
    """What was registered, but for components and what is the engine's own."""
    for entry in recording.resources:
        if entry.custom and not entry.type.startswith(tuple(OF_THE_ENGINE)):
            yield entry


def _key(resource: RenderedResource | Registration) -> tuple[str, str]:
    return resource.type, resource.name


def _meant(value: Any, known: dict[str, str]) -> Any:
    """A recorded value with the words of a rendered plan in the place of what is known by another name."""
    if isinstance(value, str):
        for text, word in known.items():
            value = value.replace(text, word)
        return value
    if isinstance(value, dict):
        return {key: _meant(entry, known) for key, entry in value.items()}
    return [_meant(entry, known) for entry in value] if isinstance(value, list) else value


def _properties(entry: Registration, recording: Recording) -> dict[str, Any]:
    kept = {key: value for key, value in entry.inputs.items() if key not in PROPERTIES_OF_THE_ENGINE}
    properties: dict[str, Any] = _meant(restore_integers(kept), DOMAINS)
    if entry.type == VERIFICATION:
        properties["planned"] = json.loads(properties["planned"])
    if entry.type.startswith(DYNAMIC):
        cluster = recording["cluster-kubernetes"]
        assert properties["kubeconfig"] == cluster.inputs["kubeconfig"]
        assert properties["cluster"] == cluster.inputs["clusterIdentifier"]
        properties |= {"kubeconfig": "<secret kubeconfig>", "cluster": "<output cluster-kubernetes.clusterIdentifier>"}
    return properties


def _treatment(entry: Registration) -> dict[str, Any]:
    return {
        "protect": entry.protect,
        "delete_before_replace": entry.delete_before_replace,
        "replace_on_changes": entry.replace_on_changes,
        "ignore_changes": entry.ignore_changes,
        "retain_on_delete": entry.retain_on_delete,
        "adopts": entry.import_id,
        "timeouts": entry.timeouts,
        "deleted_with": entry.deleted_with,
        "component": entry.parent,
        "provider": entry.provider,
    }


def _planned_treatment(resource: RenderedResource) -> dict[str, Any]:
    handling = resource.handling
    return {
        "protect": handling.protect,
        "delete_before_replace": handling.delete_before_replace,
        "replace_on_changes": frozenset(handling.replace_on_changes),
        "ignore_changes": frozenset(handling.ignore_changes),
        "retain_on_delete": handling.retain_on_delete,
        "adopts": handling.adopts or "",
        "timeouts": handling.timeouts.model_dump(exclude_none=True),
        "deleted_with": handling.deleted_with or "",
        "component": resource.component,
        "provider": resource.provider,
    }


def test_the_program_registers_each_rendered_resource_and_no_other(stack: Both) -> None:
    plan, recording = stack
    registered = sorted(_key(entry) for entry in _planned(recording))
    assert registered == sorted(_key(resource) for resource in plan.resources)


def test_each_resource_is_registered_with_the_rendered_properties(stack: Both) -> None:
    plan, recording = stack
    registered = {_key(entry): _properties(entry, recording) for entry in _planned(recording)}
    for resource in plan.resources:
        # Compared as text, since to Python 1 and True are the same.
        wanted, found = (
            json.dumps(value, sort_keys=True) for value in (resource.properties, registered[_key(resource)])
        )
        assert found == wanted, resource.name


def test_each_resource_is_protected_replaced_and_deleted_as_rendered(stack: Both) -> None:
    plan, recording = stack
    registered = {_key(entry): _treatment(entry) for entry in _planned(recording)}
    for resource in plan.resources:
        assert registered[_key(resource)] == _planned_treatment(resource), resource.name


def test_no_resource_waits_for_one_that_is_rendered_later(stack: Both) -> None:
    plan, recording = stack
    places = {_key(resource): place for place, resource in enumerate(plan.resources)}
    for entry in _planned(recording):
        later = [key for key in entry.comes_after if places.get(key, -1) > places[_key(entry)]]
        assert later == [], entry.name


def test_the_program_has_the_components_of_the_rendered_resources(stack: Both) -> None:
    plan, recording = stack
    components = {entry.name for entry in recording.resources if not entry.custom}
    rendered_ones = {resource.component for resource in plan.resources}
    assert rendered_ones <= components
    # Every stack has these, and in some of them nothing is made.
    assert components - rendered_ones <= {"cluster", "namespaces"}


def test_the_rendered_contract_is_the_stacks_output(stack: Both) -> None:
    plan, recording = stack
    # A cluster alone has none.
    assert restore_integers(recording.outputs.get("fabric", {})) == plan.contract


def test_a_secret_of_a_charts_values_is_a_name_in_the_rendered_plan_and_a_secret_in_the_program(
    kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = stack_config(STACK_FILES["examples/spiderpool-sriov"], kubeconfig)
    config.setdefault("gpu-fabric:software", {})["spiderpool"] = {
        "tls": {"method": "provided", "secret": "webhook-tls"}
    }
    sections = {key.removeprefix("gpu-fabric:"): value for key, value in config.items()}
    document = StackDocument(name="spiderpool-sriov", file="f", root=ROOT, sections=sections)
    plan = _read_back(prepare(document, for_up=False).plan, tmp_path_factory)
    texts = {entry: f"the-{entry}-of-the-webhook" for entry in ("authority", "certificate", "key")}
    recording = _recorded("spiderpool-sriov", config, {"gpu-fabric:webhook-tls": json.dumps(texts)})
    (planned,) = (resource for resource in plan.resources if resource.name == "spiderpool-spiderpool")
    entry = recording[planned.name]
    known = {
        base64.b64encode(text.encode()).decode(): f"<secret gpu-fabric:webhook-tls, entry {name}, in Base64>"
        for name, text in texts.items()
    }
    assert "values" in entry.secrets
    assert _meant(restore_integers(entry.inputs["values"]), known) == planned.properties["values"]
    shown = json.dumps(planned.properties)
    assert all(word in shown for word in known.values())


def test_no_credential_is_in_a_rendered_plan(stack: Both) -> None:
    plan, recording = stack
    written = "".join(files(plan).values())
    provider = recording["cluster-kubernetes"]
    assert provider.inputs["kubeconfig"] not in written
    assert ACCOUNT["DIGITALOCEAN_TOKEN"] not in written
