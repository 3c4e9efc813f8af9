"""The behaviour of simulated nodes and pods, as KWOK Stage documents, and how they get into the cluster."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from ..kubernetes_api import Api, ApiError, Object

FOLDER = Path(__file__).resolve().parent
PUBLISHED_WITHIN_S = 30.0
WOKEN_WITHIN_S = 10.0
TRIED_AGAIN = "sandbox.gpu-fabric/tried-again"
PLAYS = "Start stage controller"
"""What KWOK writes into its log for each kind that it begins to play."""

_WOKEN, _WOKEN_STAGE = "sandbox.gpu-fabric/woken", "stage-again-soon"
_PAUSE_S, _TURNS = 0.05, 20

_CRD = FOLDER / "stage-crd.yaml"
_GROUP = "/apis/kwok.x-k8s.io/v1alpha1"
_STAGES = f"{_GROUP}/stages"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def digest() -> str:
    """A hash of all documents, to check whether the cluster has the ones of this checkout."""
    files = [*sorted(FOLDER.glob("*.yaml")), FOLDER.parent / "controllers" / "controllers.yaml"]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def apply_stages(api: Api) -> None:
    """Apply the Stage kind and our documents to the cluster; idempotent.

    Raises ApiError when the API server refuses one, or does not serve the kind in time.
    """
    crd = yaml.safe_load(_CRD.read_text())
    api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}", crd)
    _wait_published(api)
    for document in stages():
        api.apply(f"{_STAGES}/{document['metadata']['name']}", document)


def stages() -> Iterator[Object]:
    """Our Stages; pods of the controllers that really run are not ready by themselves."""
    # Here, since a second `up` applies none.
    from ..controllers.table import controllers

    labels = (row.pods.partition("=") for row in controllers() if not row.completes)
    held = (f'{{{{ $held = or $held (eq (index $labels "{key}" | default "") "{name}") }}}}' for key, _, name in labels)
    filled = " ".join(held)
    for file in sorted(FOLDER.glob("*.yaml")):
        if file != _CRD:
            yield from yaml.safe_load_all(file.read_text().replace("{{/* controllers */}}", filled))


def before_kwok_starts(api: Api) -> None:
    """Make sure that KWOK picks up every kind that has stages, whatever the API server publishes late.

    A kind whose schema is not published when KWOK starts is not played until some Stage changes. That of the
    Stage kind is waited for here, and stages-again.yaml makes the changes that get all others picked up: for
    that, each Stage must look as if it had just come.

    The nodes' leases go: KWOK plays the pods of a node whose lease it holds, and would wait for minutes until those of
    one that has ended expire.
    """
    _wait_published(api)
    api.delete(_LEASES)
    for stage in api.get(_STAGES)["items"]:
        if TRIED_AGAIN in stage["metadata"].get("annotations", {}):
            api.patch(f"{_STAGES}/{stage['metadata']['name']}", {"metadata": {"annotations": {TRIED_AGAIN: None}}})


def wake_kwok(api: Api, plays: Callable[[], bool]) -> None:
    """Change a Stage until KWOK plays, or for some seconds.

    At its start it may begin to watch for changes only after it has read all Stages, and then waits for the next one
    (run in pkg/kwok/controllers/stages_manager.go of 0.8.0).
    """
    for turn in range(round(WOKEN_WITHIN_S / _PAUSE_S)):
        if plays():
            return
        time.sleep(_PAUSE_S)
        if turn % _TURNS == _TURNS - 1:
            api.patch(f"{_STAGES}/{_WOKEN_STAGE}", {"metadata": {"annotations": {_WOKEN: str(turn)}}})


def _wait_published(api: Api) -> None:
    """Wait until the API server serves the Stage kind and publishes its schema, which it does later."""
    deadline = time.monotonic() + PUBLISHED_WITHIN_S
    while True:
        try:
            paths = api.get(f"/openapi/v3{_GROUP}")["paths"]
            if f"{_STAGES}/{{name}}" in paths:
                api.get(_STAGES)
                return
        except ApiError as error:
            # 429, 503: the API server has the kind but has not read its objects yet
            if error.status not in (404, 429, 503) or time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise ApiError(404, f"the schema of {_STAGES} was not published within {PUBLISHED_WITHIN_S:.0f} s")
        time.sleep(0.05)
