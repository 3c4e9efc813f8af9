"""The build driver: builds missing binaries one after the other, and returns the path of each.

Outputs are in the user's cache directory under a hash of their inputs, so clones share them and a change of one module
rebuilds that one alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..crds import write_definitions
from ..failure import SandboxError
from ..home import COMMAND
from . import prebuilt
from .golang import Go, build_environment, find_go
from .progress import Counter, Progress
from .recipes import FOLDER, Copy, Probe, Recipe, choose, recipes, user_cache, version_tuple

# patterns in a failed build's log, with their remedies
_REMEDIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("no space left on device",), "The disk is full: a cold build needs about 8 GB, most of it for Go's caches."),
    (
        ("dial tcp", "no such host", "i/o timeout", "connection refused", "proxyconnect", "TLS handshake", "EOF"),
        "The Go module proxy was not reached: check GOPROXY, HTTPS_PROXY and the network, then repeat. "
        "What is already built and downloaded is kept.",
    ),
    (
        ("410 Gone", "404 Not Found", "invalid version", "unknown revision"),
        "The Go module proxy in use does not serve this version: set GOPROXY to one that does.",
    ),
    (("requires go >=", "requires go1."), "This Go is too old: put a newer one on PATH, or take Go off PATH."),
    (("checksum mismatch", "SECURITY ERROR"), "A download differs from the committed go.sum: do not use this proxy."),
    (
        ("signal: killed", "out of memory", "cannot allocate memory"),
        "Memory ran out: have 1 GB free for each processor.",
    ),
)


class Toolchain:
    """The binaries that are there, built or the machine's own."""

    def __init__(self, folders: dict[str, Path], borrowed: dict[str, Path], pulumi: Path | None) -> None:
        self._folders = folders
        self._borrowed = borrowed
        self._pulumi = pulumi

    def folder(self, name: str) -> Path:
        """The folder with a binary's outputs; raises SandboxError when it was not built."""
        if name not in self._folders:
            raise SandboxError(f"{name} has not been built", f"Build it with: {COMMAND} build {name}")
        return self._folders[name]

    def role(self, role: str) -> list[str]:
        """The command that plays a part of the cluster (etcd, kube-apiserver, …, kubectl, kwok)."""
        if role in self._borrowed:
            return [str(self._borrowed[role])]
        recipe = next(recipe for recipe in recipes().values() if role in recipe.roles)
        folder = self.folder(recipe.name)
        own = folder / role
        # a build can have all parts in one program, whose first argument is the part; a release archive has one each
        return [str(own)] if own.is_file() else [str(folder / recipe.outputs[0]), role]

    @property
    def builds_engine(self) -> bool:
        """Whether the Pulumi CLI and its language host are built, and not the machine's own."""
        return self._pulumi is None

    def engine_programs(self) -> list[Path]:
        """The Pulumi CLI first, then the programs that must be in the same folder."""
        if self._pulumi:
            host = self._pulumi.parent / "pulumi-language-python"
            return [self._pulumi, *sorted({host, *host.parent.glob("pulumi-language-python-*")})]
        host_folder = self.folder("pulumi-language-python")
        return [self.folder("pulumi") / "pulumi", *sorted(host_folder.iterdir())]


def ensure(names: list[str] | None, progress: Progress, *, built: bool = False) -> Toolchain:
    """Build the named binaries or groups (the core group when none is named) as far as they are missing, or fetch
    releases with PREBUILT; and write the stand-in charts' definitions.

    With `built` nothing is fetched, and nothing of the machine takes the place of a build. Raises SandboxError when Go
    cannot be had, a name is unknown, or a build or download fails.
    """
    chosen = choose(names)
    write_definitions()
    pulumi = None if built else pulumi_of_the_machine()
    borrowed = {} if built else role_of_the_machine()
    needed = [recipe for recipe in chosen if not _is_replaced(recipe, pulumi, borrowed)]
    fetched = {} if built else {recipe.name: prebuilt.folder(recipe.name, progress) for recipe in needed}
    places = {name: place for name, place in fetched.items() if place}
    needed = [recipe for recipe in needed if recipe.name not in places]
    if not needed:
        return Toolchain(places, borrowed, pulumi)
    go = find_go(progress.say)
    places |= {recipe.name: _place(recipe, go) for recipe in needed}
    missing = [recipe for recipe in needed if not _complete(recipe, places[recipe.name])]
    if missing:
        if prebuilt.wanted() and not built:
            listed = ", ".join(recipe.name for recipe in missing)
            progress.say(f"built from source, since no digest of a release for this machine is known: {listed}")
        with _build_lock(progress), _downloaded_meanwhile(missing, go):
            for number, recipe in enumerate(missing, start=1):
                if not _complete(recipe, places[recipe.name]):  # another run may have built it while we waited
                    _build(recipe, go, places[recipe.name], progress, number, len(missing))
    return Toolchain(places, borrowed, pulumi)


