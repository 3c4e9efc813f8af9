"""The hand-written program of `make bench` registers what ours does, so that their previews can be compared."""

from pathlib import Path

from programs import STACKS, run_program, stack_config
from recording import Registration, World, record

from tests.bench.hand_written import source
from tests.bench.sandbox import STACK


def test_a_generated_program_registers_the_same_resources_and_outputs(kubeconfig: Path) -> None:
    ours = run_program(STACK, stack_config(STACKS[STACK], kubeconfig), preview=True)
    program = compile(source(ours), "a program", "exec")
    theirs = record(lambda: exec(program, {}), stack=STACK, preview=True, world=World({}))  # noqa: S102
    assert sorted(theirs.resources, key=_place) == sorted(ours.resources, key=_place)
    assert (theirs.outputs, theirs.secret_outputs) == (ours.outputs, ours.secret_outputs)


def _place(registered: Registration) -> tuple[str, str]:
    # Those that do not depend on each other are registered in any order.
    return registered.type, registered.name
