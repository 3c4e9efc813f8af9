"""`up`, `preview`, `destroy` and `outputs` of a stack, whichever cluster it is for."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpu_fabric.live.engine_run import RECORDING
from gpu_fabric.live.stack import Stack as JudgedStack
from ..cloud.clusters import ControlPlanes
from ..cloud.existing import place_existing
from ..cloud.oci.oke_nodes import remember_image
from ..controllers.table import binaries_for
from ..failure import SandboxError
from ..home import COMMAND, SandboxHome, default_home, project_root
from ..kubernetes_api import Api
from ..toolchain.build import Toolchain, ensure
from ..toolchain.progress import Progress
from .display import is_work
from .event_log import advised_afterwards, told_afterwards
from .python_programs import AMBIENT_PYTHON
from .recovery import recover
from .run import Runs
from .workspace import ENCRYPTION_KEYS, Workspace, lies_in

if TYPE_CHECKING:
    from gpu_fabric.cli.kubectl import Kubectl
    from gpu_fabric.plan import Plan
    from gpu_fabric.spec.stack import StackSpec
    from gpu_fabric.spec.stack_text import StackDocument

Say = Callable[[str], None]


@dataclass(frozen=True)
class Stack:
    """A stack's name, committed file, spec and plan; `sections` where `--sandbox` replaces those of the file."""

    name: str
    file: Path
    spec: StackSpec
    plan: Plan
    sections: Mapping[str, Any] | None = None

    @property
    def simulated(self) -> bool:
        """Whether the stack runs on the sandbox instead of its own cluster or cloud."""
        return self.sections is not None

    @property
    def cloud(self) -> str | None:
        """The name of the cloud that creates its cluster, None for a cluster that exists."""
        return _CLOUDS.get(self.spec.cluster.provider)


_CLOUDS = {"doks": "DigitalOcean", "oke": "Oracle Cloud Infrastructure"}


def announcement(stack: Stack, home: SandboxHome) -> str | None:
    """Which cloud or cluster a command on the stack talks to, in a line; None where that is not known yet."""
    if stack.spec.split.part == "platform" and not stack.simulated:
        return f"the cluster of stack {stack.spec.cluster_stack}, with its kubeconfig"
    if stack.cloud is None:
        return _reached(stack, home)
    return f"simulated {stack.cloud} in {home.root}" if stack.simulated else f"{stack.cloud}, with your account"


def _reached(stack: Stack, home: SandboxHome) -> str | None:
    """The context and server of an existing cluster's kubeconfig; None while the file is missing or unusable."""
    from gpu_fabric.spec.existing import ExistingClusterSpec
    from gpu_fabric.spec.kubeconfig import kubeconfig_path, reached

    cluster = stack.spec.cluster
    assert isinstance(cluster, ExistingClusterSpec), "any other cluster is a cloud's"
    path = home.kubeconfig if is_sandbox_stack(stack, home) else kubeconfig_path(cluster, project_root())
    if path is None:
        return f"the cluster that the secret {cluster.kubeconfig_secret} of the configuration leads to"
    try:
        return f"cluster: {reached(path.read_text(encoding='utf-8'), cluster.context)} ({path})"
    except (OSError, ValueError):
        return None


def is_sandbox_stack(stack: Stack, home: SandboxHome) -> bool:
    """Whether the stack runs in the sandbox: by `--sandbox`, or by a kubeconfig in a sandbox's folder."""
    from gpu_fabric.spec.existing import ExistingClusterSpec

    cluster = stack.spec.cluster
    kubeconfig = cluster.kubeconfig if isinstance(cluster, ExistingClusterSpec) else None
    found = kubeconfig is not None and any(lies_in(kubeconfig, folder) for folder in (home.root, default_home()))
    return found or stack.simulated


# Keys that select the user's own cluster.
_OWN_CLUSTER = ("kubeconfigSecret", "context", "id")


def on_the_sandbox(document: StackDocument, home: SandboxHome) -> StackDocument:
    """The stack of `--sandbox`: with the sandbox's kubeconfig in place of an existing cluster's, and bundled charts."""
    from gpu_fabric.spec.parts import part_of

    sections: dict[str, Any] = dict(document.sections)
    cluster, software = sections.get("cluster"), sections.get("software")
    # Invalid sections and providers are refused with the other mistakes of the file; the simulated cloud creates a
    # cloud's cluster.
    if isinstance(cluster, dict) and cluster.get("provider") in (None, "existing"):
        kept = {key: value for key, value in cluster.items() if key not in _OWN_CLUSTER}
        sections["cluster"] = {**kept, "kubeconfig": str(home.kubeconfig)}
    # A stack of the cluster alone has no charts.
    if part_of(sections) != "cluster" and (software is None or isinstance(software, dict)):
        sections["software"] = {**(software or {}), "charts": "bundled"}
    return document.model_copy(update={"sections": sections})


