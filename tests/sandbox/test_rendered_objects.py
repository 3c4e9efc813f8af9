"""After `up`, the API server holds what was rendered: every object with every field, every release with its values."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cloud_driver import CloudSandbox
from driver import STACK, Sandbox
from lacking_fields import lacking

from components.object_writing import MANAGER
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare_stack
from gpu_fabric.render.folder import read_rendered, write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.resources.charts import RELEASE
from gpu_fabric.resources.dynamic import KEPT_OBJECTS
from sandbox.home import project_root
from sandbox.kubernetes_api import Api

pytestmark = pytest.mark.sandbox

CLOUDS = {"doks-h200": "digitalocean", "oke-h100": "oci"}
ENGINE = "pulumi-kubernetes"
Object = dict[str, Any]


class Applied:
    """A rendered plan, as read from its folder, and the API server that it was applied to."""

    def __init__(self, plan: Plan, api: Api, folder: Path) -> None:
        write_files(folder, files(rendered(plan)))
        self.plan: RenderedPlan = read_rendered(folder)
        self.api = api
        self.kind = cache(self._kind)

    def objects(self) -> Iterator[Object]:
        """Every object that the plan makes, those of groups, too."""
        for resource in self.plan.resources:
            if resource.type == KEPT_OBJECTS:
                for named in resource.properties["objects"].values():
                    yield from named.values()
            elif resource.type.startswith("kubernetes:") and not resource.type.endswith(("Patch", RELEASE)):
                yield resource.properties

    def patches(self) -> Iterator[Object]:
        """Every set of fields in an object that is somebody else's."""
        for resource in self.plan.resources:
            if resource.type.startswith("kubernetes:") and resource.type.endswith("Patch"):
                yield resource.properties

    def live(self, wanted: Object) -> Object:
        """An object as the API server has it."""
        metadata = wanted["metadata"]
        path = self.collection(wanted["apiVersion"], wanted["kind"], metadata.get("namespace"))
        return self.api.get(f"{path}/{metadata['name']}")

    def collection(self, version: str, kind: str, namespace: str | None) -> str:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        place = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{place}/{self.kind(root, kind)}"

    def _kind(self, root: str, kind: str) -> str:
        listed = self.api.get(root)["resources"]
        plural: str = next(entry["name"] for entry in listed if entry["kind"] == kind and "/" not in entry["name"])
        return plural

    def release(self, namespace: str, name: str) -> Object:
        """Helm's own record of a release's newest revision."""
        secrets = self.api.get(f"/api/v1/namespaces/{namespace}/secrets", labelSelector=f"owner=helm,name={name}")
        newest = max(secrets["items"], key=lambda secret: int(secret["metadata"]["labels"]["version"]))
        # Kubernetes encodes a secret's data once, Helm its record a second time
        record = gzip.decompress(base64.b64decode(base64.b64decode(newest["data"]["release"])))
        found: Object = json.loads(record)
        return found


@pytest.fixture(scope="module")
def on_doks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    yield from _brought_up("doks-h200", tmp_path_factory)


@pytest.fixture(scope="module")
def on_oke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Applied]:
    yield from _brought_up("oke-h100", tmp_path_factory)


def _brought_up(stack: str, folders: pytest.TempPathFactory) -> Iterator[Applied]:
    sandbox = CloudSandbox(folders.mktemp(stack), stack, CLOUDS[stack])
    try:
        sandbox.up()
        yield Applied(sandbox.stack_with({}).plan, sandbox.api, folders.mktemp("plans") / "plan")
    finally:
        sandbox.clean_up()


@pytest.fixture(params=[STACK, *CLOUDS])
def applied(request: pytest.FixtureRequest, tmp_path: Path) -> Applied:
    """The development stack and one of each cloud, up."""
    if request.param == STACK:
        sandbox: Sandbox = request.getfixturevalue("stack_up")
        return Applied(prepare_stack(STACK, project_root()), sandbox.api, tmp_path / "plan")
    found: Applied = request.getfixturevalue("on_doks" if request.param.startswith("doks-") else "on_oke")
    return found


def test_every_rendered_object_is_on_the_cluster_with_every_rendered_field(applied: Applied) -> None:
    wanted = list(applied.objects())
    assert wanted
    for entry in wanted:
        assert lacking(entry, applied.live(entry)) == [], f"{entry['kind']} {entry['metadata']['name']}"


def test_every_rendered_patch_is_in_the_object_that_it_is_for(applied: Applied) -> None:
    # The operator of this line puts its DaemonSets back (docs/decisions/0012-rolling-device-plug-ins.md).
    put_back = "DaemonSet" if applied.plan.release_line == "23.10" else ""
    for entry in applied.patches():
        if entry["kind"] != put_back:
            assert lacking(entry.get("spec", {}), applied.live(entry).get("spec", {})) == [], entry["metadata"]["name"]


def test_the_stack_has_made_no_object_of_these_kinds_that_was_not_rendered(applied: Applied) -> None:
    wanted = [*applied.objects(), *applied.patches()]
    made = {
        _key(item, kind)
        for version, kind in {(entry["apiVersion"], entry["kind"]) for entry in wanted}
        for item in applied.api.get(applied.collection(version, kind, None))["items"]
        if any(_is_ours(entry["manager"]) for entry in item["metadata"].get("managedFields", []))
    }
    # An object without any field of its own, such as a bare namespace, names nobody.
    assert made
    assert made <= {_key(entry, entry["kind"]) for entry in wanted}


def _is_ours(manager: str) -> bool:
    """Whether the API server names the engine, or the stack's own program for groups of objects."""
    return manager == MANAGER or manager.startswith(ENGINE)


def _key(entry: Object, kind: str) -> tuple[str, str, str]:
    return kind, entry["metadata"].get("namespace", ""), entry["metadata"]["name"]


def test_every_rendered_release_is_installed_with_the_rendered_values(applied: Applied) -> None:
    for resource in applied.plan.resources:
        if resource.type != RELEASE:
            continue
        properties = resource.properties
        release = applied.release(properties["namespace"], properties["name"])
        assert release["info"]["status"] == "deployed"
        assert release["chart"]["metadata"]["version"].lstrip("v") == properties["version"].lstrip("v")
        assert (release.get("config") or {}) == properties["values"]