def _is_replaced(recipe: Recipe, pulumi: Path | None, borrowed: dict[str, Path]) -> bool:
    if "pulumi" in (recipe.name, recipe.replaced_with):
        return pulumi is not None
    return bool(recipe.roles) and set(recipe.roles) <= set(borrowed)


def _place(recipe: Recipe, go: Go) -> Path:
    return user_cache() / "toolchain" / recipe.name / recipe.cache_key(go.minor)


def graph(recipe: Recipe) -> Path:
    """Where `go build` leaves what each step of the binary's last build took."""
    return user_cache() / "toolchain" / recipe.name / "actions.json"


def _complete(recipe: Recipe, place: Path) -> bool:
    return all((place / output).is_file() for output in recipe.outputs)


@contextmanager
def _build_lock(progress: Progress) -> Iterator[None]:
    """One build at a time for this user; a second run waits and then finds everything built."""
    folder = user_cache() / "toolchain"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            progress.say(
                f"process {handle.read().strip() or 'unknown'} is building the same binaries; waiting for it …"
            )
            fcntl.flock(handle, fcntl.LOCK_EX)
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


@contextmanager
def _downloaded_meanwhile(missing: list[Recipe], go: Go) -> Iterator[None]:
    """Have Go download what each build needs, in their order, while earlier ones compile.

    All at once, the first build would wait twice as long for its own. What fails, or is not done by the end, is left to
    the build, which says why.
    """
    script = "\n".join(shlex.join([str(go.command), *recipe.listing()]) for recipe in missing)
    process = subprocess.Popen(
        ["sh", "-c", script],
        env=build_environment(go),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # all is downloaded
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _build(recipe: Recipe, go: Go, place: Path, progress: Progress, number: int, total: int) -> None:
    """Build into a temporary folder next to the place, then rename it: the place is complete or absent."""
    place.parent.mkdir(parents=True, exist_ok=True)
    log = place.parent / "build.log"
    scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix=".building-"))
    try:
        with progress.binary(recipe.name, number, total, recipe.minutes) as counter:
            started = time.monotonic()
            build, *arguments = recipe.arguments(scratch, graph(recipe))
            command = [str(go.command), build, *_overlay(recipe, go, log), *arguments]
            with log.open("w") as output:
                code = _run_go(command, recipe, go, output.fileno(), log, counter)
                if code != 0:
                    raise _failure(recipe, log, time.monotonic() - started)
            for copy in recipe.copies:
                _copy_from_module(copy, scratch, go, log)
        scratch.chmod(0o755)
        if place.exists():
            shutil.rmtree(place)
        scratch.rename(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_go(command: list[str], recipe: Recipe, go: Go, output: int, log: Path, counter: Counter) -> int:
    """Run `go build` in the recipe's module; every line that it prints with -v is a package or a download done."""
    process = subprocess.Popen(
        command, cwd=recipe.folder, env=build_environment(go), stdin=subprocess.DEVNULL, stdout=output, stderr=output
    )
    try:
        while True:
            try:
                return process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                counter.update(log.read_text(errors="replace").splitlines())
    except BaseException:
        process.terminate()
        process.wait()
        raise


def _overlay(recipe: Recipe, go: Go, log: Path) -> list[str]:
    """What has `go build` find the files of published modules in the folders that replace them.

    Raises SandboxError where no file has one of the recipe's texts: a new version of the module may have others.
    """
    if not recipe.completed:
        return []
    changed = log.with_name("overlay")
    shutil.rmtree(changed, ignore_errors=True)
    files, missing = dict[str, str](), set(recipe.texts)
    for part in recipe.completed:
        source = _module_folder(recipe.folder, f"{part.module}@{part.version}", go, log)
        for file in source.rglob("*.go"):
            name = file.relative_to(source)
            if name.parent.as_posix() in part.own:
                continue
            place, content = file, file.read_text(encoding="utf-8") if recipe.texts else ""
            for text in [text for text in recipe.texts if text in content]:
                content, place = content.replace(text, recipe.texts[text]), changed / part.folder / name
                missing.discard(text)
            if place != file:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content, encoding="utf-8")
            files[str(recipe.place(part) / name)] = str(place)
    if missing:
        raise SandboxError(
            f"building {recipe.name} failed: no file of the modules that it completes has {sorted(missing)}",
            f"Change `texts` of {recipe.name} in {FOLDER / 'binaries.yaml'} to what their files have.",
        )
    listed = log.with_name("overlay.json")
    listed.write_text(json.dumps({"Replace": files}))
    return [f"-overlay={listed}"]


