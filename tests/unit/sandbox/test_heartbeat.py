"""How far a run of the engine is, said while it is silent."""

from sandbox.engine.display import Heartbeat, is_work

RELEASE = "kubernetes:helm.sh/v3:Release"


class Run:
    """A run whose time is set by hand."""

    def __init__(self, total: int | None) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.heartbeat = Heartbeat(self.said.append, total, lambda: self.now)

    def hear(self, line: str, *, shown: bool = False) -> None:
        self.heartbeat.heard(line, shown=shown)

    def wait(self, seconds: int) -> None:
        """Pass some seconds, in each of which the run is looked at."""
        for _ in range(seconds):
            self.now += 1
            self.heartbeat.look()


def test_a_silent_helm_release_is_said_every_ten_seconds_with_how_many_are_done() -> None:
    run = Run(53)
    run.hear(" +  gpu-fabric:namespaces:Namespaces namespaces created (0.1s)", shown=True)
    run.hear(" +  kubernetes:core/v1:Namespace namespaces-gpu created (0.1s)", shown=True)
    run.hear(f" +  {RELEASE} gpu-operator-gpu-operator creating (0s)")
    run.wait(25)
    assert run.said == [
        "  … 1 of 53 done; at work: gpu-operator-gpu-operator (10 s)",
        "  … 1 of 53 done; at work: gpu-operator-gpu-operator (20 s)",
    ]


def test_nothing_is_said_while_lines_come_or_nothing_goes_on() -> None:
    run = Run(53)
    for number in range(5):
        run.hear(f" +  {RELEASE} one-{number} creating (0s)")
        run.wait(4)
        run.hear(f" +  {RELEASE} one-{number} created (4s)", shown=True)
    run.wait(60)
    assert run.said == []


def test_of_a_stack_that_is_up_nobody_knows_how_many_change() -> None:
    run = Run(None)
    for number in range(5):
        run.hear(f" ~  {RELEASE} one-{number} updating (0s) [diff: ~values]")
    run.hear(f" ~  {RELEASE} one-0 updated (2s) [diff: ~values]", shown=True)
    run.wait(11)
    assert run.said == ["  … 1 done; at work: one-1 (10 s), one-2 (10 s), one-3 (10 s) and 1 more"]


def test_steps_of_every_kind_that_take_time_are_counted() -> None:
    for sign in ("+", "~", "-", "+-", "++", "--"):
        run = Run(2)
        run.hear(f" {sign} {RELEASE} one deleted (2s)", shown=True)
        run.hear(f" {sign} {RELEASE} two deleting (0s)")
        run.wait(10)
        assert run.said == ["  … 1 of 2 done; at work: two (10 s)"]
    work = [RELEASE, "pulumi-python:dynamic/gpu-fabric:KeptObjects", "oci:ContainerEngine/cluster:Cluster"]
    other = ["pulumi:pulumi:Stack", "pulumi:providers:kubernetes", "gpu-fabric:cluster:ExistingCluster"]
    assert [is_work(name) for name in (*work, *other)] == [True] * 3 + [False] * 3
