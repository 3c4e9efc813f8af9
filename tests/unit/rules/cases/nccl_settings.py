"""Cases of the group `nccl_settings`."""

from __future__ import annotations

from typing import Any

from rules.tables import bad, good, irrelevant

_RACK = {"cluster.pools[0].shape": "BM.GPU.GB300.4"}
_RAILS = "mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"


def _place(variable: str) -> str:
    return f"fabric.nccl.settings.{variable}"


def _told(**settings: Any) -> dict[str, Any]:
    return {_place(name): value for name, value in settings.items()}


CASES = (
    good("NCL010", "oke-h100-26-4", _told(NCCL_IB_TIMEOUT=23, NCCL_RAS_ENABLE=0)),
    good("NCL010", "oke-h100-26-4", _told(NCCL_NET_FORCE_FLUSH=1) | {"fabric.nccl.version": "2.30.7"}),
    bad("NCL010", "oke-h100-26-4", _told(NCCL_IB_TIMOUT=23), _place("NCCL_IB_TIMOUT")),
    bad("NCL010", "doks-h200", _told(nccl_ib_tc="104", MY_OWN="x"), _place("nccl_ib_tc"), _place("MY_OWN")),
    good("NCL020", "oke-h100-26-4", _told(NCCL_CROSS_NIC=2, NCCL_IB_RETRY_CNT=7, NCCL_IB_SL=15, NCCL_IB_TIMEOUT=31)),
    good(
        "NCL020", "oke-h100-26-4", _told(NCCL_IB_GID_INDEX=-1, NCCL_IB_TC="0xff", NCCL_DEBUG="warn", NCCL_ALGO="^tree")
    ),
    good("NCL020", "oke-h100-26-4", _told(NCCL_ALGO="ring,pat;allreduce:tree,nvlstree", NCCL_P2P_LEVEL=2)),
    *(
        bad("NCL020", "oke-h100-26-4", _told(**{name: value}), _place(name))
        for name, value in (
            ("NCCL_CROSS_NIC", 3),
            ("NCCL_CROSS_NIC", -1),
            ("NCCL_IB_RETRY_CNT", 8),
            ("NCCL_IB_QPS_PER_CONNECTION", 0),
            ("NCCL_IB_TIMEOUT", 32),
            ("NCCL_IB_TC", 256),
            ("NCCL_IB_TC", "0x100"),
            ("NCCL_IB_SL", 16),
            ("NCCL_IB_GID_INDEX", -2),
            ("NCCL_ALGO", "auto"),
            ("NCCL_ALGO", "ring;allreduce:treee"),
            ("NCCL_DEBUG", "DEBUG"),
            ("NCCL_PROTO", "LL64"),
            ("NCCL_P2P_LEVEL", "nvl"),
            ("NCCL_NET_GDR_LEVEL", "SYSS"),
            ("NCCL_SOCKET_NTHREADS", 0),
        )
    ),
    irrelevant("NCL020", "oke-h100-26-4", _told(NCCL_IB_TIMEOUT=0, MY_OWN=300)),
    good("NCL021", "oke-h100-26-4", _told(NCCL_IB_TC=41, RCCL_LOG_LEVEL=1)),
    bad("NCL021", "oke-h100-26-4", _told(LD_PRELOAD="x", PATH="/a"), _place("LD_PRELOAD"), _place("PATH")),
    bad("NCL021", "doks-h200", _told(NVIDIA_VISIBLE_DEVICES="all"), _place("NVIDIA_VISIBLE_DEVICES")),
    irrelevant("NCL021", "oke-h100-26-4"),
    irrelevant("NCL010", "oke-h100-26-4"),
    good("NCL011", "oke-h100-26-4", _told(NCCL_BUFFSIZE="8388608", NCCL_IB_TC="0x29", NCCL_IB_GID_INDEX=-1)),
    bad("NCL011", "oke-h100-26-4", _told(NCCL_BUFFSIZE="8MiB"), _place("NCCL_BUFFSIZE")),
    bad("NCL011", "oke-h100-26-4", _told(NCCL_PXN_DISABLE="yes"), _place("NCCL_PXN_DISABLE")),
    bad("NCL011", "doks-h200", _told(NCCL_IB_TC="0104"), _place("NCCL_IB_TC")),
    irrelevant("NCL011", "oke-h100-26-4", _told(NCCL_NET_PLUGIN="none")),
    good("NCL012", "oke-h100-26-4", _told(NCCL_IB_DISABLE=0, NCCL_NET="IB", NCCL_NET_GDR_LEVEL="SYS")),
    bad("NCL012", "oke-h100-26-4", _told(NCCL_IB_DISABLE=1), _place("NCCL_IB_DISABLE")),
    bad("NCL012", "ipoib", _told(NCCL_NET="socket"), _place("NCCL_NET")),
    bad("NCL012", "oke-h100-26-4", _told(NCCL_TOPO_FILE="/topo.xml"), _place("NCCL_TOPO_FILE")),
    bad("NCL012", "doks-h200", _told(NCCL_GRAPH_FILE="/graphs.xml"), _place("NCCL_GRAPH_FILE")),
    bad("NCL012", "oke-h100-26-4", _told(NCCL_CONF_FILE="/mine.conf"), _place("NCCL_CONF_FILE")),
    bad("NCL012", "oke-h100-26-4", _told(NCCL_NET_GDR_LEVEL="LOC"), _place("NCCL_NET_GDR_LEVEL")),
    bad("NCL012", "oke-h100-26-4", _told(NCCL_IB_TIMEOUT=0), _place("NCCL_IB_TIMEOUT")),
    irrelevant("NCL012", "oke-h100-26-4"),
    good("NCL013", "host-device", _told(NCCL_IB_HCA=f"={_RAILS}") | {"cluster.pools[0].shape": "BM.GPU.H200.8"}),
    good("NCL013", "oke-h100-26-4", _told(NCCL_IB_HCA="mlx5")),
    good("NCL013", "doks-h200", _told(NCCL_IB_HCA="=mlx5_0,mlx5_1")),
    bad(
        "NCL013",
        "host-device",
        _told(NCCL_IB_HCA=_RAILS) | {"cluster.pools[0].shape": "BM.GPU.H200.8"},
        _place("NCCL_IB_HCA"),
    ),
    bad(
        "NCL013",
        "host-device",
        _told(NCCL_IB_HCA="mlx5") | {"cluster.pools[0].shape": "BM.GPU.H200.8"},
        _place("NCCL_IB_HCA"),
    ),
    bad(
        "NCL013",
        "host-device",
        _told(NCCL_IB_HCA=f"={_RAILS.replace(',', ',=')}") | {"cluster.pools[0].shape": "BM.GPU.H200.8"},
        _place("NCCL_IB_HCA"),
    ),
    bad(
        "NCL013",
        "host-device",
        _told(NCCL_IB_HCA=f"={_RAILS},mlx5_12") | {"cluster.pools[0].shape": "BM.GPU.H200.8"},
        _place("NCCL_IB_HCA"),
    ),
    bad(
        "NCL013",
        "host-device",
        _told(NCCL_IB_HCA="=mlx5_0,mlx5_3") | {"cluster.pools[0].shape": "BM.GPU.H200.8"},
        _place("NCCL_IB_HCA"),
    ),
    bad("NCL013", "oke-h100-26-4", _told(NCCL_IB_HCA="=mlx5_0,mlx5_1"), _place("NCCL_IB_HCA")),
    bad("NCL013", "doks-h200", _told(NCCL_IB_HCA="mlx5_0,mlx5_1"), _place("NCCL_IB_HCA")),
    bad("NCL013", "host-device", {"fabric.nccl.settings.NCCL_IB_HCA": "==mlx5_0"}, "fabric.nccl.settings.NCCL_IB_HCA"),
    bad(
        "NCL013",
        "host-device",
        {"fabric.nccl.settings.NCCL_IB_HCA": "=mlx5_0,=mlx5_1"},
        "fabric.nccl.settings.NCCL_IB_HCA",
    ),
    bad("NCL013", "host-device", {"fabric.nccl.settings.NCCL_IB_HCA": "mlx5_1"}, "fabric.nccl.settings.NCCL_IB_HCA"),
    irrelevant("NCL013", "host-device"),
    good("NCL014", "oke-h100-26-4", _told(NCCL_SOCKET_IFNAME="=eth0")),
    bad("NCL014", "oke-h100-26-4", _told(NCCL_SOCKET_IFNAME="net"), _place("NCCL_SOCKET_IFNAME")),
    bad("NCL014", "doks-h200", _told(NCCL_SOCKET_IFNAME="^eth0"), _place("NCCL_SOCKET_IFNAME")),
    irrelevant("NCL014", "oke-h100-26-4"),
    good("NCL015", "oke-h100-26-4", _told(NCCL_IB_ADDR_FAMILY="AF_INET")),
    good("NCL015", "doks-b300", _told(NCCL_IB_ADDR_FAMILY="AF_INET6", NCCL_IB_ADDR_RANGE="fd02::/32")),
    bad("NCL015", "doks-b300", _told(NCCL_IB_ADDR_FAMILY="AF_INET"), _place("NCCL_IB_ADDR_FAMILY")),
    bad("NCL015", "oke-h100-26-4", _told(NCCL_IB_ADDR_FAMILY="ipv4"), _place("NCCL_IB_ADDR_FAMILY")),
    bad("NCL015", "oke-h100-26-4", _told(NCCL_IB_ADDR_RANGE="203.0.113.0/24"), _place("NCCL_IB_ADDR_RANGE")),
    bad("NCL015", "oke-h100-26-4", _told(NCCL_IB_ADDR_RANGE="fd02::/32"), _place("NCCL_IB_ADDR_RANGE")),
    irrelevant("NCL015", "doks-h200"),
    good("NCL016", "host-network", _RACK | _told(NCCL_MNNVL_ENABLE=0)),
    good("NCL016", "oke-h100-26-4", _told(NCCL_MNNVL_ENABLE=2)),
    bad("NCL016", "host-network", _RACK | _told(NCCL_MNNVL_ENABLE=1), _place("NCCL_MNNVL_ENABLE")),
    bad("NCL016", "host-network", _RACK | _told(NCCL_MNNVL_ENABLE=2), _place("NCCL_MNNVL_ENABLE")),
    bad("NCL016", "oke-h100-26-4", _told(NCCL_MNNVL_ENABLE=1), _place("NCCL_MNNVL_ENABLE")),
    irrelevant("NCL016", "oke-h100-26-4"),
    good("NCL017", "oke-h100-26-4", _told(NCCL_DEBUG="WARN", NCCL_CROSS_NIC=0)),
    bad(
        "NCL017",
        "oke-h100-26-4",
        _told(NCCL_DEBUG="INFO", NCCL_ALGO="Ring", NCCL_CROSS_NIC=1, UCX_TLS="tcp", RCCL_MSCCL_ENABLE=0),
        *(_place(name) for name in ("NCCL_DEBUG", "NCCL_ALGO", "NCCL_CROSS_NIC", "UCX_TLS", "RCCL_MSCCL_ENABLE")),
    ),
    bad("NCL017", "ib-sriov", _told(NCCL_IB_GID_INDEX=3), _place("NCCL_IB_GID_INDEX")),
    bad("NCL017", "roce-macvlan", _told(NCCL_IB_GID_INDEX=3), _place("NCCL_IB_GID_INDEX")),
    good("NCL017", "doks-mi325x", _told(RCCL_MSCCL_ENABLE=0)),
    irrelevant("NCL017", "oke-h100-26-4"),
    good("NCL018", "oke-h100-26-4", _told(NCCL_IB_TC=41, NCCL_IB_RETRY_CNT=7)),
    bad("NCL018", "oke-h100-26-4", _told(NCCL_IB_TC=104), _place("NCCL_IB_TC")),
    irrelevant("NCL018", "doks-h200", _told(NCCL_IB_TC=104)),
    good("NCL019", "oke-h100-26-4", {"fabric.nccl.version": "2.18.3"}),
    good("NCL019", "oke-h100-26-4", _told(NCCL_IB_ADDR_FAMILY="AF_INET")),
    bad("NCL019", "oke-h100-26-4", {"fabric.nccl.version": "2.17.1"}, *["fabric.nccl.version"] * 2),
    bad(
        "NCL019",
        "oke-h100-26-4",
        _told(NCCL_IB_ADDR_FAMILY="AF_INET") | {"fabric.nccl.version": "2.20.5"},
        _place("NCCL_IB_ADDR_FAMILY"),
    ),
    bad("NCL019", "oke-h100-26-4", _told(NCCL_IB_EVENT_BASED_LB=1), _place("NCCL_IB_EVENT_BASED_LB")),
    bad(
        "NCL019",
        "oke-h100-26-4",
        _told(NCCL_SHM_MEMCPY_MODE=1) | {"fabric.nccl.version": "2.30.7"},
        _place("NCCL_SHM_MEMCPY_MODE"),
    ),
    good("NCL019", "oke-h100-26-4", _told(NCCL_SHM_MEMCPY_MODE=1) | {"fabric.nccl.version": "2.30.4"}),
    good("NCL022", "doks-b300", {"fabric.nccl.version": "2.30.3"}),
    good("NCL022", "doks-b300", {"fabric.nccl.version": "2.28.9"}),
    good("NCL022", "doks-b300", {"fabric.nccl.version": "2.29.7"} | _told(NCCL_ALGO="^NVLSTree")),
    good("NCL022", "doks-b300", {"fabric.nccl.version": "2.29.7"} | _told(NCCL_ALGO="Ring;allreduce:ring,tree")),
    good("NCL022", "oke-h100-26-4", {"fabric.nccl.version": "2.29.7"}),
    bad("NCL022", "doks-b300", {"fabric.nccl.version": "2.29.2"}, "fabric.nccl.version"),
    bad("NCL022", "doks-b300", {"fabric.nccl.version": "2.30.1"}, "fabric.nccl.version"),
    bad(
        "NCL022",
        "doks-b300",
        {"fabric.nccl.version": "2.29.7"} | _told(NCCL_ALGO="ring;allreduce:nvlstree,ring"),
        "fabric.nccl.version",
    ),
    irrelevant("NCL022", "doks-b300"),
    irrelevant("NCL019", "guide-23-10", {"fabric.nccl.settings": {"NCCL_IB_EVENT_BASED_LB": 1}}),
    good("NCL023", "oke-h100-26-4", {"fabric.resilience": "port-failover", "fabric.nccl.version": "2.29.7"}),
    good("NCL023", "doks-b300", {"fabric.resilience": "ride-out-flaps"}),
    bad("NCL023", "doks-h200", {"fabric.resilience": "port-failover"}, "fabric.resilience"),
    bad("NCL023", "spiderpool-sriov", {"fabric.resilience": "port-failover"}, "fabric.resilience"),
    bad(
        "NCL023",
        "oke-h100-26-4",
        {"fabric.resilience": "port-failover"} | _told(NCCL_IB_MERGE_NICS="0"),
        _place("NCCL_IB_MERGE_NICS"),
    ),
    irrelevant("NCL023", "oke-h100-26-4"),
    good("NCL024", "oke-h100-26-4", {"fabric.resilience": "port-failover", "fabric.nccl.version": "2.29.7"}),
    good("NCL024", "oke-h100-26-4", {"fabric.resilience": "fail-fast", "fabric.nccl.version": "2.20"}),
    bad(
        "NCL024",
        "oke-h100-26-4",
        {"fabric.resilience": "port-failover", "fabric.nccl.version": "2.29.6"},
        "fabric.resilience",
    ),
    irrelevant("NCL024", "oke-h100-26-4", {"fabric.nccl.version": "2.20"}),
    good("NCL025", "oke-h100-26-4"),
    bad("NCL025", "host-network", _RACK, "cluster.pools"),
    irrelevant("NCL025", "host-network", {"cluster.pools[0].shape": "BM.GPU.B300.8"}),
)