class SandboxEngine:
    """The engine on a stack whose cluster is the sandbox, or a simulated cloud's."""

    def __init__(self, home: SandboxHome, toolchain: Toolchain, say: Say) -> None:
        self.home = home
        self.say = say
        self.planes = ControlPlanes(home, say)
        self.workspace = Workspace(home)
        self.workspace.prepare(toolchain)
        self.runs = Runs(self.workspace)

    def up(self, stack: Stack, *, as_json: bool, events: Path | None = None) -> int:
        """Create or update the stack, then print its summary; gives the exit status. `events` gets the run's events."""
        self._require_clusters(stack)
        # One that is only built once its pod is there can take longer than `up` waits for it.
        if binaries := _controllers(stack.plan):
            ensure(binaries, Progress())
        with self._owned():
            remember_image(self.home, stack.spec)
            for made in place_existing(self.home, stack.spec):
                self.say(f"in the simulated cloud exists, as the stack file names it: {made}")
            options = self._options(stack)
            self._create(stack)
            arguments = ["up", "--yes", "--skip-preview", _UNSEEN_OUTPUTS, *options, *_recorded_in(events)]
            status = self._converge(stack, [*arguments, *(["--json"] if as_json else [])], destroying=False)
        if status == 0 and not as_json:
            _print_summary(stack)
        if status != 0:
            how = " --sandbox" if stack.simulated else ""
            self.say(f"what is damaged now, and what mends it: {COMMAND} doctor -s {stack.name}{how}")
        return _status(status)

    def preview(self, stack: Stack, *, as_json: bool) -> int:
        """Show what `up` would do; needs no cluster."""
        with self._owned():
            options = self._options(stack)
            self._create(stack)
            arguments = ["preview", _UNSEEN_OUTPUTS, *options, *(["--json"] if as_json else [])]
            with told_afterwards("preview", self.say) as recording:
                return _status(self.runs.run([*arguments, *recording], project_root()).status)

    def refresh(self, stack: Stack) -> int:
        """Read every resource of the stack again and update the stack's state."""
        self._require_clusters(stack)
        with self._owned():
            options = self._options(stack)
            self._create(stack)
            arguments = ["refresh", "--yes", "--skip-preview", _UNSEEN_OUTPUTS, *options]
            return _status(self.runs.run(arguments, project_root()).status)

    def destroy(self, stack: Stack, *, events: Path | None = None) -> int:
        """Delete everything the stack created, then its state. `events` gets the run's events."""
        if self.workspace.state(stack.name) is None:
            self.say(f"there is no stack {stack.name} in the sandbox: nothing to destroy")
            return 0
        self._require_clusters(stack)
        with self._owned():
            options = self._options(stack)
            arguments = ["destroy", "--yes", "--skip-preview", _UNSEEN_OUTPUTS, *options]
            with advised_afterwards(
                "destroy", stack.plan.cluster.oke or stack.plan.cluster.doks, self.say
            ) as recording:
                status = self._converge(stack, [*arguments, *(_recorded_in(events) or recording)], destroying=True)
            if status == 0:
                remove = ["stack", "rm", "--yes", "--preserve-config", "--non-interactive", "--stack", stack.name]
                status = self.runs.run(remove, self.workspace.stacks, quiet=True).status
                # the salt belongs to the deleted state
                self.workspace.stack_file(stack.name).unlink(missing_ok=True)
        return _status(status)

    def doctor(self, stack: Stack, *, purpose: Literal["up", "destroy"], yes: bool, as_json: bool) -> int:
        """Name what is damaged, mend what is agreed to, and give the exit status."""
        from gpu_fabric.cli.doctor import DoctorOptions, examine
        from .cluster_writer import SandboxWriter

        self._require_clusters(stack)
        with self._owned():
            self._options(stack)
            mending = DoctorOptions(purpose=purpose, yes=yes, settled=True, as_json=as_json)
            # A stack without a cluster has a state all the same.
            found = [
                examine(
                    stack.spec,
                    stack.plan,
                    project_root(),
                    SandboxWriter(self.workspace, self.runs, stack.name, api),
                    mending,
                )
                for api in self._apis(stack) or (None,)
            ]
        return max(found)

    def bundle(self, stack: Stack, file: Path) -> None:
        """Write what `gpu-fabric doctor --bundle` does; of a simulated cloud's clusters the first.

        Raises:
            SandboxError: the cluster does not answer.
        """
        from gpu_fabric.cli.doctor import write_bundle
        from gpu_fabric.cli.kubectl import ClusterError
        from gpu_fabric.spec.load import read_file
        from .cluster_writer import SandboxWriter

        self._require_clusters(stack)
        with self._owned():
            self._options(stack)
            kubectl = self.kubectl(stack)
            document = read_file(self.workspace.stack_file(stack.name))
            writer = SandboxWriter(self.workspace, self.runs, stack.name, None)
            try:
                write_bundle(file, stack.spec, stack.plan, document, kubectl, writer)
            except ClusterError as error:
                raise SandboxError(f"the cluster does not answer: {error}", f"Look at it: {COMMAND} status") from error

    def kubectl(self, stack: Stack) -> Kubectl:
        """The sandbox's kubectl, on the stack's cluster; of a simulated cloud's clusters on the first.

        Raises:
            SandboxError: there is none.
        """
        from gpu_fabric.cli.kubectl import VARIABLE, Kubectl

        ids = [] if stack.cloud is None else self.planes.ids()
        if stack.cloud is not None and not ids:
            raise SandboxError(f"stack {stack.name} has no cluster in the simulated cloud")
        kubeconfig = self.planes.kubeconfig(ids[0]) if ids else self.home.kubeconfig
        os.environ.setdefault(VARIABLE, str(kubeconfig.parent / "bin/kubectl"))
        return Kubectl(kubeconfig)

    def outputs(self, stack: Stack, *, show_secrets: bool) -> str:
        """The stack's outputs as JSON; raises SandboxError when it is not up."""
        return self._output(stack, ["--json", *(["--show-secrets"] if show_secrets else [])])

    def kubeconfig(self, stack: Stack) -> str:
        """The stack's kubeconfig in plain text; raises SandboxError when it is not up."""
        return self._output(stack, ["kubeconfig", "--show-secrets"])

    def _output(self, stack: Stack, chosen: list[str]) -> str:
        if self.workspace.state(stack.name) is None:
            raise SandboxError(
                f"stack {stack.name} has not been brought up",
                f"Bring it up: {COMMAND} pulumi up -s {stack.name}{' --sandbox' if stack.simulated else ''}",
            )
        return self.runs.capture(["stack", "output", *chosen, "--stack", stack.name], self.workspace.stacks)

    def _converge(self, stack: Stack, arguments: list[str], *, destroying: bool) -> int:
        """Repair what an earlier run left, then run; once more if a plug-in crashed under the run.

        The Kubernetes plug-in that can be built here crashes in about one of forty destroys; the same command then
        continues. The released 4.25.0 has the repair: https://github.com/pulumi/pulumi-kubernetes/pull/4079
        """
        self._recover(stack, destroying=destroying)
        ended = self.runs.run(arguments, project_root(), total=self._total(stack, destroying=destroying))
        if ended.status != 0 and ended.crashed:
            self.say("a plug-in crashed (its last words are above): once more, from where it stopped")
            self._recover(stack, destroying=destroying)
            ended = self.runs.run(arguments, project_root())
        return ended.status

    def _total(self, stack: Stack, *, destroying: bool) -> int | None:
        """How many resources a run creates or deletes; None for an update, which may change any number."""
        from gpu_fabric.resources import resources

        state = self.workspace.state(stack.name)
        known = [] if state is None else [entry for entry in state.resources if is_work(entry["type"])]
        if destroying:
            return len(known)
        return None if known else len(resources(stack.plan))

    def _options(self, stack: Stack) -> list[str]:
        file = self.workspace.stack_config(stack.name, stack.file, stack.sections)
        color = "always" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else "never"
        return ["--non-interactive", "--stack", stack.name, "--config-file", str(file), "--color", color]

    def _create(self, stack: Stack) -> None:
        if self.workspace.state(stack.name) is None:
            arguments = ["stack", "init", "--non-interactive", "--stack", stack.name]
            if self.runs.run(arguments, self.workspace.stacks, quiet=True).status != 0:
                raise SandboxError(f"the engine could not create stack {stack.name} (its output is above)")
            # the engine rewrites the file, with numbers as text; only its salt has to stay
            self.workspace.stack_config(stack.name, stack.file, stack.sections)

    def _recover(self, stack: Stack, *, destroying: bool) -> None:
        judged = JudgedStack(stack.spec, stack.plan)
        recover(self.workspace, self.runs, self._apis(stack), judged, self.say, destroying=destroying)

    def _apis(self, stack: Stack) -> list[Api]:
        """The stack's clusters: the sandbox, or those of a simulated cloud that are in the stack's state."""
        if stack.cloud is None:
            return [Api(self.home.kubeconfig)]
        state = self.workspace.state(stack.spec.cluster_stack)
        known = {resource.get("id") for resource in state.resources} if state else set()
        return [Api(self.planes.kubeconfig(cluster)) for cluster in self.planes.ids() if cluster in known]

    def _require_clusters(self, stack: Stack) -> None:
        if stack.cloud is not None:
            self.planes.start_all()
        elif not self.home.kubeconfig.exists() or not Api(self.home.kubeconfig).is_ready():
            raise SandboxError("the sandbox is not running", f"Start it: {COMMAND} up (see also: status)")

    def _owned(self) -> _Owned:
        return _Owned(self.runs)


