"""Cases of the group `proxy`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_KEY = "software.proxy"
_PROXY = {_KEY: {"https": "http://proxy.example:3128"}}
_DRIVER = {"software.gpuOperator.driver": True}
_ENV = "software.gpuOperator.values.driver.env"
_RANGES = {"cluster.ranges": {"pods": "10.244.0.0/16", "services": "10.96.0.0/12", "nodes": "10.0.0.0/20"}}
_OWN = {"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}


def _except(text: str) -> dict[str, object]:
    return {_ENV: [_OWN, {"name": "no_proxy", "value": text}]}


CASES = (
    good("PRX001", "host-device", {**_PROXY, **_DRIVER}),
    good("PRX001", "ib-sriov", {**_PROXY, "software.networkOperator.ofedDriver": True}),
    bad("PRX001", "host-device", _PROXY),
    bad("PRX001", "guide-23-10", _PROXY),
    irrelevant("PRX001", "host-device"),
    good("PRX002", "host-device", {**_PROXY, **_RANGES}),
    good("PRX002", "oke-h100-26-4", _PROXY),
    bad("PRX002", "host-device", {**_PROXY, **_RANGES, "cluster.ranges.services": None}, _KEY),
    irrelevant("PRX002", "host-device", {"cluster.ranges.services": None}),
    good("PRX003", "host-device",
        {**_DRIVER, **_RANGES, **_except("localhost, 127.0.0.1,.svc,.cluster.local,10.0.0.0/8")}),
    good("PRX003", "host-device", {**_DRIVER, **_PROXY, **_RANGES}),
    bad("PRX003", "host-device", {**_DRIVER, **_RANGES, **_except("localhost")}),
    bad("PRX003", "host-device",
        {**_DRIVER, **_RANGES, **_except("localhost,127.0.0.1,.svc,.cluster.local,10.0.0.0/20,10.96.0.0/12")}),
    bad("PRX003", "host-device", {**_DRIVER, **_PROXY, _ENV: [{"name": "DEBUG", "value": "1"}]}),
    irrelevant("PRX003", "host-device", {**_DRIVER, _ENV: [{"name": "DEBUG", "value": "1"}]}),
    irrelevant("PRX003", "host-device", {**_PROXY, _ENV: [{"name": "DEBUG", "value": "1"}]}),
)  # fmt: skip
