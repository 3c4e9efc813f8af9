"""What nccl-tests and NCCL would have written in a run, as the launcher's script hands it over.

Pure functions, but that the script itself is asked which pairs of nodes meet.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from gpu_fabric.nccl.busbw import Operation, bus_factor
from gpu_fabric.nccl.log_lines import Writer
from gpu_fabric.nccl.verdict.point_to_point import neighbours
from gpu_fabric.on_nodes import FOLDER
from gpu_fabric.workloads.verification import POINT_TO_POINT
from .run import Ailment, PlayedNode, PlayedRun

GIB = 1 << 30
# Bytes; the script's own.
_PART = 3900
_MOST_ROUNDS = 16
# Of UCX's test program since 1.12 (source: openucx/ucx v1.22.0, src/tools/perf/perftest_run.c).
_UCX_HEADING = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
# The newest release whose lines are known whole.
_NCCL = Writer("2.30.7")


def messages(run: PlayedRun, pods: int) -> list[str]:
    """The termination messages of the pods, the launcher's first; an error in it where they have no room."""
    text = base64.b64encode(_packed(files(run))).decode()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
    if len(parts) > pods:
        return [f"gpu-fabric error: the results take {len(parts)} messages of {_PART} bytes, and there are {pods} pods"]
    return [f"gpu-fabric {number}/{len(parts)} {digest}\n{part}" for number, part in enumerate(parts, start=1)]


def files(run: PlayedRun) -> dict[str, str]:
    """Every file of the run by name."""
    found = {
        "nodes": "".join(f"{node.host} {node.name}\n" for node in run.nodes),
        "rails": "".join(f"{rail}\n" for rail in run.rails),
    }
    for rail in run.rails:
        found |= _by_itself(run, f"rail-{rail}", rail, run.nodes, together=True)
    for rail in filter(partial(_is_bad, run, nodes=run.nodes, together=True), run.rails):
        found |= _by_itself(run, f"alone-{rail}", rail, run.nodes)
        if len(run.nodes) > 2 and _is_bad(run, rail, run.nodes):
            found |= _tournament(run, rail, found.get("pairs", ""))
    if run.ucx_options is not None:
        found[POINT_TO_POINT] = "".join(f"{line}\n" for line in _point_to_point(run, run.ucx_options))
    corrupt = any(Ailment.CORRUPT in node.ailments.values() for node in run.nodes)
    sizes = tuple(GIB << power for power in range(4))
    found["all.json"] = _result(run, run.nodes, run.gpus, sizes, run.bandwidth, corrupt=corrupt)
    found["all.log"] = "".join(f"{line}\n" for line in _log(run, run.nodes, run.gpus, range(run.all_rails)))
    return found


def history_line(run: PlayedRun, job: str, time: str, bar: float) -> dict[str, Any]:
    """The entry that the launcher of a scheduled run writes into the history."""
    slow = [rail for rail in run.rails if _is_bad(run, rail, run.nodes, together=True)]
    corrupt = any(Ailment.CORRUPT in node.ailments.values() for node in run.nodes)
    return {
        "time": time,
        "job": job,
        "passed": not slow and not corrupt and run.bandwidth >= bar,
        "measured": round(run.bandwidth, 6),
        "rails": {str(rail): round(run.rail_bandwidth(rail, run.nodes, together=True), 6) for rail in run.rails},
        "slowRails": slow,
        "nodes": [node.name for node in run.nodes],
    }


def latest(run: PlayedRun) -> str:
    """The results of a scheduled run, in Base64."""
    return base64.b64encode(_packed(files(run))).decode()


def _is_bad(run: PlayedRun, rail: int, nodes: Sequence[PlayedNode], *, together: bool = False) -> bool:
    ailments = {node.ailments.get(rail) for node in nodes}
    return (
        bool(ailments & {Ailment.MISSING, Ailment.CORRUPT})
        or run.rail_bandwidth(rail, nodes, together=together) < run.rail_bar
    )


