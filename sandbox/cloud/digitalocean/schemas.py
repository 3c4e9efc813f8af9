"""The fields of clusters and node pools, by their names on the wire.

Checked against the provider's Python package 4.84.1; defaults, replacements and checks from the provider's source.
"""

from __future__ import annotations

from ..schema import Field, Fields
from .checks import are_tags, at_least, is_cidr, not_empty, one_of, same_text

_DAYS = ("any", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_PARTITION_MODES = ("AMD_PARTITION_MODE_SPX_NPS1", "AMD_PARTITION_MODE_DPX_NPS2")

_TAINT = {
    "key": Field("string", given="required"),
    "value": Field("string", given="required"),
    "effect": Field("string", given="required", check=one_of("NoSchedule", "PreferNoSchedule", "NoExecute")),
}
_TAGS = Field("strings", unordered=True, check=are_tags)

# What the default pool and the pools of their own have in common.
_POOL = {
    "size": Field("string", given="required", replaces=True, check=not_empty),
    "nodeCount": Field("number"),
    "autoScale": Field("bool", default=False),
    "minNodes": Field("number"),
    "maxNodes": Field("number"),
    "labels": Field("map"),
    "taints": Field("objects", unordered=True, fields=_TAINT),
    "tags": _TAGS,
    "gpuPartitionMode": Field("string", replaces=True, check=one_of(*_PARTITION_MODES)),
    "actualNodeCount": Field("number", given="never"),
    "nodes": Field("objects", given="never"),
}

NODE_POOL: Fields = {
    "clusterId": Field("string", given="required", replaces=True, check=not_empty),
    "name": Field("string", check=not_empty),
    **_POOL,
}

_DEFAULT_POOL: Fields = {
    "name": Field("string", given="required", check=not_empty),
    **_POOL,
    "id": Field("string", given="never"),
}

# Managed software that is switched on and off; several come on by themselves (see `auto_enabled` in `records`).
PLUGINS: tuple[str, ...] = (
    "amdGpuDevicePlugin",
    "amdGpuDeviceMetricsExporterPlugin",
    "amdGpuDraDriver",
    "corednsAutoscaler",
    "nfsCsiPlugin",
    "nvidiaGpuDevicePlugin",
    "nvidiaGpuDraDriver",
    "p2pOciRegistryPlugin",
    "rdmaSharedDevicePlugin",
    "routingAgent",
)
_CONFLICTS = {
    f"{vendor}Gpu{one}": (f"{vendor}Gpu{other}",)
    for vendor in ("amd", "nvidia")
    for one, other in (("DevicePlugin", "DraDriver"), ("DraDriver", "DevicePlugin"))
}


def _block(conflicts: tuple[str, ...] = (), **more: Field) -> Field:
    fields = {"enabled": Field("bool", given="required"), **more}
    return Field("object", computed=True, conflicts=conflicts, fields=fields)


CLUSTER: Fields = {
    "name": Field("string", check=not_empty),
    "region": Field("string", given="required", replaces=True, check=not_empty, same=same_text),
    "version": Field("string", given="required", check=not_empty),
    "nodePool": Field("object", given="required", fields=_DEFAULT_POOL),
    "vpcUuid": Field("string", computed=True, replaces=True),
    "workerSubnetUuid": Field("string", computed=True, replaces=True),
    "clusterSubnet": Field("string", computed=True, replaces=True, check=is_cidr),
    "serviceSubnet": Field("string", computed=True, replaces=True, check=is_cidr),
    "isolatedWorkers": Field("bool", default=False, replaces=True),
    "ha": Field("bool", computed=True),
    "autoUpgrade": Field("bool"),
    "surgeUpgrade": Field("bool", default=True),
    "registryIntegration": Field("bool", default=False),
    "destroyAllAssociatedResources": Field("bool", default=False),
    "kubeconfigExpireSeconds": Field("number", check=at_least(0)),
    "tags": _TAGS,
    "maintenancePolicy": Field(
        "object",
        computed=True,
        fields={
            "day": Field("string", computed=True, check=one_of(*_DAYS, ignore_case=True)),
            "startTime": Field("string", computed=True),
            "duration": Field("string", given="never"),
        },
    ),
    "controlPlaneFirewall": _block(allowedAddresses=Field("strings", given="required")),
    "clusterAutoscalerConfigurations": Field(
        "objects",
        fields={
            "scaleDownUtilizationThreshold": Field("number"),
            "scaleDownUnneededTime": Field("string"),
            "expanders": Field("strings"),
        },
    ),
    "ssos": Field(
        "objects",
        computed=True,
        fields={
            "enabled": Field("bool", given="required"),
            "required": Field("bool"),
            "issuerUrl": Field("string"),
            "clientId": Field("string"),
        },
    ),
    **{name: _block(_CONFLICTS.get(name, ())) for name in PLUGINS},
    "clusterUrn": Field("string", given="never"),
    "endpoint": Field("string", given="never"),
    "ipv4Address": Field("string", given="never"),
    "status": Field("string", given="never"),
    "createdAt": Field("string", given="never"),
    "updatedAt": Field("string", given="never"),
    "kubeConfigs": Field("objects", given="never"),
}
