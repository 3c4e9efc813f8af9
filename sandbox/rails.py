"""What is wrong with the rails of simulated nodes: what a verification of the fabric then finds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .cloud.clusters import ControlPlanes
from .failure import SandboxError
from .hardware.measuring.run import ABOUT, AILMENTS_ANNOTATION, Ailment, ailments_of
from .home import SandboxHome
from .kubernetes_api import Api, ApiError, Object

WELL = "well"


def set_rail(home: SandboxHome, node: str, rail: int, state: str) -> str:
    """Set a rail of a node to a faulty state or back, on the node's cluster in the sandbox; returns the effect as text.

    Raises SandboxError for an unknown state or node.
    """
    if state != WELL and state not in list(Ailment):
        raise SandboxError(f"a rail cannot be {state!r}", f"It can be: {WELL}, {', '.join(Ailment)}", status=2)
    found = list(_nodes(home, node))
    if not found:
        raise SandboxError(f"no simulated node {node!r}", "See: kubectl get nodes", status=2)
    for api, item in found:
        ailments = {str(number): ailment.value for number, ailment in ailments_of(item).items() if number != rail}
        wanted = ailments if state == WELL else {**ailments, str(rail): state}
        written = {AILMENTS_ANNOTATION: json.dumps(wanted, sort_keys=True) if wanted else None}
        api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": written}})
    about = "as it should be" if state == WELL else ABOUT[Ailment(state)]
    return f"rail {rail} of {node} is {state}: {about}"


def _nodes(home: SandboxHome, name: str) -> Iterator[tuple[Api, Object]]:
    planes = ControlPlanes(home, lambda _: None)
    for kubeconfig in (home.kubeconfig, *(planes.kubeconfig(cluster) for cluster in planes.ids())):
        if not kubeconfig.exists():
            continue
        api = Api(kubeconfig)
        try:
            yield api, api.get(f"/api/v1/nodes/{name}")
        except (ApiError, OSError):
            # It is on another cluster, or this one does not run.
            continue
