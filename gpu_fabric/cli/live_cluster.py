"""The live cluster that a command compares a plan with: which one it is, and how it is read."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from gpu_fabric.cli.conversation import refuse
from gpu_fabric.cli.kubectl import ClusterError, Kubectl

if TYPE_CHECKING:
    from gpu_fabric.live.bundle import Bundle
    from gpu_fabric.live.cluster import Cluster
    from gpu_fabric.spec.stack import StackSpec

STANDARD_INPUT = Path("-")
BundleFile = Annotated[
    Path | None,
    typer.Option("--from", metavar="BUNDLE", help="what `doctor --bundle` wrote, in the place of stack and cluster"),
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="the kubeconfig; by default the stack file's, where it names a file")
]
Context = Annotated[str | None, typer.Option(help="its context; by default the stack file's")]
_FORBIDDEN = "Forbidden"
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def read_cluster(kubectl: Kubectl) -> Cluster:
    """The cluster as comparisons read it; nothing is asked of it yet."""
    from gpu_fabric.live.cluster import Cluster

    return Cluster(allowed(kubectl.get), allowed(kubectl.create), allowed(kubectl.apply_dry, every_refusal=True))


def read_bundle(file: Path | None) -> Bundle | None:
    """The bundle that is read in the place of a stack file and its cluster, where one is given."""
    if file is None:
        return None
    from gpu_fabric.live.bundle import read

    try:
        return read(file)
    except OSError as error:
        refuse(f"{file}: {error.strerror}")
    except ValueError as error:
        refuse(str(error))


@contextmanager
def kubeconfig_file(given: Path | None) -> Iterator[Path | None]:
    """The kubeconfig's file; `-` is standard input, which is kept in a file of the user's own until the end."""
    if given != STANDARD_INPUT:
        yield given
        return
    with private_file(sys.stdin.read()) as file:
        yield file


@contextmanager
def private_file(kubeconfig: str) -> Iterator[Path]:
    """A kubeconfig in a file that its user alone can read, until the end."""
    with tempfile.TemporaryDirectory(prefix="gpu-fabric-") as folder:
        file = Path(folder) / "kubeconfig"
        file.touch(mode=0o600)
        file.write_text(kubeconfig, encoding="utf-8")
        yield file


def cluster_of(spec: StackSpec, root: Path, kubeconfig: Path | None, context: str | None) -> Kubectl:
    """The named cluster, else the stack file's; refuses to guess one."""
    from gpu_fabric.spec.existing import ExistingClusterSpec

    own = spec.cluster
    stated = own.kubeconfig if isinstance(own, ExistingClusterSpec) else None
    if kubeconfig is None and context is None and stated is None:
        refuse("the stack file names no kubeconfig file: give --kubeconfig, or --context of kubectl's own")
    if kubeconfig is None and stated is not None:
        kubeconfig = root / Path(stated).expanduser()
        context = context or (own.context if isinstance(own, ExistingClusterSpec) else None)
    return Kubectl(kubeconfig, context)


def allowed(request: Callable[_Given, _Answer], *, every_refusal: bool = False) -> Callable[_Given, _Answer]:
    """A request of kubectl's, that distinguishes what is not allowed from a cluster that does not answer.

    `every_refusal` counts an answer of the API server's as not allowed whatever it refuses.
    """

    def ask(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
        from gpu_fabric.live.cluster import NotAllowed

        try:
            return request(*given, **named)
        except ClusterError as error:
            if error.reason == _FORBIDDEN or (every_refusal and error.reason):
                raise NotAllowed(str(error)) from None
            raise

    return ask
