"""Every line of every release is read as what it says, by the script on the node as by the verdict."""

import subprocess
from pathlib import Path

import pytest
from nccl_logs import GPUS, LOG_FAULTS, Run, log_lines
from verdict_results import expectation, file_of, healthy, log_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import Severity
from gpu_fabric.nccl.log_lines import Writer, filter_file, log_table, logged_line
from gpu_fabric.nccl.verdict.judging import judge
from gpu_fabric.nccl.verdict.report import Verdict
from gpu_fabric.on_nodes import program
from gpu_fabric.workloads.verification import SCRIPT

# Adapters with one port and with two, which NCCL fuses; names of devices published and not. GB/s of a healthy ring.
SHAPES = {
    "BM.GPU.H200.8": 388.0,
    "BM.GPU.H100.8": 386.0,
    "BM.GPU.A100-v2.8": 187.0,
    "BM.GPU.B300.8": 770.0,
    "gpu-h200x8-1128gb-fabric-contracted": 386.0,
}
VALUES = {
    "devices": " [0]mlx5_0:1/RoCE", "interface": "eth0", "address": "10.0.0.1<0>", "number": 1, "device": "mlx5_1",
    "link": "RoCE", "rail": 0, "plane": 1, "first": 0, "second": 1, "other": "mlx5_2", "joined": "mlx5_0+mlx5_1",
    "speed": 1, "count": 2, "channel": "00", "rank": 0, "peer": 8, "rank_gpu": 0, "peer_gpu": 0, "network": "IB",
    "direct": "/GDRDMA", "shared": "", "proxy": 1, "variable": "NCCL_ALGO", "value": "RING", "reason":
    "No such device", "errno": 19, "gid": "::1",
}  # fmt: skip


NO_PROVIDER = "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0"


def script_keeps(folder: Path, lines: list[str]) -> list[str]:
    """The lines that leave the pod, by the script itself."""
    (folder / SCRIPT).write_text(program(SCRIPT))
    (folder / "log-lines").write_text(filter_file())
    (folder / "settings").touch()
    command = ["bash", str(folder / SCRIPT), "proof"]
    text = "".join(f"{line}\n" for line in lines)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def test_each_form_is_read_as_its_own_line_and_no_other(tmp_path: Path) -> None:
    table, printed = log_table(), []
    for release in table.releases:
        writer = Writer(release)
        for name, line in table.lines.items():
            if line.part or not writer.has(name):
                continue
            written = writer.line(name, "worker-0", **VALUES)
            read = logged_line(written)
            assert read is not None
            assert (read.host, read.level) == ("worker-0", "INFO")
            # The three forms of a channel are read by one expression.
            kept = {one.read: which for which, one in table.lines.items() if one.is_kept}
            found = {which for which in kept.values() if table.read(which).search(read.text)}
            assert found == ({kept[line.read]} if line.is_kept else set()), (release, name)
            printed += [written] if line.is_kept and name != "channel_out" else []
        for name in table.warnings.kinds:
            if writer.has(name):
                *_, warned = writer.line(name, "worker-0", **VALUES).split("\n")
                read = logged_line(warned)
                assert read is not None
                assert (read.host, read.level) == ("worker-0", "WARN")
                assert table.warnings.are_meant(read.place, read.text), (release, name)
                printed.append(warned)
    kept_lines = script_keeps(tmp_path, printed)

    # Once a text, of whatever release. Of channels one is enough for a NIC.
    texts = [{line.text for line in map(logged_line, lines) if line is not None} for lines in (printed, kept_lines)]
    assert {text for text in texts[0] if "via NET/" not in text} <= texts[1]


def errors(verdict: Verdict) -> set[str]:
    return {reason.id for reason in verdict.findings if reason.severity is Severity.ERROR}


def releases_that_differ() -> list[str]:
    """The first of all releases that write every line alike."""
    table = log_table()
    every = [*(line.forms for line in table.lines.values()), *table.warnings.kinds.values()]
    found: dict[tuple[object, ...], str] = {}
    for release in table.releases:
        place = table.releases.index(release)
        forms = (form for forms in every for form in forms)
        own = tuple(
            form
            for form in (*forms, *table.warn)
            if table.releases.index(form.of[0]) <= place <= table.releases.index(form.of[1])
        )
        found.setdefault(own, release)
    return list(found.values())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("release", releases_that_differ())
