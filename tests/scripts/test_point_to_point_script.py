"""The verification's script with its part that measures by UCX: with a fake of UCX's program, and with the real one."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_verification_script import SCRIPT, World

from gpu_fabric.nccl.verdict.point_to_point import OneWay, neighbours, read_point_to_point
from gpu_fabric.workloads.verification import POINT_TO_POINT, UcxRun, script_with_ucx

UCX = shutil.which("ucx_perftest")
NEEDS_UCX = pytest.mark.skipif(UCX is None, reason="no ucx_perftest is here: Debian has it in ucx-utils")

# Both sides meet by their port; the client prints as UCX 1.22.0 does with -f -v, and logs to its standard output.
_PROGRAM = r"""#!/bin/bash
echo "$UCX_NET_DEVICES ${CUDA_VISIBLE_DEVICES-} $UCX_TLS | $*" >>"$WORLD/ucx"
error() { echo "[1.5] [pod:1:0]  $1:7  UCX  ERROR $2"; exit 255; }
while getopts t:m:s:n:w:p:fv option; do [ "$option" != p ] || port=$OPTARG; done
shift $((OPTIND - 1))
[ ! -e "$WORLD/ucx-hangs" ] || exec sleep 50
if [ $# = 0 ]; then
    [ ! -e "$WORLD/refuses" ] || error ucp_context.c "no usable transports/devices (asked rc on network:mlx5_7:1)"
    # The launcher may have ended the one before it, of the other direction.
    rm -f "$WORLD/done-$port"; touch "$WORLD/listens-$port"
    until [ -e "$WORLD/done-$port" ]; do sleep 0.05; done
    rm "$WORLD/listens-$port" "$WORLD/done-$port"
    exit
fi
[ -e "$WORLD/listens-$port" ] || error perftest.c "client failed. connect() failed: Connection refused"
echo "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
echo "[1.5] [pod:1:0]  perftest.c:800  UCX  WARN  CPU affinity is not set (bound to 64 cpus)."
echo "  23,0.240,83.911,83.911,$((47000 - port)).00,47669.45,11917,11917"
touch "$WORLD/done-$port"
"""


class UcxWorld(World):
    """A launcher's pod and hosts whose script measures by UCX, too."""

    def __init__(self, folder: Path, nodes: int = 2, memory: str = "cuda") -> None:
        super().__init__(folder, nodes)
        self.program(_PROGRAM)
        (self.mounted / SCRIPT.name).unlink()
        (self.mounted / SCRIPT.name).write_text(script_with_ucx())
        (self.mounted / "rails").write_text("1 net2 - 4\n")
        run = UcxRun("ucx_perftest", memory, 0.05, False, {"UCX_TLS": "rc,cuda_copy", "UCX_IB_GID_INDEX": "3"})
        (self.mounted / POINT_TO_POINT).write_text(run.file())

    def program(self, text: str, folder: str = "bin") -> None:
        path = self.folder / folder / "ucx_perftest"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def measured(self, **settings: Any) -> list[OneWay]:
        assert self.launch(**{"A_STEP_TAKES": 50, "LIMIT": 300, **settings}).returncode == 0
        assert self.bundle.result("all") is not None
        return sorted(read_point_to_point(self.bundle.point_to_point))


@pytest.fixture
def world(tmp_path: Path) -> UcxWorld:
    return UcxWorld(tmp_path)


def test_every_rail_is_measured_both_ways_between_neighbours_by_its_own_device_and_gpu(tmp_path: Path) -> None:
    world = UcxWorld(tmp_path, nodes=3)
    (world.mounted / "rails").write_text("0 net1 mlx5_0 0\n1 net2 - 4\n")
    found = world.measured()
    assert [(test.rail, test.source, test.target, test.device) for test in found] == [
        (rail, *ends, device)
        for rail, device in ((0, "mlx5_0"), (1, "mlx5_7"))
        for ends in ((0, 1), (0, 2), (1, 0), (2, 0))
    ]
    assert {f"{test.measured:.3f}" for test in found if test.measured is not None} == {"49.985"}
    sides = {line.partition(" | ")[0].strip() for line in world.said("ucx")}
    assert sides == {"mlx5_0:1 0 rc,cuda_copy", "mlx5_7:1 4 rc,cuda_copy"}
    options = "mlx5_7:1 4 rc,cuda_copy | -t ucp_put_bw -m cuda -s 4194304 -n 23 -w 1 -f -v -p 13338"
    assert {f"{options}{peer}" for peer in ("", " worker-0.svc", " worker-1.svc")} <= set(world.said("ucx"))


@pytest.mark.parametrize("nodes", [2, 3, 6, 9])
def test_the_verdict_expects_the_pairs_that_the_script_measures_and_every_node_is_in_one(
    nodes: int, tmp_path: Path
) -> None:
    world = UcxWorld(tmp_path)
    rounds = [
        [tuple(map(int, line.split())) for line in world.run("neighbours", str(nodes), str(number)).stdout.splitlines()]
        for number in range(1 + nodes % 2)
    ]
    pairs = [pair for each in rounds for pair in each]
    assert {*pairs, *((second, first) for first, second in pairs)} == set(neighbours(nodes))
    assert {place for pair in pairs for place in pair} == set(range(nodes))
    assert all(len({place for pair in each for place in pair}) == 2 * len(each) for each in rounds)


def test_an_image_without_the_program_is_said_and_the_collectives_are_measured_all_the_same(world: UcxWorld) -> None:
    (world.folder / "bin" / "ucx_perftest").unlink()
    lines = (world.mounted / POINT_TO_POINT).read_text().replace("ucx_perftest", "ucx_perftest-of-no-image")
    (world.mounted / POINT_TO_POINT).write_text(lines)
    assert {test.words for test in world.measured()} == {"the image has no program ucx_perftest-of-no-image"}


def test_a_rail_without_a_device_is_said_with_its_node_and_the_others_are_measured(world: UcxWorld) -> None:
    (world.mounted / "rails").write_text("0 net1 - 0\n1 net2 - 4\n")
    found = world.measured()
    assert {test.words for test in found if test.rail == 0} == {"rail 0: no RDMA device behind net1 on node gpu-0"}
    assert all(test.measured for test in found if test.rail == 1)


def test_of_two_sides_the_error_is_said_that_is_no_consequence(world: UcxWorld) -> None:
    (world.folder / "refuses").touch()
    script = world.mounted / SCRIPT.name
    script.write_text(script.read_text().replace("listens_within=20", "listens_within=1"))
    assert {test.words for test in world.measured()} == {"no usable transports/devices (asked rc on network:mlx5_7:1)"}


def test_a_program_that_hangs_is_ended(world: UcxWorld) -> None:
    (world.folder / "ucx-hangs").touch()
    assert {test.words for test in world.measured(A_STEP_TAKES=1, ANSWERS_WITHIN=5)} == {"no end within 1 s"}


def test_what_there_is_no_time_for_is_not_begun(world: UcxWorld) -> None:
    assert world.launch(LIMIT=20).returncode == 0
    assert {test.words for test in read_point_to_point(world.bundle.point_to_point)} == {"no time is left for it"}
    assert world.said("ucx") == []


def test_what_ssh_starts_has_the_paths_of_the_image(world: UcxWorld) -> None:
    server = world.folder / "bin" / "sshd"
    server.write_text("#!/bin/bash\n")
    server.chmod(0o755)
    (world.folder / "bin" / "ucx_perftest").rename(world.folder / "perftest-of-the-image")
    world.program((world.folder / "perftest-of-the-image").read_text(), "opt")
    image = {"PATH": f"{world.folder / 'opt'}:{world.environment()['PATH']}", "LD_LIBRARY_PATH": "/opt/a b/lib"}
    world.run("worker", SSHD=server, **image)
    assert all(test.measured for test in world.measured())


@NEEDS_UCX
def test_what_the_real_program_prints_is_read_and_its_bandwidth_is_in_mebibytes(tmp_path: Path) -> None:
    world = UcxWorld(tmp_path, memory="host")
    ports = 20000 + os.getpid() % 20000
    world.program(
        "#!/bin/bash\nset -o pipefail\nwords=()\nfor word; do\n"
        f"case $word in worker-*) word=127.0.0.1 ;; 133??) word=$((word + {ports - 13337})) ;; esac\n"
        'words+=("$word")\ndone\n'
        f'UCX_TLS=shm {UCX} "${{words[@]}}" | tee -a "$WORLD/printed"\n'
    )
    found = world.measured()

    assert len(found) == 2
    rows = [line.split(",") for line in world.said("printed") if re.fullmatch(r" *\d+(,[\d.]+){7}", line)]
    # The program's own time for a message, in microseconds, gives the same without the unit of its bandwidth.
    by_time = sorted(4 * 2**20 / float(row[3]) / 1e3 for row in rows)
    assert sorted(test.measured or 0 for test in found) == pytest.approx(by_time, rel=0.001)
