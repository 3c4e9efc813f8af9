"""The provider `digitalocean` on a simulated account."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from ...home import SandboxHome
from ..account import account_token
from ..clock import Clock
from ..faults import Faults
from ..resource import CloudError, Function, ResourceType
from ..store import Store

if TYPE_CHECKING:
    from .api import Api

_TOKEN_VARIABLES = ("DIGITALOCEAN_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN")
_RETRIES_VARIABLE = "DIGITALOCEAN_HTTP_RETRY_MAX"


class DigitalOcean:
    """The resource types and functions that this project uses, with one account behind them."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @classmethod
    def of(cls, home: SandboxHome) -> DigitalOcean:
        """The provider on a sandbox's account."""
        return cls(open_api(home))

    @property
    def version(self) -> str:
        """The version that stacks ask for: the engine warns of an older plug-in."""
        return PLUGIN_VERSIONS["digitalocean"]

    @cached_property
    def resources(self) -> Mapping[str, ResourceType]:
        """The resource types by Pulumi's tokens."""
        from .kubernetes_clusters import KubernetesCluster
        from .node_pools import NodePool
        from .projects import Project, ProjectResources
        from .vpcs import Vpc

        return {
            "digitalocean:index/vpc:Vpc": Vpc(self._api),
            "digitalocean:index/kubernetesCluster:KubernetesCluster": KubernetesCluster(self._api),
            "digitalocean:index/kubernetesNodePool:KubernetesNodePool": NodePool(self._api),
            "digitalocean:index/project:Project": Project(self._api),
            "digitalocean:index/projectResources:ProjectResources": ProjectResources(self._api),
        }

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions by Pulumi's tokens."""
        from .functions import functions

        return functions(self._api)

    def configure(self, configuration: Mapping[str, Any]) -> None:
        """Take the token and the number of retries, from the configuration or the environment.

        Raises CloudError for a token that is not the sandbox's own: a real one has no business here.
        """
        from_environment = (os.environ.get(name) for name in _TOKEN_VARIABLES)
        token = configuration.get("token") or next(filter(None, from_environment), "")
        if not hmac.compare_digest(str(token).encode(), self._api.account_token.encode()):
            raise CloudError(
                "this is the sandbox's simulated DigitalOcean, which takes no other token than its own: "
                f"leave digitalocean:token and {' and '.join(_TOKEN_VARIABLES)} to the sandbox"
            )
        retries = configuration.get("httpRetryMax")
        if retries is None:
            retries = os.environ.get(_RETRIES_VARIABLE)
        if retries is not None:
            self._api.retries = int(retries)


def open_api(home: SandboxHome) -> Api:
    """The simulated account of a sandbox, with the control planes behind it."""
    from ..clusters import ControlPlanes
    from .api import Api

    folder = home.cloud
    return Api(Store(folder / "digitalocean"), Faults(folder), Clock(folder), ControlPlanes(home), account_token(home))
