"""What is taken for a command on a page, and when an output is what a page shows."""

from __future__ import annotations

import pytest
from documented_commands import commands
from documented_runs import fits
from documented_summaries import untrue
from test_documented_commands import Way, way


def texts(page: str) -> list[tuple[int, str]]:
    return [(command.line, command.text) for command in commands("a page", page)]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("Do this:\n\n    make up      # it starts\n    make test\n", [(3, "make up"), (4, "make test")]),
        ("```console\n$ make up\nStack dev is up\n$ make test\n```\n", [(2, "make up"), (4, "make test")]),
        ("```bash\nfrobnicate --all\n```\n", [(2, "frobnicate --all")]),
        ("Then `make up`, or `gpu-fabric plan -s dev`.\n", [(1, "make up"), (1, "gpu-fabric plan -s dev")]),
        ("| to | do |\n|---|---|\n| try | `make up` |\n", [(3, "make up")]),
        (
            "    helm show crds spiderpool \\\n      | kubectl apply -f -\n",
            [(1, "helm show crds spiderpool | kubectl apply -f -")],
        ),
        ("    Stack dev is up\n", []),
        ("```yaml\nmake: up\n```\n", []),
        ("The words `makes` and `gpu-fabric` are no commands.\n", []),
    ],
)
def test_a_command_is_found_with_its_line_and_prose_is_not(page: str, found: list[tuple[int, str]]) -> None:
    assert texts(page) == found


@pytest.mark.parametrize(
    ("page", "held"),
    [
        ("    kubectl get nodes\n", Way.NONE),
        ("    kubectl get nodes     # needs a cluster\n", Way.NEEDS),
        ("    # needs a cluster\n    kubectl get pods\n", Way.NEEDS),
        ("    # needs a cluster\n    make up\n\n    kubectl get nodes\n", Way.NONE),
        ("    gpu-fabric job nccl-test --image IMAGE | kubectl apply -f -\n", Way.NONE),
        ("    gpu-fabric job nccl-test --image IMAGE | kubectl apply -f -   # needs a cluster\n", Way.HERE),
        ("    gpu-fabric plan -s dev\n", Way.HERE),
        ("    gpu-fabric plan -s dev      # needs an account\n", Way.NONE),
        ("    make plan STACK=dev\n", Way.HERE),
        ("    make up\n", Way.ELSEWHERE),
        ("    make breakfast\n", Way.NONE),
        ("    gpu-fabric plan [-s STACK]\n", Way.SUMMARY),
        ("    python -m sandbox up --everything\n", Way.NONE),
    ],
)
def test_a_command_is_run_or_says_what_it_needs_or_is_loose(page: str, held: Way) -> None:
    *_, last = commands("a page", page)

    assert way(last) is held


@pytest.mark.parametrize(
    "command",
    [
        "gpu-fabric explode [-s STACK]",
        "gpu-fabric plan [--in DIR]",
        "gpu-fabric plan [--format text|yaml]",
        "gpu-fabric schema stack|contract|plan",
    ],
)
def test_a_summary_that_names_what_the_program_does_not_know_is_untrue(command: str) -> None:
    assert untrue(command)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["one", "two"], "one\ntwo\n", True),
        (["one", "two"], "one  \ntwo\n", True),
        (["one"], "one\ntwo\n", False),
        (["one", "…"], "one\ntwo\nthree\n", True),
        (["…", "three"], "one\ntwo\nthree\n", True),
        (["one, … three"], "one, two, three\n", True),
        (["one", "three"], "one\ntwo\nthree\n", False),
        (["on.e"], "onne\n", False),
    ],
)
def test_an_output_is_what_is_shown_but_for_what_is_left_out(shown: list[str], printed: str, same: bool) -> None:
    assert fits(tuple(shown), printed) is same
