"""What nccl-tests and NCCL would have written in a run, as the launcher's script hands it over. Pure functions."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from typing import Any

from gpu_fabric.nccl.busbw import Operation, bus_factor
from sandbox.hardware.measuring.run import Ailment, PlayedNode, PlayedRun

GIB = 1 << 30
# Bytes; the script's own.
_PART = 3900
_MOST_PAIRS = 16


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
    pairs = 0
    for rail in run.rails:
        found |= _alone(run, f"rail-{rail}", rail, run.nodes)
        if len(run.nodes) > 2 and run.rail_bandwidth(rail, run.nodes) < run.rail_bar:
            for first in range(min(len(run.nodes), _MOST_PAIRS - pairs)):
                second = (first + 1) % len(run.nodes)
                pair = (run.nodes[first], run.nodes[second])
                found |= _alone(run, f"pair-{rail}-{first}-{second}", rail, pair)
                pairs += 1
    corrupt = any(Ailment.CORRUPT in node.ailments.values() for node in run.nodes)
    sizes = tuple(GIB << power for power in range(4))
    found["all.json"] = _result(run, run.nodes, run.gpus, sizes, run.bandwidth, corrupt=corrupt)
    found["all.log"] = "".join(f"{line}\n" for line in _log(run, run.nodes, run.gpus, range(run.all_rails)))
    return found


def _alone(run: PlayedRun, name: str, rail: int, nodes: Sequence[PlayedNode]) -> dict[str, str]:
    """One rail, one GPU a node."""
    without = [node for node in nodes if node.ailments.get(rail) is Ailment.MISSING]
    if without:
        said = [f"gpu-fabric: rail {rail}: no RDMA device behind its interface on node {node.name}" for node in without]
        lines = [*said, f"gpu-fabric: {name} ended with status 1"]
        return {f"{name}.log": "".join(f"{line}\n" for line in lines)}
    corrupt = any(node.ailments.get(rail) is Ailment.CORRUPT for node in nodes)
    bandwidth = run.rail_bandwidth(rail, nodes)
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
        "nccl_version": 23004,
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
    """NCCL's lines as far as the script keeps them."""
    for place, node in enumerate(nodes):
        start = f"{node.host}:{200 + place}:{300 + place} [0] NCCL INFO"
        used = [rail for rail in rails if node.ailments.get(rail) is not Ailment.MISSING]
        if any(node.ailments.get(rail) is Ailment.SOCKETS for rail in used):
            yield f"{start} NET/Socket : Using [0]eth0:10.0.0.{place}<0>"
            yield f"{start} Using network Socket"
            continue
        nics = " ".join(f"[{number}]rdma{rail}:1/RoCE" for number, rail in enumerate(used))
        yield f"{start} NET/IB : Using {nics} [RO]; OOB eth0"
        yield f"{start} Using network IB"
        peer = (place + 1) % len(nodes) * gpus
        for number, rail in enumerate(used):
            direct = "" if node.ailments.get(rail) is Ailment.HOST_MEMORY else "/GDRDMA"
            yield f"{start} Channel {number:02}/0 : {place * gpus}[0] -> {peer}[0] [send] via NET/IB/{number}{direct}"


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
