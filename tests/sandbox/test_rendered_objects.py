"""After `up`, the API server holds what was rendered: every object with every field, every release with its values."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from driver import STACK, Sandbox
from lacking_fields import lacking
from stack_plans import stack_plan

from gpu_fabric.plan import Plan
from gpu_fabric.render.folder import read_rendered, write_files
from gpu_fabric.render.layout import files
from gpu_fabric.render.model import RenderedPlan
from gpu_fabric.render.rendering import rendered
from gpu_fabric.resources.charts import RELEASE
from sandbox.home import project_root
from sandbox.kubernetes_api import Api, object_path

ENGINE = "pulumi-kubernetes"
Object = dict[str, Any]


class Applied:
    """A rendered plan, as read from its folder, and the API server that it was applied to."""

    def __init__(self, plan: Plan, api: Api, folder: Path) -> None:
        write_files(folder, files(rendered(plan)))
        self.plan: RenderedPlan = read_rendered(folder)
        self.api = api

    def wanted(self, *, patches: bool) -> list[Object]:
        """Every object that the plan makes, or every set of fields in an object that is somebody else's."""
        made = [one for one in self.plan.resources if one.type.startswith("kubernetes:") and one.type != RELEASE]
        return [one.properties for one in made if one.type.endswith("Patch") == patches]

    def live(self, wanted: Object) -> Object:
        """An object as the API server has it."""
        path = object_path(self.api, wanted, "default")
        assert path is not None
        return self.api.get(path)

    def all_of(self, kind: Object) -> list[Object]:
        """The objects of an object's kind in all namespaces."""
        path = object_path(self.api, kind, "default")
        assert path is not None
        place = re.sub("/namespaces/[^/]+/", "/", path.rpartition("/")[0])
        found: list[Object] = self.api.get(place)["items"]
        return found

    def release(self, namespace: str, name: str) -> Object:
        """Helm's own record of a release's newest revision."""
        secrets = self.api.get(f"/api/v1/namespaces/{namespace}/secrets", labelSelector=f"owner=helm,name={name}")
        newest = max(secrets["items"], key=lambda secret: int(secret["metadata"]["labels"]["version"]))
        # Kubernetes encodes a secret's data once, Helm its record a second time
        record = gzip.decompress(base64.b64decode(base64.b64decode(newest["data"]["release"])))
        found: Object = json.loads(record)
        return found


@pytest.fixture
def applied(stack_up: Sandbox, tmp_path: Path) -> Applied:
    """The development stack, up."""
    return Applied(stack_plan(STACK, project_root()), stack_up.api, tmp_path / "plan")


def test_every_rendered_object_and_patch_is_on_the_cluster_with_every_rendered_field(applied: Applied) -> None:
    wanted, patches = applied.wanted(patches=False), applied.wanted(patches=True)
    assert wanted
    assert patches
    for entry in wanted:
        assert lacking(entry, applied.live(entry)) == [], f"{entry['kind']} {entry['metadata']['name']}"
    for entry in patches:
        assert lacking(entry.get("spec", {}), applied.live(entry).get("spec", {})) == [], entry["metadata"]["name"]


def test_the_stack_has_made_no_object_of_these_kinds_that_was_not_rendered(applied: Applied) -> None:
    wanted = [*applied.wanted(patches=False), *applied.wanted(patches=True)]
    kinds = {(entry["apiVersion"], entry["kind"]): entry for entry in wanted}
    made = {
        _key(item, entry["kind"])
        for entry in kinds.values()
        for item in applied.all_of(entry)
        if any(entry["manager"].startswith(ENGINE) for entry in item["metadata"].get("managedFields", []))
    }
    # An object without any field of its own, such as a bare namespace, names nobody.
    assert made
    assert made <= {_key(entry, entry["kind"]) for entry in wanted}


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