def _module_folder(folder: Path, module: str, go: Go, log: Path) -> Path:
    """Where Go keeps a module in the version that is named, or else that the folder's go.mod has."""
    command = [str(go.command), "mod", "download", "-json", module]
    result = subprocess.run(command, cwd=folder, env=build_environment(go), capture_output=True, text=True)
    if result.returncode != 0:
        log.write_text(result.stdout + result.stderr)
        raise SandboxError(f"{module} could not be downloaded: {result.stderr.strip()}", f"The log: {log}")
    return Path(json.loads(result.stdout)["Dir"])


def _copy_from_module(copy: Copy, destination: Path, go: Go, log: Path) -> None:
    module = _module_folder(FOLDER / copy.folder, copy.module, go, log)
    source, target = module / copy.path, destination / (copy.name or Path(copy.path).name)
    if source.is_dir():
        for file in filter(Path.is_file, source.rglob("*")):
            copied = target / file.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copied)
        return
    shutil.copyfile(source, target)
    target.chmod(0o755)  # files of Go's module cache are read-only and not executable


def _failure(recipe: Recipe, log: Path, seconds: float) -> SandboxError:
    lines = log.read_text(errors="replace").splitlines()
    text = "\n".join(lines)
    remedy = next((remedy for signs, remedy in _REMEDIES if any(sign in text for sign in signs)), "")
    # names of packages that were built are not about the failure
    telling = [line for line in lines if " " in line and not line.startswith("go: downloading")] or lines
    shown = "\n".join(f"    {line}" for line in telling[-12:])
    return SandboxError(
        f"building {recipe.name} failed after {seconds:.0f} s:\n{shown}",
        f"{remedy}\nThe whole log: {log}".strip(),
    )


ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"


def pulumi_of_the_machine() -> Path | None:
    """The Pulumi CLI on PATH, when it is recent enough and has its language host; else None."""
    instead = recipes()["pulumi"].instead
    found = shutil.which(instead.command) if instead else None
    if not instead or not found:
        return None
    # the host is next to the real file, not next to a link to it
    command = Path(found).resolve()
    if not all((command.parent / name).exists() for name in instead.beside):
        return None
    return command if is_recent(command, instead) else None


def built_engine() -> list[Path]:
    """Folders of the Pulumi CLI and of its language host, which an earlier run has built; none where one is missing."""
    found = []
    for name in ("pulumi", "pulumi-language-python"):
        recipe = recipes()[name]
        places = [place for place in (user_cache() / "toolchain" / name).glob("*") if _complete(recipe, place)]
        if not places:
            return []
        found.append(max(places, key=lambda place: place.stat().st_mtime))
    return found


def role_of_the_machine() -> dict[str, Path]:
    """The parts of a cluster that ``KUBEBUILDER_ASSETS`` or PATH holds in a good version, by name."""
    roles = {role: probe for recipe in recipes().values() for role, probe in recipe.roles.items()}
    found = {}
    for role, probe in roles.items():
        programs = (program for program in _programs(role, probe) if is_recent(program, probe))
        if program := next(programs, None):
            found[role] = program
    return found


def _programs(role: str, probe: Probe) -> Iterator[Path]:
    folder = os.environ.get(ASSETS_VARIABLE)
    if folder:
        yield (Path(folder).expanduser() / role).absolute()
    on_path = shutil.which(role) if probe.on_path else None
    if on_path and not _names_a_cluster(Path(on_path)):
        yield Path(on_path).absolute()


def _names_a_cluster(program: Path) -> bool:
    """Whether it is a script as the sandbox writes one itself: for one cluster, and it would come to call itself."""
    with program.open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"--kubeconfig" in start


def is_recent(program: Path, probe: Probe) -> bool:
    """Whether the program runs and has at least the probe's version."""
    try:
        output = subprocess.run(
            [program, *probe.arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return version_tuple(output) >= version_tuple(probe.at_least)