def test_no_healthy_run_fails_and_no_faulty_one_passes(tmp_path: Path, release: str, name: str) -> None:
    shape = catalog().find(name)
    assert shape is not None
    wanted = expectation(name, nodes=2)
    logs: dict[str, list[str]] = {}
    healthy_run = Run(release, shape, host="sound")
    logs["sound"] = healthy_run.text(healthy_run.entries())
    cases = {f"f{number}": fault for number, fault in enumerate(LOG_FAULTS.values())}
    for host, fault in cases.items():
        run = Run(release, shape, host=host)
        if run.writer.has(fault.of) and (shape.nics[0].rdma_device or not fault.by_name):
            logs[host] = fault.lines(run)
    # The libraries' own words have no host; they are of one run.
    kept = script_keeps(tmp_path, [line for lines in logs.values() for line in lines])
    hostless = {line for lines in logs.values() for line in lines if logged_line(line) is None}
    for host, lines in logs.items():
        of_no_host = hostless & set(lines)
        own = [line for line in kept if f"{host}-0:" in line or f"{host}-1:" in line or line in of_no_host]
        for text in (lines, own):
            document = healthy(SHAPES[name], gpus=GPUS, host=host)
            verdict = judge(file_of(document), wanted, log_of(text))
            if host == "sound":
                assert (errors(verdict), verdict.passed) == (set(), True), (release, verdict.findings)
                continue
            fault = cases[host]
            said = [f"{one.path}: {one.message} -> {one.remedy}" for one in verdict.findings if one.id in fault.rule]
            words = [word.format(host=host) for word in fault.words if shape.nics[0].rdma_device or "rail" not in word]
            assert not verdict.passed, (release, fault)
            assert any(all(word in line for word in words) for line in said), (words, verdict.findings)


@pytest.mark.parametrize("line", [*(line.text for line in log_table().others.values()), NO_PROVIDER])
def test_a_library_that_an_image_lacks_is_named_with_the_image_as_the_remedy(line: str) -> None:
    name = next(iter(SHAPES))
    shape = catalog().find(name)
    assert shape is not None
    run = Run(log_table().releases[-1], shape, host="worker")
    lines = [line, *LOG_FAULTS["sockets on a node"].lines(run)]

    verdict = judge(file_of(healthy(SHAPES[name], gpus=GPUS, host="worker")), expectation(name, nodes=2), log_of(lines))

    (said,) = (reason for reason in verdict.findings if reason.id == "VER022")
    assert line in said.message.replace("\\'", "'")
    assert "in the image" in said.remedy or "into the image" in said.remedy
    assert "`gpu-fabric explain libibverbs-" in said.remedy


def test_a_warning_is_shown_whole_once_with_its_rail_and_the_count_of_those_like_it() -> None:
    shape = catalog().find("BM.GPU.H200.8")
    assert shape is not None
    run = Run("2.30.7", shape)
    lines = run.text(run.entries())
    values = {**VALUES, "device": "mlx5_4", "address": "10.0.0.1<1>"}
    other = {**values, "device": "mlx5_5"}
    for entry in (values, {**values, "address": "10.0.0.9<77>"}, other):
        lines += Writer("2.30.7").line("retries_exceeded", "worker-1", **entry).split("\n")
    found = [one for one in judge(file_of(healthy()), expectation(), log_of(lines)).findings if one.id == "VER026"]

    assert [one.path for one in found] == ["node worker-1, rail 2 (mlx5_4)", "node worker-1, rail 3 (mlx5_5)"]
    assert "remoteGids::1 hca mlx5_4 (and 1 more like it)" in found[0].message


def test_colours_of_a_terminal_are_no_part_of_a_host(tmp_path: Path) -> None:
    shape = catalog().find("BM.GPU.H200.8")
    assert shape is not None
    run = Run("2.24.3", shape)
    lines = [f"\x1b[32m{line}\x1b[0m" for line in run.text(run.entries())]

    for text in (lines, script_keeps(tmp_path, lines)):
        assert judge(file_of(healthy()), expectation(), log_of(text)).findings == ()


def test_the_example_of_a_log_is_what_the_newest_release_writes(root: Path) -> None:
    assert (root / "examples/results/output.txt").read_text() == log_of(log_lines("BM.GPU.H100.8")).decode()
