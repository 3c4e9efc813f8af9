"""Faults of a run: what is spoilt in a healthy result or log, the rule that has to name it, and words of the reason."""

from collections.abc import Callable
from typing import Any, NamedTuple

from verdict_results import GIB, healthy, measurement

from gpu_fabric.nccl.busbw import Operation


class Fault(NamedTuple):
    """One fault of a result."""

    name: str
    spoil: Callable[[dict[str, Any]], Any]
    rule: str
    words: tuple[str, ...]


def _row(document: dict[str, Any], number: int = -1, column: str = "out_of_place") -> dict[str, Any]:
    found: dict[str, Any] = document["results"][number][column]
    return found


def _speed(busbw: float, column: str = "out_of_place", key: str | None = None) -> Callable[[dict[str, Any]], Any]:
    """The largest row measured slower, in all its figures or in one."""

    def spoil(document: dict[str, Any]) -> None:
        slow = measurement(8 * GIB, busbw, 16, Operation.ALL_REDUCE)
        _row(document, column=column).update(slow if key is None else {key: slow[key]})

    return spoil


def _put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], Any]:
    def spoil(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return spoil


def _drop(*path: str | int) -> Callable[[dict[str, Any]], Any]:
    def spoil(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return spoil


def _run(program: str) -> Callable[[dict[str, Any]], Any]:
    return _put("args", 0, value=f"/opt/{program}")


def _env(*entries: str) -> Callable[[dict[str, Any]], Any]:
    return _put("env", value=["HOME=/root", *entries])


def _one_node(document: dict[str, Any]) -> None:
    for device in document["config"]["devices"]:
        device["hostname"] = "worker-0"
        device["device_hex"] = f"0000:{device['rank']:02x}:00"


def _moved_rank(document: dict[str, Any]) -> None:
    document["config"]["devices"][15].update(hostname="worker-0", device=8, device_hex="0000:ff:00")


def _split(document: dict[str, Any]) -> None:
    for device in document["config"]["devices"]:
        device["group"] = device["rank"] % 8


def _seven_gpus(document: dict[str, Any]) -> None:
    document["config"]["devices"] = healthy(gpus=7)["config"]["devices"]


def _options(*words: str) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document["args"].extend(words)


def _speed_of_all(busbw: float) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document.update(healthy(busbw))


def _four_nodes(*env: str) -> Callable[[dict[str, Any]], Any]:
    """As fast as five and a half of eight NICs make it with half of the data on the wire."""
    return lambda document: document.update(healthy(380.0, nodes=4, env=env))


def _further_row(size: int) -> Callable[[dict[str, Any]], Any]:
    def spoil(document: dict[str, Any]) -> None:
        values = measurement(size, 388.0, 16, Operation.ALL_REDUCE)
        document["results"].append({**document["results"][3], "size": size, "out_of_place": values, "in_place": values})

    return spoil


def _cpu_time(document: dict[str, Any]) -> None:
    column = _row(document)
    column["cpu_time"] = column.pop("time")


_DEVICES = ("config", "devices")
_RING = "NCCL_ALGO=RING"

FAULTS = (
    Fault("no end time", _drop("end_time"), "VER001", ("stops before the end",)),
    Fault("end time null", _put("end_time", value=None), "VER001", ("stops before the end",)),
    Fault("an error of NCCL", _put("errors", value=["unhandled system error"]), "VER002", ("unhandled system error",)),
    Fault("its own bar missed", _put("average_bus_bandwidth", "okay", value="false"), "VER003", ("NCCL_TESTS_MIN_BW",)),
    Fault("all-gather instead", _run("all_gather_perf"), "VER004", ("all_gather_perf ran", "all_reduce_perf")),
    Fault("reduce-scatter instead", _run("reduce_scatter_perf"), "VER004", ("reduce_scatter_perf ran",)),
    Fault("all-to-all instead", _run("alltoall_perf"), "VER004", ("alltoall_perf ran",)),
    Fault("broadcast instead", _run("broadcast_perf"), "VER004", ("broadcast_perf ran",)),
    Fault("another program", _run("my_test"), "VER004", ("my_test ran",)),
    Fault("no program", _put("args", value=[]), "VER004", ("unnamed program",)),
    Fault("ranks in groups", _split, "VER005", ("8 groups",)),
    Fault("free algorithm", _env(), "VER006", ("NCCL_ALGO is not set", "fewer than 4 nodes")),
    Fault("tree", _env("NCCL_ALGO=Tree"), "VER006", ("NCCL_ALGO is Tree",)),
    Fault("ring or tree", _env("NCCL_ALGO=Ring,Tree"), "VER006", ("NCCL_ALGO is Ring,Tree",)),
    Fault("all but ring", _env("NCCL_ALGO=^Ring"), "VER006", ("NCCL_ALGO is ^Ring",)),
    Fault("RDMA disabled", _env(_RING, "NCCL_IB_DISABLE=1"), "VER007", ("NCCL_IB_DISABLE=1",)),
    Fault("RDMA disabled by another number", _env(_RING, "NCCL_IB_DISABLE=2"), "VER007", ("NCCL_IB_DISABLE=2",)),
    Fault("sockets chosen", _env(_RING, "NCCL_NET=Socket"), "VER007", ("NCCL_NET=Socket",)),
    Fault("one node", _one_node, "VER008", ("1 nodes took part", "worker-0")),
    Fault("no devices", _put(*_DEVICES, value=[]), "VER008", ("0 nodes took part",)),
    Fault("a rank on the other node", _moved_rank, "VER009", ("node worker-1", "7 ranks; the shape has 8")),
    Fault("a GPU of each node idle", _seven_gpus, "VER009", ("node worker-0", "7 ranks; the shape has 8")),
    Fault("a rank missing", _drop(*_DEVICES, 15), "VER009", ("node worker-1", "7 ranks")),
    Fault("a rank twice", _put(*_DEVICES, 15, "rank", value=14), "VER010", ("rank 15",)),
    Fault("two ranks on a GPU", _put(*_DEVICES, 9, "device_hex", value="0000:00:00"), "VER010",
        ("node worker-1", "ranks 8, 9", "same GPU")),
    Fault("no rows", _put("results", value=[]), "VER011", ("there is none at all",)),
    Fault("no list of rows", _drop("results"), "VER011", ("there is none at all",)),
    Fault("largest row missing", _drop("results", 3), "VER011", ("the largest has 4294967296 bytes",)),
    Fault("sizes too small", _put("results", 3, "size", value=8 * GIB - 1024), "VER011", ("8589933568",)),
    Fault("first row missing", _drop("results", 0), "VER012", ("size 1073741824",)),
    Fault("a row between missing", _drop("results", 2), "VER012", ("size 4294967296",)),
    Fault("sweep cut short", _put("config", "maximum_bytes", value=16 * GIB), "VER012", ("size 17179869184",)),
    Fault("out of place null", _put("results", 3, "out_of_place", value=None), "VER013",
        ("no bandwidth out of place",)),
    Fault("no out of place", _drop("results", 3, "out_of_place"), "VER013", ("no bandwidth out of place",)),
    Fault("no in place", _drop("results", 3, "in_place"), "VER013", ("no bandwidth in place",)),
    Fault("bandwidth not a number", _put("results", 3, "out_of_place", "bus_bw", value="nan"), "VER013",
        ("8589934592",)),
    Fault("algorithm bandwidth missing", _drop("results", 3, "in_place", "alg_bw"), "VER013", ("in place",)),
    Fault("a small row without bandwidth", _drop("results", 0, "in_place", "bus_bw"), "VER013", ("size 1073741824",)),
    Fault("wrong values", _put("results", 3, "out_of_place", "nwrong", value=3.0), "VER014", ("3 wrong values",)),
    Fault("wrong in place", _put("results", 3, "in_place", "nwrong", value=1.0), "VER014",
        ("1 wrong values in place",)),
    Fault("wrong in a small row", _put("results", 0, "in_place", "nwrong", value=2), "VER014", ("size 1073741824",)),
    Fault("out of bounds", _put("out_of_bounds", "count", value=5), "VER014", ("5 values out of bounds",)),
    Fault("out of bounds not okay", _put("out_of_bounds", "okay", value="false"), "VER014", ("out of bounds",)),
    Fault("values not compared", _put("results", 3, "out_of_place", "nwrong", value=None), "VER015", ("not compared",)),
    Fault("validation off", _put("config", "validation", value=0), "VER015", ("not compared",)),
    Fault("no out-of-bounds count", _drop("out_of_bounds"), "VER015", ("not compared",)),
    Fault("TCP", _speed(3.76), "VER016", ("3.76 GB/s", "sockets")),
    Fault("TCP in place", _speed(3.76, "in_place"), "VER016", ("3.76 GB/s",)),
    Fault("half the NICs", _speed(192.0), "VER017", ("192.00 GB/s is below the bar of 368 GB/s",)),
    Fault("just below", _speed(367.9), "VER017", ("367.90 GB/s is below the bar of 368 GB/s",)),
    Fault("slow in place", _speed(300.0, "in_place"), "VER017", ("300.00 GB/s",)),
    Fault("bus bandwidth alone low", _speed(300.0, key="bus_bw"), "VER017", ("300.00 GB/s",)),
    Fault("algorithm bandwidth alone low", _speed(200.0, key="alg_bw"), "VER017", ("200.20 GB/s",)),
    Fault("time alone long", _speed(200.0, key="time"), "VER017", ("200.20 GB/s",)),
    Fault("no time", _drop("results", 3, "out_of_place", "time"), "VER013", ("no time out of place",)),
    Fault("time of nothing", _put("results", 3, "in_place", "time", value=0), "VER013", ("no time in place",)),
    Fault("negative time", _put("results", 3, "in_place", "time", value=-5.0), "VER013", ("no time in place",)),
    Fault("time not a number", _put("results", 0, "in_place", "time", value="nan"), "VER013", ("size 1073741824",)),
    Fault("the CPU's time instead", _cpu_time, "VER013", ("no time out of place",)),
    Fault("more than the rails carry", _speed_of_all(800.0), "VER019", ("800.00 GB/s is more than", "400 GB/s")),
    Fault("far more than the rails carry", _speed_of_all(1e5), "VER019", ("100000.00 GB/s is more than",)),
    Fault("the ring is second in the environment", _env("NCCL_ALGO=Tree", _RING), "VER006", ("NCCL_ALGO is Tree",)),
    Fault("rings for another operation", _env("NCCL_ALGO=allgather:ring;allreduce:tree"), "VER006", ("on fewer than",)),
    Fault("a ring only by default", _env("NCCL_ALGO=ring;allreduce:tree,collnetdirect"), "VER006",
        ("switches add up",)),
    Fault("reduction in the switches", _four_nodes("NCCL_COLLNET_ENABLE=1"), "VER006", ("switches add up",)),
    Fault("chains of the switches", _four_nodes("NCCL_ALGO=CollnetChain"), "VER006", ("switches add up",)),
    Fault("a size beyond the sweep", _further_row(16 * GIB), "VER029", ("17179869184 bytes", "not started for")),
    Fault("a size before the sweep", _further_row(GIB // 2), "VER029", ("536870912 bytes",)),
    Fault("a size between those of the sweep", _further_row(3 * GIB), "VER029", ("3221225472 bytes",)),
    *(Fault(f"the fastest rank, {' '.join(words)}", _options(*words), "VER030", ("fastest rank",))
        for words in (("-a", "2"), ("-a2",), ("--average", "2"), ("--average=2",), ("--av", "2"),
            ("-a", "1", "-a", "2"))),
    Fault("one iteration", _options("-n", "1", "-w", "0"), "VER030", ("average of 1 iterations",)),
    Fault("four iterations", _options("--iters=4"), "VER030", ("average of 4 iterations",)),
    Fault("a row of one iteration", _put("results", 3, "actual_iterations", value=1), "VER030", ("of 1 iterations",)),
    Fault("negative bandwidth", _put("results", 3, "out_of_place", "bus_bw", value=-388.0), "VER016", ("-388.00",)),
)  # fmt: skip
