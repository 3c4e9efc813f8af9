"""Spiderpool: the values of its chart."""

from __future__ import annotations

from pydantic import JsonValue

from fabric.k8s.rdma_device_plugin import RdmaSharedDevicePluginConfig
from fabric.plan.case import Case
from fabric.plan.operators.policy import configuration_digest
from fabric.plan.operators.releases import release
from fabric.plan.records import HelmRelease


def spiderpool(case: Case, shared: RdmaSharedDevicePluginConfig | None) -> HelmRelease:
    """Spiderpool with the device plug-in that the model needs, configured from the rails."""
    switches = case.spec.software.spiderpool
    computed: dict[str, JsonValue] = {"multus": {"multusCNI": {"install": switches.multus}}}
    if shared is not None:
        computed["rdma"] = {
            "rdmaSharedDevicePlugin": {
                "install": True,
                # The chart's template does not roll the plug-in when its configuration changes.
                "podAnnotations": {"gpu-fabric/configuration": configuration_digest(shared)},
                "deviceConfig": shared.to_dict(),
            }
        }
    elif case.choices.row is not None and case.choices.row.access == "virtual":
        computed["sriov"] = {"install": True}
    return release(case, "spiderpool", computed, switches.values)