class _Owned:
    """While this lasts no other command runs the engine on the sandbox."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __enter__(self) -> None:
        self._runs.require_none()
        self._runs.own()

    def __exit__(self, *_: object) -> None:
        self._runs.release()


def _controllers(plan: Plan) -> list[str]:
    """What is built of the controllers that a plan installs and that really run."""
    from gpu_fabric.k8s.apps import Deployment
    from gpu_fabric.k8s.compute_domain import ComputeDomain
    from gpu_fabric.k8s.sriov_operator import SriovNetworkNodePolicy

    names = [release.name for release in plan.releases]
    names += [entry.object.metadata.name for entry in plan.objects if isinstance(entry.object, Deployment)]
    if any(isinstance(entry.object, ComputeDomain) for entry in plan.objects):
        names.append("compute-domain-controller")
    if any(isinstance(entry.object, SriovNetworkNodePolicy) for entry in plan.objects):
        names.append("spiderpool-sriov-operator" if "spiderpool" in names else "sriov-network-operator")
    return binaries_for(names)


def _recorded_in(events: Path | None) -> list[str]:
    return [] if events is None else ["--event-log", str(events)]


# Pulumi prints all outputs after every run, changed or not: 360 lines for `fabric` alone.
_UNSEEN_OUTPUTS = "--suppress-outputs"
_CHANGING = ("up", "refresh", "destroy")
# The commands that only read the stack's state.
_READING = {"outputs": ("stack", "output"), "kubeconfig": ("stack", "output", "kubeconfig", "--show-secrets")}


def run_elsewhere(verb: str, stack: Stack, built: Sequence[Path], extra: list[str], say: Say) -> int:
    """Run the engine on a stack that is not the sandbox's, with the user's own login, passphrase and terminal.

    Programs that are not on PATH are looked for in the folders of what was `built`.

    Raises SandboxError when there is no Pulumi CLI on PATH and none was built.
    """
    is_example = stack.file.parent != project_root()
    if is_example:
        _refuse_example(verb, stack)
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, built)])
    command = shutil.which("pulumi", path=path)
    if command is None:
        raise SandboxError(
            "there is no `pulumi` on PATH",
            "Install the Pulumi CLI, or build it once, in some minutes; then repeat the command, which finds it: "
            f"{COMMAND} build pulumi pulumi-language-python",
        )
    reading = _READING.get(verb)
    arguments = [*(reading or (verb, _UNSEEN_OUTPUTS)), "--stack", stack.name, *extra]
    if is_example and reading is None:
        arguments += ["--config-file", str(stack.file)]
    environment = {
        **os.environ,
        **RECORDING,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{path}",
        AMBIENT_PYTHON: "1",
    }
    with (
        told_afterwards(verb, say) as losses,
        advised_afterwards(verb, stack.plan.cluster.oke or stack.plan.cluster.doks, say) as refusals,
    ):
        process = subprocess.Popen([command, *arguments, *losses, *refusals], cwd=project_root(), env=environment)
        # the terminal sends Ctrl-C to the engine too, which then stops; this process only waits for it
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            status = _status(process.wait())
        finally:
            signal.signal(signal.SIGINT, before)
    if verb == "up" and status == 0 and "--json" not in extra:
        _print_summary(stack)
    if verb in _CHANGING and status != 0:
        purpose = " --for destroy" if verb == "destroy" else ""
        say(f"what is damaged now, and what mends it: gpu-fabric doctor -s {stack.name}{purpose}")
    return status


def _refuse_example(verb: str, stack: Stack) -> None:
    """Raises SandboxError for a command that would write the engine's salt into a committed example.

    One that has its salt is a stack of the user's, which was at the top up to 0.1.0: git has moved its file.
    """
    file = stack.file.relative_to(project_root())
    has_salt = any(line.startswith(ENCRYPTION_KEYS) for line in stack.file.read_text(encoding="utf-8").splitlines())
    if verb not in ("destroy", *_READING) and not has_salt:
        raise SandboxError(
            f"stack {stack.name} is an example, and Pulumi writes a stack's salt into its file",
            f"Copy it and make the copy yours: cp {file} {file.name}. On simulated nodes and clouds it runs as it is: "
            f"make {verb} STACK={stack.name} SANDBOX=1",
        )


def _print_summary(stack: Stack) -> None:
    from gpu_fabric.report.text import print_report, summary

    sys.stdout.flush()
    file = stack.file.relative_to(project_root())
    print_report(summary(stack.plan, str(file), "" if stack.sections is None else " SANDBOX=1"))


def _status(code: int) -> int:
    return 0 if code == 0 else 1
