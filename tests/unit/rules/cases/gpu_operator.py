"""Cases of the group `gpu_operator`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_GPU = "software.gpuOperator"
_DRIVER = {f"{_GPU}.driver": True}
_PEERMEM = {f"{_GPU}.gpuDirect": "peermem"}
_DMA_BUF = {f"{_GPU}.gpuDirect": "dma-buf"}
_LABELS = "cluster.pools[0].labels"
_HALVES = {_LABELS: {"nvidia.com/mig.config": "all-3g.40gb"}}

_GPU_VALUES = "software.gpuOperator.values"

CASES = (
    good("GPU001", "host-device", {**_DRIVER, **_PEERMEM}),
    bad("GPU001", "host-device", _PEERMEM),
    bad("GPU001", "guide-23-10", {}, "software.releaseLine"),
    good("GPU001", "guide-23-10", _DMA_BUF),
    irrelevant("GPU001", "doks-mi325x", _PEERMEM),
    good("GPU002", "host-device", {**_DRIVER, f"{_GPU}.values": {"driver": {"kernelModuleType": "open"}}}),
    good("GPU002", "host-device",
         {**_DRIVER, **_PEERMEM, f"{_GPU}.values": {"driver": {"kernelModuleType": "proprietary"}}}),
    bad("GPU002", "host-device", {**_DRIVER, f"{_GPU}.values": {"driver": {"kernelModuleType": "proprietary"}}},
        ".driver.kernelModuleType"),
    bad("GPU002", "guide-23-10", {**_DRIVER, **_DMA_BUF}),
    good("GPU002", "guide-23-10",
         {**_DRIVER, **_DMA_BUF, f"{_GPU}.values": {"driver": {"useOpenKernelModules": True}}}),
    irrelevant("GPU002", "host-device", {f"{_GPU}.values": {"driver": {"kernelModuleType": "proprietary"}}}),
    good("GPU003", "host-device", {f"{_GPU}.mig": "none", _LABELS: {"nvidia.com/mig.config": "all-disabled"}}),
    good("GPU003", "host-device", {f"{_GPU}.mig": "mixed", **_HALVES}),
    bad("GPU003", "host-device", {f"{_GPU}.mig": "none", **_HALVES}),
    irrelevant("GPU003", "host-device"),
    good("GPU004", "host-device", {f"{_GPU}.mig": "single"}),
    bad("GPU004", "host-device", {f"{_GPU}.mig": "mixed"}),
    bad("GPU004", "host-device", {f"{_GPU}.mig": "single", **_HALVES}),
    irrelevant("GPU004", "doks-h200", _HALVES),
    good("GPU005", "host-device", {f"{_GPU}.serviceMonitor": True}),
    good("GPU005", "host-device", {f"{_GPU}.dcgmExporter": False}),
    bad("GPU005", "host-device", {f"{_GPU}.serviceMonitor": True, f"{_GPU}.dcgmExporter": False},
        f"{_GPU}.serviceMonitor"),
    irrelevant("GPU005", "doks-mi325x", {f"{_GPU}.serviceMonitor": True, f"{_GPU}.dcgmExporter": False}),
    bad("GPU004", "dev", {_GPU_VALUES: {"mig": {"strategy": "mixed"}}}, ".mig.strategy"),
    good("GPU006", "dev", {_GPU_VALUES: {"sandboxWorkloads": {"enabled": True, "defaultWorkload": "container"}}}),
    *(
        bad("GPU006", "dev", {_GPU_VALUES: values}, f"{_GPU_VALUES}.{place}")
        for place, values in (
            (
                "sandboxWorkloads.defaultWorkload",
                {"sandboxWorkloads": {"enabled": True, "defaultWorkload": "vm-passthrough"}},
            ),
            ("devicePlugin.env", {"devicePlugin": {"env": [{"name": "MIG_STRATEGY", "value": "mixed"}]}}),
            (
                "devicePlugin.config.data.any",
                {"devicePlugin": {"config": {"create": True, "name": "c", "data": {"any": "timeSlicing: {}"}}}},
            ),
        )
    ),
    irrelevant("GPU006", "dev"),
    good("GPU007", "dev", {_GPU_VALUES: {"devicePlugin": {"config": {"name": "c", "data": {"any": "version: v1"}}}}}),
    bad("GPU007", "dev", {_GPU_VALUES: {"devicePlugin": {"config": {"name": "time-slicing"}}}},
        ".devicePlugin.config.name"),
    irrelevant("GPU007", "dev"),
    good("GPU008", "host-device", {"software.gpuOperator": {"driver": False}}),
    bad("GPU008", "dev", {_GPU_VALUES: {"driver": {"enabled": True}}}, ".driver.enabled"),
    bad("GPU008", "oke-h100-26-4", {"software.gpuOperator": {"driver": True}}, ".driver"),
    irrelevant("GPU008", "dev"),
)  # fmt: skip
