"""`gpu-fabric upgrade`: what it prints, and the stack file that it writes."""

import json
from pathlib import Path

import pytest
from command_line import refusal_of, result_of, run

from gpu_fabric.spec.written_line import with_release_line

NAMED = """config:
  # which cluster
  gpu-fabric:cluster: {provider: existing}
  gpu-fabric:software:
    charts: upstream  # the vendor's
    releaseLine: "26.4"  # tested in spring
    multus: {install: true}
"""


@pytest.fixture
def copy(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The dev stack in a folder of its own, in the line before."""
    text = (root / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.dev.yaml").write_text(text.replace('"26.7"', '"26.4"'), encoding="utf-8")
    return tmp_path / "Pulumi.dev.yaml"


def test_the_way_is_printed_with_the_step_to_write(copy: Path) -> None:
    printed = result_of("upgrade", "-s", "dev", "--to", "26.7")

    assert "1. 26.4 -> 26.7: supported by NVIDIA; 26.7 is deprecated" in printed
    assert 'write software.releaseLine: "26.7"' in printed
    assert '"26.4"' in copy.read_text()
    (hop,) = json.loads(result_of("upgrade", "dev", "--json"))["hops"]
    assert (hop["old"], hop["new"], hop["supported"], hop["nodes"]) == ("26.4", "26.7", True, 0)
    assert hop["newKubernetes"] == ">=1.32"


def test_a_stack_whose_waves_hold_is_told_to_let_them_go_on_and_not_to_write_that_section(copy: Path) -> None:
    copy.write_text(copy.read_text() + "  gpu-fabric:upgrade: {action: hold}\n")

    printed = result_of("upgrade", "-s", "dev", "--to", "26.7")

    assert "drains no node while gpu-fabric:upgrade.action is hold" in printed
    assert "write gpu-fabric:upgrade.action: continue when nodes may change" in printed
    assert "write the section" not in printed


def test_write_changes_the_line_alone(copy: Path) -> None:
    before = copy.read_text()

    done = run("upgrade", "dev", "--write")

    assert done.exit_code == 0
    assert "software.releaseLine is 26.7 now" in done.stderr
    assert copy.read_text() == before.replace('"26.4"', '"26.7"')
    assert "already" in refusal_of("upgrade", "dev", "--to", "26.7")
    assert "network-operator 26.10.0 is known by name only" in refusal_of("upgrade", "dev", "--to", "26.10")


def test_a_stack_of_the_cluster_alone_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)

    assert "part platform" in refusal_of("upgrade", "oke-split-cluster")


def test_a_hop_that_is_refused_is_not_written(copy: Path) -> None:
    text = copy.read_text().replace("  gpu-fabric:cluster:\n", '  gpu-fabric:cluster:\n    kubernetes: "1.31"\n')
    copy.write_text(text)

    shown, written = run("upgrade", "dev"), run("upgrade", "dev", "--write")

    assert (shown.exit_code, written.exit_code) == (1, 2)
    assert "REL001" in shown.stdout
    assert "not written, since the stack cannot be planned in 26.7" in written.stderr
    assert copy.read_text() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NAMED, NAMED.replace('"26.4"', '"26.7"')),
        (
            NAMED.replace('    releaseLine: "26.4"  # tested in spring\n', ""),
            NAMED.replace('    releaseLine: "26.4"  # tested in spring\n', "").replace(
                "    charts:", '    releaseLine: "26.7"\n    charts:'
            ),
        ),
        (
            "config:\n  gpu-fabric:cluster: {provider: existing}  # mine\n",
            'config:\n  gpu-fabric:software: {releaseLine: "26.7"}\n'
            "  gpu-fabric:cluster: {provider: existing}  # mine\n",
        ),
        (
            "config: {gpu-fabric:software: {charts: upstream}}\n",
            'config: {gpu-fabric:software: {releaseLine: "26.7", charts: upstream}}\n',
        ),
        (
            "config:\n  gpu-fabric:software: {releaseLine: '26.4'}\n",
            'config:\n  gpu-fabric:software: {releaseLine: "26.7"}\n',
        ),
    ],
)
def test_only_the_line_changes_and_comments_stay(text: str, expected: str) -> None:
    assert with_release_line(text, "26.7") == expected


@pytest.mark.parametrize(
    "text",
    [
        # Through the alias another value would change as well.
        'config:\n  gpu-fabric:cluster: {kubernetes: &v "26.4"}\n  gpu-fabric:software: {releaseLine: *v}\n',
        "config:\n  gpu-fabric:software:\n",
    ],
)
def test_a_line_that_cannot_be_written_alone_is_left_to_the_user(text: str) -> None:
    assert with_release_line(text, "26.7") is None


def test_a_stack_whose_manager_changes_has_the_way_between_managers_and_with_to_the_one_between_lines(
    copy: Path,
) -> None:
    text = copy.read_text()
    copy.write_text(text.replace("model: sriov", "model: macvlan") + "  gpu-fabric:upgrade: {fromManager: dranet}\n")

    assert "from dranet (claims) to network-operator" in result_of("upgrade", "-s", "dev")
    assert json.loads(result_of("upgrade", "dev", "--json"))["stage"] == "change"
    assert "1. 26.4 -> 26.7" in result_of("upgrade", "-s", "dev", "--to", "26.7")
