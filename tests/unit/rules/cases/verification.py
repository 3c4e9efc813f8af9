"""Cases of the group `verification`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_SECTION = "verification"
_ON = {"enabled": True, "image": "registry.example/nccl-tests:1"}


def _on(**changes: object) -> dict[str, object]:
    return {_SECTION: {**_ON, **changes}}


CASES = (
    good("VFY001", "host-device", _on()),
    bad("VFY001", "host-device", {_SECTION: {"enabled": True}}, ".image"),
    irrelevant("VFY001", "host-device"),
    good("VFY002", "host-device", {**_on(launcher="volcano"), "software.schedulers.volcano": {}}),
    good("VFY002", "host-device", {**_on(launcher="volcano"), "cluster.installed": ["volcano"]}),
    good("VFY002", "host-device", {**_on(launcher="mpi-operator"), "software.schedulers.mpiOperator": {}}),
    bad("VFY002", "host-device", _on(launcher="volcano"), ".launcher"),
    bad("VFY002", "doks-h200", _on(launcher="mpi-operator"), ".launcher"),
    irrelevant("VFY002", "host-device", _on()),
    irrelevant("VFY002", "host-device", {_SECTION: {"launcher": "volcano"}}),
    good("VFY003", "host-device", _on(nodes=4)),
    bad("VFY003", "host-device", _on(nodes=9999), ".nodes"),
    bad("VFY003", "host-device", _on(nodes=5, bar=300.0), ".nodes"),
    bad("VFY003", "host-device", {**_on(), "cluster.pools[0].nodes": 1}, "verification.enabled"),
    irrelevant("VFY003", "host-device", {"cluster.pools[0].nodes": 1}),
    good("VFY004", "dev", _on()),
    good("VFY004", "doks-mi325x", _on(bar=300.0)),
    bad("VFY004", "doks-mi325x", _on(), ".bar"),
    irrelevant("VFY004", "doks-mi325x"),
    good("VFY005", "ipoib", _on()),
    bad("VFY005", "spiderpool-ipoib", _on(), ".enabled"),
    bad("VFY005", "sriov-dpdk", _on(), ".enabled"),
    irrelevant("VFY005", "spiderpool-ipoib"),
    good("VFY006", "dev", _on(railBar=20.5)),
    bad("VFY006", "dev", _on(railBar=20.5, perRail=False), ".railBar"),
    irrelevant("VFY006", "dev", _on(perRail=False)),
    good("VFY007", "dev", _on(bar=390, railBar=24)),
    bad("VFY007", "dev", _on(bar=5000), ".bar"),
    bad("VFY007", "dev", _on(railBar=50.1), ".railBar"),
    irrelevant("VFY007", "dev", {_SECTION: {"bar": 5000}}),
    irrelevant("VFY007", "doks-mi325x", _on(bar=90000)),
    good("VFY008", "dev", _on(program="/opt/bin/all_reduce_perf_mpi")),
    good("VFY008", "dev", _on(program="/opt/bin/measure.sh")),
    bad("VFY008", "dev", _on(program="sendrecv_perf"), ".program"),
    bad("VFY008", "dev", _on(program="/opt/all_gather_perf_mpi", bar=300), ".program"),
    irrelevant("VFY008", "dev", {_SECTION: {"program": "sendrecv_perf"}}),
    good("VFY009", "dev", _on(schedule="17 */4 * * *")),
    bad("VFY009", "dev", {_SECTION: {"schedule": "17 3 * * *"}}, ".schedule"),
    bad("VFY009", "dev", {**_on(launcher="volcano", schedule="17 3 * * *"), "software.schedulers.volcano": {}},
        "verification.schedule"),
    bad("VFY009", "dev", {"verification": {"enabled": False, "schedule": "* * * * *"}}, ".schedule"),
    irrelevant("VFY009", "dev", _on()),
)  # fmt: skip
