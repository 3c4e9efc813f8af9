"""The resource types Project and ProjectResources."""

from __future__ import annotations

from collections.abc import Iterable

from ..requests import Refused
from ..resource import Call
from ..store import Record
from ..wire import Properties
from .api import Api, ApiResource, doing, gone_is_deleted, new_id, unprocessable

_DELETE_LIMIT_S = 3 * 60
_OWNER_ID = 1
_OWNER_UUID = "00000000-0000-4000-8000-000000000001"


class Project(ApiResource):
    """A project: a name under which resources are listed."""

    time_limits = ("delete",)
    kind, reading = "Project", "Error reading Project"

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        with doing("Error creating Project"):
            project = self._api.request(call, "POST", "/v2/projects", lambda: _new_project(self._api, inputs))
            if resources := inputs.get("resources"):
                assign(self._api, call, project["id"], resources)
        return project["id"], self._shown_to(call, project["id"], {})

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        api = self._api

        def put() -> None:
            project = api.found("projects", identifier)
            _check_name(api, news["name"], identifier)
            api.store.put("projects", {**project, **_settings(news), "updated_at": api.stamp()})
            if news.get("isDefault"):
                _make_default(api, identifier)

        with doing("Error updating Project"):
            api.request(call, "PUT", f"/v2/projects/{identifier}", put)
            if news.get("resources") is not None:
                _assign_difference(api, call, identifier, state.get("resources") or [], news["resources"])
        return self._shown_to(call, identifier, {})

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        api = self._api

        def remove() -> None:
            if api.found("projects", identifier)["resources"]:
                raise Refused(412, "cannot delete a project with resources")
            api.store.remove("projects", identifier)

        with doing("Error assigning resource to default project"):
            if resources := state.get("resources"):
                assign(api, call, _default_project(api, call), resources)
        path, limit = f"/v2/projects/{identifier}", call.limit(_DELETE_LIMIT_S)
        with doing(f"Error deleting project ({identifier})"):
            self._delete(call, limit, lambda: api.request(call, "DELETE", path, remove), (412,))

    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        project = found_project(self._api, call, identifier)
        return {
            "name": project["name"],
            "description": project["description"],
            "purpose": project["purpose"],
            "environment": project["environment"],
            "isDefault": project["is_default"],
            "resources": project["resources"],
            "ownerId": _OWNER_ID,
            "ownerUuid": _OWNER_UUID,
            "createdAt": project["created_at"],
            "updatedAt": project["updated_at"],
        }


class ProjectResources(ApiResource):
    """The resources of a project that another owner created; the resource's id is the project's."""

    autonamed = False
    kind, reading = "ProjectResources", "Error while retrieving project"

    def create(self, call: Call, inputs: Properties) -> tuple[str, Properties]:
        return inputs["project"], self._assigned(call, inputs["project"], [], inputs["resources"])

    def _shown_to(self, call: Call, identifier: str, state: Properties) -> Properties:
        listed = found_project(self._api, call, identifier)["resources"]
        known = state.get("resources") or []
        return {"project": identifier, "resources": [urn for urn in known if urn in listed]}

    def update(self, call: Call, identifier: str, state: Properties, news: Properties) -> Properties:
        return self._assigned(call, identifier, state.get("resources") or [], news["resources"])

    def delete(self, call: Call, identifier: str, state: Properties) -> None:
        with doing("Error assigning resources to default project"), gone_is_deleted():
            found_project(self._api, call, identifier)
            assign(self._api, call, _default_project(self._api, call), state.get("resources") or [])

    def _assigned(self, call: Call, project: str, before: list[str], after: list[str]) -> Properties:
        with doing(f"Error assigning resources to project {project}"):
            found_project(self._api, call, project)
            _assign_difference(self._api, call, project, before, after)
        return {"project": project, "resources": after}


def found_project(api: Api, call: Call, identifier: str) -> Record:
    """A project's record. Raises ApiError."""
    return api.request(call, "GET", f"/v2/projects/{identifier}", lambda: api.found("projects", identifier))


def assign(api: Api, call: Call, project: str, resources: Iterable[str]) -> None:
    """List resources, by their URNs, under a project and no other. Raises ApiError."""

    def post() -> None:
        api.found("projects", project)
        for urn in resources:
            leave_projects(api, urn)
            record = api.found("projects", project)
            api.store.put("projects", {**record, "resources": [*record["resources"], urn]})

    api.request(call, "POST", f"/v2/projects/{project}/resources", post)


def leave_projects(api: Api, urn: str) -> None:
    """List a resource under no project, inside a request."""
    for project in api.store.list("projects"):
        if urn in project["resources"]:
            api.store.put("projects", {**project, "resources": [each for each in project["resources"] if each != urn]})


def _assign_difference(api: Api, call: Call, project: str, before: list[str], after: list[str]) -> None:
    # the API takes a resource from a project only by giving it to another
    if dropped := sorted(set(before) - set(after)):
        assign(api, call, _default_project(api, call), dropped)
    if added := sorted(set(after) - set(before)):
        assign(api, call, project, added)


def _default_project(api: Api, call: Call) -> str:
    def get() -> Record:
        found = next((project for project in api.store.list("projects") if project["is_default"]), None)
        return found or _new_project(api, {"name": "default", "isDefault": True})

    identifier: str = api.request(call, "GET", "/v2/projects/default", get)["id"]
    return identifier


def existing_project(api: Api, identifier: str) -> Record:
    """Create another owner's project by its id, inside a request."""
    return _add(api, identifier, {"name": f"existing-{identifier}"})


def _add(api: Api, identifier: str, inputs: Properties) -> Record:
    now = api.stamp()
    project = {"id": identifier, "resources": [], "created_at": now, "updated_at": now, **_settings(inputs)}
    return api.store.add("projects", project)


def _new_project(api: Api, inputs: Properties) -> Record:
    _check_name(api, inputs["name"])
    project = _add(api, new_id(), inputs)
    if inputs.get("isDefault"):
        _make_default(api, project["id"])
    return project


def _check_name(api: Api, name: str, own_id: str | None = None) -> None:
    if any(project["name"] == name and project["id"] != own_id for project in api.store.list("projects")):
        raise unprocessable(f"a project with the name {name} exists already")


def _make_default(api: Api, identifier: str) -> None:
    for project in api.store.list("projects"):
        api.store.put("projects", {**project, "is_default": project["id"] == identifier})


def _settings(inputs: Properties) -> Record:
    environment = inputs.get("environment") or ""
    return {
        "name": inputs["name"],
        "description": inputs.get("description") or "",
        "purpose": inputs.get("purpose") or "Web Application",
        "environment": environment.capitalize(),
        "is_default": bool(inputs.get("isDefault")),
    }
