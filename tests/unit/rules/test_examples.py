"""What `explain` shows of a rule for a stack file: its keys, and what it finds something in."""

from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import examples, rules


def test_every_rule_that_is_checked_has_its_keys_or_is_about_the_stack_as_a_whole() -> None:
    checked = {name for name, rule in rules().items() if rule.is_of_stacks}

    assert set(examples()) == checked


def test_a_rule_is_explained_with_its_keys_and_an_example() -> None:
    shown = CliRunner().invoke(app, ["explain", "ADR002"]).stdout

    assert "Keys of the stack file: gpu-fabric:fabric.addressing.supernet\n" in shown
    assert "An example of what it finds, on stack host-device: fabric.addressing.supernet: " in shown
