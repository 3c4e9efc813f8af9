"""The clusters of the simulated clouds: each is a control plane of its own, in a folder of its own.

As in a real cloud, a cluster outlives the process of the plug-in that created it (the engine may end that at any time)
and the run of the engine. All calls can be made by several processes and threads at a time.
"""

from __future__ import annotations

import datetime
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..failure import SandboxError
from ..home import ClusterRanges, SandboxHome, file_lock

Object = dict[str, Any]
"""A Kubernetes object."""

# How tokens begin that are handed out one by one.
_ISSUED = "issued_"
# What the API server takes a token for, refused or good, it believes for up to ten seconds (no flag changes that).
_BELIEVED_WITHIN_S = 15.0


@dataclass(frozen=True)
class Endpoint:
    """Where a cluster is reached: the URL of its API server, and the authority of its certificate as PEM text."""

    server: str
    authority: str


class ControlPlanes:
    """The clusters of one sandbox's clouds, by their ids; `say` reports the processes that are started.

    Raises SandboxError where a control plane does not come up or a cluster does not exist, and ApiError where its API
    server refuses or is not reached; ValueError for an id that is not a plain file name.
    """

    def __init__(self, home: SandboxHome, say: Callable[[str], None] = lambda line: None) -> None:
        self._home = home
        self._say = say

    def ids(self) -> list[str]:
        """The clusters that exist, running or not."""
        return self._home.cluster_ids()

    def create(self, cluster: str, ranges: ClusterRanges | None = None) -> Endpoint:
        """Start a cluster's control plane as far as it does not run, and wait until it is ready (about 5 s).

        A new cluster has these `ranges` for life.
        """
        from ..control_plane import ControlPlane
        from ..toolchain.build import ensure
        from ..toolchain.progress import Progress

        home = self._home.cluster(cluster)
        toolchain = ensure(["control-plane", "kwok"], Progress())
        with self._lock(cluster):
            # two that start side by side must not choose the same ports, nor those of one that stands still
            with file_lock(self._home.clusters / ".ports", wait=True):
                if ranges is not None and not home.load_state():
                    home.save_state({"ranges": ranges._asdict()})
                plane = ControlPlane(home, self._say, self._home.remembered_ports())
                plane.reserve_ports()
            plane.up(toolchain)
        return self.endpoint(cluster)

    def start_all(self) -> list[str]:
        """Start every stopped cluster; returns the ids of all."""
        for cluster in self.ids():
            self.create(cluster)
        return self.ids()

    def endpoint(self, cluster: str) -> Endpoint:
        """Where a cluster is reached, whether or not it runs."""
        from ..certificates import Pki

        home = self._existing(cluster)
        port = home.load_state()["ports"]["kube-apiserver"]
        return Endpoint(f"https://127.0.0.1:{port}", Pki(home.pki).ca.read_text())

    def set_tokens(self, cluster: str, tokens: Mapping[str, datetime.datetime | None]) -> None:
        """Accept only these bearer tokens, each until its expiry (with a time zone; None: unlimited).

        All are administrators'. Tokens that were issued one by one stay valid. Returns when the API server rejects the
        tokens that are no longer valid. The API server accepts an expired token for up to ten seconds more.
        """
        from ..authentication import is_good, read_tokens, write_tokens

        home = self._existing(cluster)
        with self._lock(cluster):
            now = datetime.datetime.now(datetime.UTC)
            before = {token: end for token, end in read_tokens(home.tokens).items() if is_good(end, now)}
            issued = {token: end for token, end in before.items() if token.startswith(_ISSUED)}
            after = {token for token, end in {**tokens, **issued}.items() if is_good(end, now)}
            write_tokens(home.tokens, {**tokens, **issued})
        for token in before.keys() ^ after:
            self._await_belief(home, token, good=token in after)

    def issue_token(self, cluster: str, lifetime: datetime.timedelta) -> tuple[str, datetime.datetime]:
        """A fresh administrator's token besides those that are set, and when it ends."""
        from ..authentication import read_tokens, write_tokens

        home = self._existing(cluster)
        token, end = f"{_ISSUED}{secrets.token_hex(32)}", datetime.datetime.now(datetime.UTC) + lifetime
        with self._lock(cluster):
            write_tokens(home.tokens, {**read_tokens(home.tokens), token: end})
        return token, end

    def set_nodes(self, cluster: str, nodes: Sequence[Object]) -> None:
        """Make just these nodes the cluster's; pods on others go with them."""
        from ..simulated_nodes import reconcile_nodes

        with self._lock(cluster):
            reconcile_nodes(self._api(cluster), nodes)

    def ready_nodes(self, cluster: str) -> set[str]:
        """The names of nodes that are Ready and may be scheduled on."""
        from ..simulated_nodes import OWN_LABEL, is_ready

        nodes = self._api(cluster).get("/api/v1/nodes", labelSelector=OWN_LABEL)["items"]
        return {node["metadata"]["name"] for node in nodes if is_ready(node)}

    def apply(self, cluster: str, manifests: Sequence[Object]) -> None:
        """Apply these objects, in their order."""
        from ..kubernetes_api import apply_once_served

        api = self._api(cluster)
        for manifest in manifests:
            apply_once_served(api, manifest)

    def remove(self, cluster: str, manifests: Sequence[Object]) -> None:
        """Delete these objects, last first; what is not there counts as deleted."""
        from ..kubernetes_api import delete_object

        api = self._api(cluster)
        for manifest in reversed(manifests):
            delete_object(api, manifest)

    def stop(self, cluster: str) -> list[str]:
        """Stop a cluster's processes and return their names; `create` starts the same cluster."""
        from ..control_plane import ControlPlane

        with self._lock(cluster):
            return ControlPlane(self._home.cluster(cluster), self._say).down()

    def delete(self, cluster: str) -> None:
        """End a cluster's processes and forget it; one that does not exist is deleted already."""
        from ..control_plane import ControlPlane

        home = self._home.cluster(cluster)
        with self._lock(cluster):
            if home.root.exists():
                ControlPlane(home, self._say).down(grace_s=0)
                shutil.rmtree(home.root)

    def kubeconfig(self, cluster: str) -> Path:
        """The sandbox's own kubeconfig of a cluster."""
        return self._existing(cluster).kubeconfig

    def _existing(self, cluster: str) -> SandboxHome:
        home = self._home.cluster(cluster)
        if not home.kubeconfig.exists():
            raise SandboxError(f"there is no simulated cluster {cluster} in {self._home.root}")
        return home

    def _api(self, cluster: str) -> Any:
        from ..kubernetes_api import Api

        return Api(self._existing(cluster).kubeconfig)

    def _lock(self, cluster: str) -> AbstractContextManager[None]:
        self._home.cluster(cluster)
        return file_lock(self._home.clusters / f".{cluster}.lock", wait=True)

    def _await_belief(self, home: SandboxHome, token: str, *, good: bool) -> None:
        """Wait until the API server takes a token, or refuses it; one that is not reached has nothing to forget."""
        from ..kubernetes_api import Api, ApiError

        api, deadline = Api(home.kubeconfig, token=token), time.monotonic() + _BELIEVED_WITHIN_S
        while time.monotonic() < deadline:
            try:
                api.get("/version")
                believed = True
            except ApiError as error:
                if error.status != 401:
                    return
                believed = False
            if believed == good:
                return
            time.sleep(0.1)
