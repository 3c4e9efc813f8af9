"""Cases of the rules about schedulers."""

from __future__ import annotations

from rules.tables import RuleCase, bad, good, irrelevant

_SCHEDULERS = "software.schedulers"
_VOLCANO, _KUEUE = f"{_SCHEDULERS}.volcano", f"{_SCHEDULERS}.kueue"
_MPI, _JOB_SET = f"{_SCHEDULERS}.mpiOperator", f"{_SCHEDULERS}.jobSet"
_LEVEL = f"{_KUEUE}.topology[0]"

_KUEUE_ALONE = {"software.schedulers.kueue": {}}

CASES: tuple[RuleCase, ...] = (
    good("SCH001", "host-device", {_VOLCANO: {}}),
    good("SCH001", "host-device", {_VOLCANO: {}, "cluster.installed": ["prometheus-operator"]}),
    good("SCH001", "host-device", {_KUEUE: {}, "cluster.installed": ["mpi-operator", "job-set"]}),
    good("SCH001", "host-device", {_VOLCANO: {"install": False}, "cluster.installed": ["volcano"]}),
    bad("SCH001", "host-device", {_VOLCANO: {}, "cluster.installed": ["volcano"]}, _VOLCANO),
    bad("SCH001", "guide-23-10", {_VOLCANO: {"queue": "training"}, "cluster.installed": ["volcano"]}, _VOLCANO),
    bad("SCH001", "host-device", {_KUEUE: {}, _MPI: {}, _JOB_SET: {},
        "cluster.installed": ["kueue", "mpi-operator", "job-set"]}, _KUEUE, _MPI, _JOB_SET),
    irrelevant("SCH001", "host-device", {"cluster.installed": ["volcano"]}),
    good("SCH002", "host-device", {_KUEUE: {}, _MPI: {}, _JOB_SET: {}}),
    good("SCH002", "host-device", {_VOLCANO: {}, _MPI: {}}),
    bad("SCH002", "host-device", {_KUEUE: {}, _VOLCANO: {}}),
    bad("SCH002", "host-device", {_KUEUE: {}, "cluster.installed": ["volcano"]}, _KUEUE),
    bad("SCH002", "host-device", {_VOLCANO: {}, "cluster.installed": ["kueue"]}, _VOLCANO),
    # What a cluster has is not this stack's to change.
    irrelevant("SCH002", "host-device", {"cluster.installed": ["kueue", "volcano"]}),
    good("SCH003", "host-device", {_KUEUE: {"topology": ["kubernetes.io/hostname"]}}),
    good("SCH003", "spiderpool-macvlan", {_KUEUE: {"topology": "none"}}),
    bad("SCH003", "spiderpool-macvlan", {_KUEUE: {"topology": ["kubernetes.io/hostname"]},
        "cluster.pools[0].labels": {}}, f"{_KUEUE}.topology"),
    irrelevant("SCH003", "host-device", {_VOLCANO: {}}),
    good("SCH004", "host-device", {_KUEUE: {"topology": ["oci.oraclecloud.com/rdma.local_block_id"]}}),
    bad("SCH004", "spiderpool-macvlan", {_KUEUE: {"topology": ["oci.oraclecloud.com/rdma.local_block_id",
        "kubernetes.io/hostname"]}, "cluster.pools[0].labels": {"pool": "gpu"}}, _LEVEL),
    irrelevant("SCH004", "spiderpool-macvlan", {_KUEUE: {}}),
    good("SCH005", "host-device", {_KUEUE: {"topology": ["kubernetes.io/hostname"]}}),
    good("SCH005", "host-device", {_KUEUE: {"topology": ["example.com/leaf"]},
        "cluster.pools[0].labels": {"example.com/leaf": "a"}}),
    bad("SCH005", "host-device", {_KUEUE: {"topology": ["example.com/leaf", "kubernetes.io/hostname"]}},
        ".topology[0]"),
    bad("SCH005", "host-device", {_KUEUE: {"topology": ["topology.kubernetes.io/zone"]}}, ".topology[0]"),
    irrelevant("SCH005", "host-device", {_KUEUE: {"topology": "none"}}),
    good("SCH006", "host-device", {_KUEUE: {"quotas": {"nvidia.com/gpu": "8", "cpu": "512"}}}),
    bad("SCH006", "host-device", {_KUEUE: {"quotas": {"nvidia.com/gpu": "7", "nvidia.com/rail_00": "0"}}},
        ".quotas.nvidia.com/gpu", ".quotas.nvidia.com/rail_00"),
    irrelevant("SCH006", "host-device", {_VOLCANO: {}}),
    good("SCH007", "host-device", {_KUEUE: {}, "cluster.pools[0].labels": {f"label-{n}": "a" for n in range(7)}}),
    bad("SCH007", "host-device", {_KUEUE: {}, "cluster.pools[0].labels": {f"label-{n}": "a" for n in range(8)}},
        _KUEUE),
    bad("SCH007", "host-device", {_KUEUE: {"quotas": {f"example.com/part-{n}": "1" for n in range(61)}},
        "cluster.pools[0].taints": [{"key": f"taint-{n}"} for n in range(9)]}, _KUEUE, _KUEUE),
    irrelevant("SCH007", "host-device", {"cluster.pools[0].labels": {f"label-{n}": "a" for n in range(9)}}),
    good("SCH008", "dev", {"software.schedulers.kueue": {"quotas": {"nvidia.com/gpu": "24", "cpu": "99999"}}}),
    bad("SCH008", "dev", {"software.schedulers.kueue": {"quotas": {"nvidia.com/gpu": "25"}}}, ".quotas.nvidia.com/gpu"),
    irrelevant("SCH008", "dev", {"software.schedulers.kueue": {}}),
    bad("SCH009", "kueue", {}, "software.schedulers.kueue.topology"),
    # Oracle's own machines of an RDMA network have a topology without being asked.
    bad("SCH009", "oke-h100-26-4", _KUEUE_ALONE, ".topology"),
    good("SCH009", "kueue", {"software.schedulers.kueue.topology": "none"}),
    good("SCH009", "dev", _KUEUE_ALONE),
    irrelevant("SCH009", "dev"),
)  # fmt: skip
