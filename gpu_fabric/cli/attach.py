"""`gpu-fabric attach` and `detach`: add the fabric to manifests, and remove what `attach` added."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gpu_fabric.attach.attachment import AttachOptions
from gpu_fabric.attach.groups import contract_for
from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.attach.text.manifest_files import FilesError, attach_files
from gpu_fabric.attach.text.manifest_text import read_manifests
from gpu_fabric.attach.text.manifests import detach_text
from gpu_fabric.cli.conversation import refuse, say, text_of
from gpu_fabric.cli.stack_choice import ContractFile, Groups, StackFile, StackName, chosen_contracts
from gpu_fabric.cli.standard_streams import print_document
from gpu_fabric.contract.several import Contracts
from gpu_fabric.findings import InputError
from gpu_fabric.report.terminal_progress import show_progress


def attach(
    manifests: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|FOLDER|-", help="workload manifests, YAML or JSON; folders of them; - for standard input"
        ),
    ],
    stack: StackName = None,
    stack_file: StackFile = None,
    contract: ContractFile = None,
    group: Groups = None,
    container: Annotated[
        list[str] | None,
        typer.Option("-c", "--container", help="container, role, or role/container that gets it; more than once"),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("-n", "--namespace", help="namespace of manifests that name none; default where none is said"),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="queue of Kueue, or of Volcano for its own jobs")] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            "--claim",
            metavar="SIZE",
            help="size of the pods' claims: node, numa-node, pci-root or pair; the stack's first if left out",
        ),
    ] = None,
    rack: Annotated[
        str | None,
        typer.Option("--rack", metavar="NAME", help="rack whose nodes the job uses by NVLink, or none for the rails"),
    ] = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            "--library",
            metavar="NAME",
            help="library other than NCCL by which it sends (ucx, nixl, nvshmem, deepep, mooncake, gloo; none), "
            "instead of those that are recognised; more than once",
        ),
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="kind whose documents stay as they are; more than once")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="print nothing; status 1 where a workload is not, or no longer, attached")
    ] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="write the files over instead of printing")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="write the manifests into this folder instead")
    ] = None,
) -> None:
    """Print or write workload manifests with the fabric attached: networks, devices, files; the rest as it was."""
    if contract in manifests:
        refuse("manifests and contract cannot be the same file")
    if check + in_place + (out is not None) > 1:
        refuse("--check, --in-place and --out exclude each other: write one")
    if "-" in manifests and (len(manifests) > 1 or in_place or out is not None):
        refuse("standard input is read alone, and its result is printed: leave out other files, --in-place and --out")
    files = ManifestFiles(manifests)
    if not (files.is_one or check or in_place or out is not None):
        refuse("folders and several files are not printed: write --in-place, --out DIR or --check")
    contracts = chosen_contracts(stack, stack_file, contract)
    texts = {name: text_of(name) for name in files.names}
    try:
        known = contract_for(contracts, group or (), _documents(contracts, texts))
    except InputError as error:
        refuse(f"{error}; nothing was attached")
    try:
        with show_progress() as progress:
            progress.step("attaching the fabric to the manifests")
            named = tuple(container or ()), namespace, queue, tuple(skip or ()), True, claim, rack, tuple(library or ())
            options = AttachOptions(*named)
            attached = attach_files(texts, known, options, files.found)
    except FilesError as error:
        raise typer.Exit(_say_reasons(error, files)) from None
    for file in attached.skipped:
        say(f"{file}: contains no Kubernetes object, and is left out")
    for whose, note in attached.notes:
        say(f"{whose or files.together}: {note.text}")
    changed = [name for name, text in attached.texts.items() if text != texts[name]]
    if check:
        for name in changed:
            say(f"{name}: the fabric is not attached, or not as the stack has it; nothing was attached")
        raise typer.Exit(1 if changed else 0)
    if in_place:
        write_manifests({Path(name): attached.texts[name] for name in changed})
    elif out is not None:
        targets = files.targets(list(attached.texts), out)
        write_manifests({targets[name]: text for name, text in attached.texts.items()})
    else:
        print_document(*attached.texts.values())


def _documents(contracts: Contracts, texts: Mapping[str, str]) -> Iterator[Any]:
    """The documents of the texts that can be read, where they decide which of several fabrics is meant."""
    for text in texts.values() if len(contracts) > 1 else ():
        try:
            yield from read_manifests(text).documents
        except InputError:
            # What is wrong with it is said when the fabric is attached.
            continue


def _say_reasons(error: FilesError, files: ManifestFiles) -> int:
    """Print why nothing was attached, and give the exit status: 2 if a file contains no manifests, else 1."""
    for file, reason in error.reasons.items():
        name = file or files.together
        say(reason.explanation(name) if isinstance(reason, AttachError) else f"{name}: {reason}; nothing was attached")
    return 2 if any(isinstance(reason, InputError) for reason in error.reasons.values()) else 1


def detach(
    file: Annotated[str, typer.Argument(help="manifests that attach printed, YAML or JSON; - for standard input")],
) -> None:
    """Print workload manifests without the fabric: all that their stamps say was added; the rest as it is."""
    try:
        text = text_of(file)
        detached = detach_text(text)
    except InputError as error:
        refuse(f"{file}: {error}; nothing was detached")
    except AttachError as error:
        say(error.explanation(file, "detached"))
        raise typer.Exit(1) from None
    if STAMP not in text:
        say(f"{file}: no pod template has the annotation {STAMP}, so nothing is known to have been added")
    print_document(detached)


_ENDINGS = (".yaml", ".yml", ".json")


class ManifestFiles:
    """The files of arguments, by the names that messages have; folders are gone through.

    `found` are those that were not named, but are in a folder. Hidden files and folders, and links to folders, are
    left out.
    """

    def __init__(self, arguments: list[str]) -> None:
        self._places: dict[str, Path] = {}
        self.found: set[str] = set()
        self.folders = [Path(argument) for argument in arguments if argument != "-" and Path(argument).is_dir()]
        for argument in arguments:
            folder = Path(argument)
            if folder in self.folders:
                for path in _manifests_in(folder):
                    if str(path) not in self._places:
                        self.found.add(str(path))
                        self._places[str(path)] = path.relative_to(folder)
            else:
                self.found.discard(argument)
                self._places[argument] = Path(folder.name)
        if not self._places:
            refuse(f"{', '.join(arguments)}: there is no file that ends with {', '.join(_ENDINGS)}")

    @property
    def names(self) -> list[str]:
        """Every file, in the order of the arguments."""
        return list(self._places)

    @property
    def is_one(self) -> bool:
        """Whether one file, or standard input, was named."""
        return len(self._places) == 1 and not self.folders

    @property
    def together(self) -> str:
        """All files, for a message."""
        return f"all {len(self._places)} files"

    def targets(self, names: list[str], out: Path) -> dict[str, Path]:
        """Where files are written to below a folder; refuses two in one place, and what would be read the next time."""
        if inside := next((one for one in self.folders if out.resolve().is_relative_to(one.resolve())), None):
            refuse(f"--out {out} is inside {inside}, whose manifests are read: name a folder next to it")
        targets = {name: out / self._places[name] for name in names}
        owners: dict[Path, str] = {}
        for name, target in targets.items():
            if (other := owners.setdefault(target, name)) != name:
                refuse(f"--out {out}: {other} and {name} would both be written to {target}; name two folders")
            if target.resolve() == Path(name).resolve():
                refuse(f"--out {out}: {name} would be written over; write --in-place for that")
        return targets


def write_manifests(texts: Mapping[Path, str]) -> None:
    """Write files, with the folders that are missing."""
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        except OSError as error:
            refuse(f"{path}: {error.strerror}; files after it are not written")


def _manifests_in(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(files) if name.endswith(_ENDINGS) and name[0] != ".")
