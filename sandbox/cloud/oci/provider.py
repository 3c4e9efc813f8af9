"""The provider `oci` on a simulated account."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from ...home import SandboxHome
from ..clock import Clock
from ..faults import Faults
from ..resource import CloudError, Function, ResourceType
from ..store import Store
from .credentials import credentials
from .fields import kinds, token_of

if TYPE_CHECKING:
    from .tenancy import Tenancy

# Those with the resource types, which are imported when one is used.
_MODULES = (
    *("network", "security", "identity", "kubernetes_clusters", "node_pools", "addons"),
    *("instances", "pools", "images"),
)
# Environment variables that set the provider where the program gives no value.
_SETTINGS = {
    "tenancyOcid": "TF_VAR_tenancy_ocid",
    "userOcid": "TF_VAR_user_ocid",
    "fingerprint": "TF_VAR_fingerprint",
    "privateKey": "TF_VAR_private_key",
    "privateKeyPath": "TF_VAR_private_key_path",
    "region": "TF_VAR_region",
    "auth": "TF_VAR_auth",
}
# Seconds that a number of tries lasts: 1, 2, 4, 8, 16, and 30 from then on.
_FIRST_WAITS_S, _FURTHER_WAIT_S = (1, 2, 4, 8, 16), 30


class Oracle:
    """The resource types and functions that this project uses, with one account behind them."""

    def __init__(self, tenancy: Tenancy) -> None:
        self._tenancy = tenancy

    @classmethod
    def of(cls, home: SandboxHome) -> Oracle:
        """The provider on a sandbox's account."""
        return cls(open_tenancy(home))

    @property
    def version(self) -> str:
        """The version that stacks ask for: the engine warns of an older plug-in."""
        return PLUGIN_VERSIONS["oci"]

    @cached_property
    def resources(self) -> Mapping[str, ResourceType]:
        """The resource types by Pulumi's tokens."""
        modules = [import_module(f"{__package__}.{name}") for name in _MODULES]
        found: dict[str, ResourceType] = {}
        for kind in kinds():
            made = next(getattr(module, kind) for module in modules if hasattr(module, kind))
            found[token_of(kind)] = made(self._tenancy)
        return found

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """The functions by Pulumi's tokens."""
        from .functions import functions

        return functions(self._tenancy)

    def configure(self, configuration: Mapping[str, Any]) -> None:
        """Take the account and the region, from the configuration or the environment.

        Raises CloudError for an account that is not the sandbox's own: a real one has no business here.
        """
        from gpu_fabric.catalog import catalog

        given = {name: configuration.get(name) or os.environ.get(variable) for name, variable in _SETTINGS.items()}
        if given["auth"] not in (None, "ApiKey") or not self._is_own(given):
            raise CloudError(
                "this is the sandbox's simulated Oracle cloud, which takes no other account than its own: "
                "leave oci:tenancyOcid, oci:userOcid, oci:fingerprint, oci:privateKey, oci:privateKeyPath and oci:auth "
                "to the sandbox"
            )
        region = given["region"]
        if region not in catalog().oke_clusters.regions:
            raise CloudError(f"oci:region: there is no region {region}")
        self._tenancy.region = region
        if str(configuration.get("disableAutoRetries", "")).lower() == "true":
            self._tenancy.retries = 0
        elif (seconds := configuration.get("retryDurationSeconds")) is not None:
            self._tenancy.retries = _tries_in(float(seconds))

    def _is_own(self, given: Mapping[str, Any]) -> bool:
        account = self._tenancy.account
        expected = (account.tenancy, account.user, account.fingerprint)
        if (given["tenancyOcid"], given["userOcid"], given["fingerprint"]) != expected:
            return False
        key = given["privateKey"]
        if key is None and given["privateKeyPath"] is not None:
            file = Path(given["privateKeyPath"])
            key = file.read_text() if file == account.key_file else None
        return key is not None and account.holds(key)


def open_tenancy(home: SandboxHome) -> Tenancy:
    """The simulated account of a sandbox, with the control planes behind it."""
    from ..clusters import ControlPlanes
    from .tenancy import Tenancy

    account, folder = credentials(home), home.cloud
    return Tenancy(Store(folder / "oci"), Faults(folder), Clock(folder), ControlPlanes(home), account)


def _tries_in(seconds: float) -> int:
    tries = 0
    for wait in _FIRST_WAITS_S:
        if seconds < wait:
            return tries
        seconds, tries = seconds - wait, tries + 1
    return tries + int(seconds // _FURTHER_WAIT_S)