def _tournament(run: PlayedRun, rail: int, before: str) -> dict[str, str]:
    """The rounds of pairs of nodes on a rail, as the script itself chooses them; `before` has those of other rails."""
    found: dict[str, str] = {}
    met: list[str] = []
    for number in range(1, _MOST_ROUNDS + 1):
        pairs = _next_pairs(len(run.nodes), number, tuple(met))
        if not pairs:
            break
        for first, second in pairs:
            nodes = (run.nodes[first], run.nodes[second])
            bad = _is_bad(run, rail, nodes)
            met.append(f"{first} {second} {'bad' if bad else 'good'}")
            if bad:
                found |= _by_itself(run, f"pair-{rail}-{first}-{second}", rail, nodes)
    return {**found, "pairs": before + "".join(f"{rail} {line}\n" for line in met)}


@lru_cache(maxsize=256)
def _next_pairs(nodes: int, number: int, met: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    command = ["bash", str(FOLDER / "verification.sh"), "pairs", str(nodes), str(number)]
    said = subprocess.run(command, input="".join(f"{line}\n" for line in met), stdout=-1, text=True, check=True).stdout
    return tuple((int(first), int(second)) for first, second in map(str.split, said.splitlines()))


def _point_to_point(run: PlayedRun, options: str) -> Iterator[str]:
    """What UCX would measure between neighbours; its program compares no values, and has no sockets to take."""
    words = options.split()
    size, number = (int(words[words.index(option) + 1]) for option in ("-s", "-n"))
    for rail, (source, target) in ((rail, ends) for rail in run.rails for ends in neighbours(len(run.nodes))):
        nodes = (run.nodes[source], run.nodes[target])
        start = f"{rail} {source} {target}"
        device = f"rdma{rail}"
        missing = [node for node in nodes if node.ailments.get(rail) is Ailment.MISSING]
        if missing:
            device = "-" if nodes[0] in missing else device
            name = missing[0].name
            yield f"{start} {device} failed rail {rail}: no RDMA device behind its interface on node {name}"
        elif any(node.ailments.get(rail) is Ailment.SOCKETS for node in nodes):
            yield f"{start} {device} failed no usable transports/devices (asked rc on network:{device}:1 )"
        else:
            mib = run.rail_bandwidth(rail, nodes, together=True) * 1e9 / (1 << 20)
            time, rate = size / (mib * (1 << 20)) * 1e6, mib * (1 << 20) / size
            row = f"{number},{time:.3f},{time:.3f},{time:.3f},{mib:.2f},{mib:.2f},{rate:.0f},{rate:.0f}"
            yield f"{start} {device} {_UCX_HEADING} {row}"


def _by_itself(
    run: PlayedRun, name: str, rail: int, nodes: Sequence[PlayedNode], *, together: bool = False
) -> dict[str, str]:
    """One rail, one GPU a node."""
    without = [node for node in nodes if node.ailments.get(rail) is Ailment.MISSING]
    if without:
        said = [f"gpu-fabric: rail {rail}: no RDMA device behind its interface on node {node.name}" for node in without]
        lines = [*said, f"gpu-fabric: {name} ended with status 1"]
        return {f"{name}.log": "".join(f"{line}\n" for line in lines)}
    corrupt = any(node.ailments.get(rail) is Ailment.CORRUPT for node in nodes)
    bandwidth = run.rail_bandwidth(rail, nodes, together=together)
    return {
        f"{name}.json": _result(run, nodes, 1, (GIB,), bandwidth, corrupt=corrupt),
        f"{name}.log": "".join(f"{line}\n" for line in _log(run, nodes, 1, (rail,))),
    }


def _result(
    run: PlayedRun, nodes: Sequence[PlayedNode], gpus: int, sizes: Sequence[int], busbw: float, *, corrupt: bool
) -> str:
    """A result file of `-J`, format 2, with no more of the environment than the script leaves."""
    ranks = len(nodes) * gpus
    algbw = busbw / bus_factor(Operation.ALL_REDUCE, ranks)
    wrong = 12.0 if corrupt else 0.0
    document: dict[str, Any] = {
        "version": 2,
        "start_time": "2026-01-01 00:00:00",
        "args": [run.program, "-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", "2", "-g", "1", "-c", "1"],
        "env": [f"{name}={value}" for name, value in sorted(run.settings.items()) if name.startswith("NCCL_")],
        "nccl_version": 23007,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": sizes[0],
            "maximum_bytes": sizes[-1],
            "step_factor": 2,
            "validation": 1,
            "devices": [_device(rank, nodes[rank // gpus].host, rank % gpus) for rank in range(ranks)],
        },
        "results": [_row(size, algbw, busbw, wrong) for size in sizes],
        "out_of_bounds": {"count": int(wrong), "okay": "false" if corrupt else "true"},
        "average_bus_bandwidth": {"bandwidth": round(busbw, 6), "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-01-01 00:01:00",
    }
    return json.dumps(document, separators=(",", ":"))


def _device(rank: int, host: str, gpu: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "group": 0,
        "pid": 100 + rank,
        "hostname": host,
        "device": gpu,
        "device_hex": f"0000:{gpu:02x}:00",
        "device_info": "simulated",
    }


def _row(size: int, algbw: float, busbw: float, wrong: float) -> dict[str, Any]:
    measurement = {
        "time": round(size / max(algbw, 1e-9) / 1000, 6),
        "alg_bw": round(algbw, 6),
        "bus_bw": round(busbw, 6),
        "nwrong": wrong,
    }
    return {"size": size, "out_of_place": measurement, "in_place": measurement}


def _log(run: PlayedRun, nodes: Sequence[PlayedNode], gpus: int, rails: Sequence[int]) -> Iterator[str]:
    """NCCL's lines as far as the script keeps them; two rails of a GPU are the ports of one adapter, which it fuses."""
    fuses = len(rails) == 2 * gpus
    for place, node in enumerate(nodes):
        line = partial(_NCCL.line, host=node.host)
        used = [rail for rail in rails if node.ailments.get(rail) is not Ailment.MISSING]
        if any(node.ailments.get(rail) is Ailment.SOCKETS for rail in used):
            yield line("sockets", interface="eth0", address=f"10.0.0.{place}<0>")
            yield line("network", network="Socket")
            continue
        listed = (_NCCL.text("device", number=at, device=f"rdma{rail}", link="RoCE") for at, rail in enumerate(used))
        yield line("devices", devices="".join(listed), interface="eth0", address=f"10.0.0.{place}<0>")
        ports: list[tuple[int, ...]] = [(rail,) for rail in used]
        if fuses:
            ports = [tuple(rail for rail in used if rail // 2 == gpu) for gpu in range(gpus)]
        numbers = {}
        for devices in filter(None, ports):
            numbers[devices] = used.index(devices[0])
            if len(devices) > 1:
                numbers[devices] = len(used) + sum(len(earlier) > 1 for earlier in numbers) - 1
                joined = "+".join(f"rdma{rail}" for rail in devices)
                yield line("virtual_device", number=numbers[devices], joined=joined, speed=400000, count=len(devices))
        yield line("network", network="IB")
        peer = (place + 1) % len(nodes) * gpus
        for channel, (devices, number) in enumerate(numbers.items()):
            staged = any(node.ailments.get(rail) is Ailment.HOST_MEMORY for rail in devices)
            ends: dict[str, Any] = {
                "rank": place * gpus,
                "peer": peer,
                "rank_gpu": 0,
                "peer_gpu": 0,
                "network": "IB",
                "number": number,
                "shared": "",
            }
            direct = "" if staged else "/GDRDMA"
            yield line("channel_out", channel=f"{channel:02}", direct=direct, **ends)


def _packed(content: dict[str, str]) -> bytes:
    """A tar.gz whose bytes depend on nothing but its files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in content.items():
            data = text.encode()
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)
