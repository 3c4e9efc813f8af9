"""The script that measures a pair of pods, in a pod made of files, with stand-ins for perftest's two programs."""

import os
import signal
import subprocess

import pytest
from test_fabric_check_script import FakePod, bare, pod

from gpu_fabric.on_nodes import FOLDER

__all__ = ["bare", "pod"]
SCRIPT = FOLDER / "fabric_pair.sh"

# Prints what perftest prints on the client's side (linux-rdma/perftest, src/perftest_parameters.h), or a file's text
# for one port; the first tries find nobody where `late` has lines.
_PERFTEST = """#!/bin/sh
echo "${0##*/} $*" >>"$POD/perftest"
while [ "$1" != -p ]; do shift; done
port=$2
if [ -s "$POD/late" ]; then
    sed -i 1d "$POD/late"
    echo "Couldn't connect to peer:$port"
    echo " Unable to init the socket connection"
    exit 1
fi
[ ! -e "$POD/$port" ] || { cat "$POD/$port"; exit 1; }
cat <<END
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 local address: LID 0000 QPN 0x008a PSN 0xfffb6d RKey 0x238f86 VAddr 0x007dd5a3cfd000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      560845           0.00               $port.02             0.186950
---------------------------------------------------------------------------------------
END
"""
HEADING = "columns #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]"


@pytest.fixture
def pair(pod: FakePod) -> FakePod:
    for program in ("ib_write_bw", "ib_read_bw"):
        (pod.folder / "bin" / program).write_text(_PERFTEST)
        (pod.folder / "bin" / program).chmod(0o755)
    for rail in (0, 1):
        types = pod.sys / f"class/infiniband/mlx5_{rail}/ports/1/gid_attrs/types"
        types.mkdir()
        (types / "0").write_text("RoCE v2\n")
        (types / "2").write_text("IB/RoCE v1\n")
        (types / "3").write_text("RoCE v2\n")
        # RoCE v1 has the same address.
        gids = types.parent.parent / "gids"
        (gids / "2").write_text((gids / "3").read_text())
    return pod


def measure(pod: FakePod, **settings: str) -> list[str]:
    """What the pod leaves."""
    values = {"MODE": "measure", "PEER": "peer.fabric-pair", "SECONDS_EACH": "5", "START": "60", "PORT": "18515"}
    environment = pod.environment(**{**values, "TRAFFIC_CLASS": "", "PROC": str(pod.folder / "proc"), **settings})
    subprocess.run(["sh", str(SCRIPT)], env=environment, capture_output=True, text=True)
    return pod.log.read_text().splitlines()


def test_each_rail_is_written_to_and_read_from_over_its_own_device_and_address(pair: FakePod) -> None:
    assert measure(pair, TRAFFIC_CLASS="41") == [
        HEADING,
        "rail 0 write 65536 560845 0.00 18515.02 0.186950",
        "rail 0 read 65536 560845 0.00 18516.02 0.186950",
        "rail 1 write 65536 560845 0.00 18517.02 0.186950",
        "rail 1 read 65536 560845 0.00 18518.02 0.186950",
    ]
    common = "-D 5 -F --report_gbits -x 3 --tclass=41 peer.fabric-pair"
    assert (pair.folder / "perftest").read_text().splitlines() == [
        f"ib_write_bw -d mlx5_0 -i 1 -p 18515 {common}",
        f"ib_read_bw -d mlx5_0 -i 1 -p 18516 {common}",
        f"ib_write_bw -d mlx5_1 -i 1 -p 18517 {common}",
        f"ib_read_bw -d mlx5_1 -i 1 -p 18518 {common}",
    ]


def test_the_other_pod_is_waited_for(pair: FakePod) -> None:
    pair.add("late", "once", "twice")

    assert len(measure(pair)) == 5


def test_a_pod_that_never_answers_is_no_fault_of_the_rails(pair: FakePod) -> None:
    pair.add("late", *["again"] * 9)

    assert measure(pair, START="0") == ["cannot peer.fabric-pair does not answer over the pods' own first network"]


def test_a_test_that_breaks_off_is_a_failure_of_its_rail_and_the_others_are_measured(pair: FakePod) -> None:
    pair.add("18516", " Completion with error at client", " Failed status 12: wr_id 0 syndrom 0x81")

    found = measure(pair)
    assert "failed 0 read Failed status 12: wr_id 0 syndrom 0x81" in [" ".join(line.split()) for line in found]
    assert [line.split()[:3] for line in found[1:]] == [
        ["rail", "0", "write"],
        ["failed", "0", "read"],
        ["rail", "1", "write"],
        ["rail", "1", "read"],
    ]


def test_a_rail_without_a_device_or_an_address_of_its_own_is_a_failure(pair: FakePod) -> None:
    (pair.sys / "class/infiniband/mlx5_0/ports/1/gid_attrs/types/3").write_text("IB/RoCE v1\n")
    pair.change("sys/class/infiniband/mlx5_1/ports/1/gids/3", "0c0a", "0c0b")

    assert measure(pair) == [
        "failed 0 write no RoCE v2 GID has an address of net1",
        "failed 0 read no RoCE v2 GID has an address of net1",
        "failed 1 write the pod has no RDMA device for the rail",
        "failed 1 read the pod has no RDMA device for the rail",
    ]


def test_an_address_of_ipv6_is_found_among_the_gids(pair: FakePod) -> None:
    address = "fd00:0001:0002:0003:0004:0005:0006:0007"
    pair.change("sys/class/infiniband/mlx5_0/ports/1/gids/3", "0000:0000:0000:0000:0000:ffff:ac10:0b0a", address)
    pair.change("address", "inet 172.16.11.10/24", "inet6 fd00:1:2:3:4:5:6:7/64")
    pair.rails[0] = "0 net1 rail-00 fd00:1:2:3::/64 - shared ether 4220"
    (pair.folder / "proc/net").mkdir(parents=True)
    (pair.folder / "proc/net/if_inet6").write_text(
        f"fe80000000000000000000000000000a 05 40 20 80     net1\n{address.replace(':', '')} 05 40 00 80     net1\n"
    )

    assert measure(pair)[1].startswith("rail 0 write")


def test_an_image_without_perftest_is_told(pair: FakePod) -> None:
    (pair.folder / "bin/ib_read_bw").unlink()

    assert measure(pair) == ["cannot no program ib_read_bw in the image of fabric.readiness.pair"]


def test_the_pod_that_serves_answers_each_test_again_and_again(pair: FakePod) -> None:
    values = {"MODE": "serve", "PEER": "", "SECONDS_EACH": "5", "START": "60", "PORT": "18515"}
    serving = subprocess.Popen(
        ["sh", str(SCRIPT)],
        env=pair.environment(**values),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert serving.stdout is not None
        seen = 0
        for line in serving.stdout:
            seen += "BW average" in line
            if seen > 8:
                break
        calls = (pair.folder / "perftest").read_text().splitlines()
    finally:
        # The whole group, since the script starts a loop for each test; never by procps' kill, which takes the negative
        # number for all processes.
        os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()

    assert {call.split()[0] + call.split("-p ")[1][:6] for call in calls} == {
        "ib_write_bw18515 ",
        "ib_read_bw18516 ",
        "ib_write_bw18517 ",
        "ib_read_bw18518 ",
    }
    assert all(call.endswith("--report_gbits -x 3") for call in calls)
