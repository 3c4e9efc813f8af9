"""What of an image does not fit the nodes and the settings of a stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from gpu_fabric.base.enumeration import quantity
from gpu_fabric.catalog.job_image import VerbsProvider
from gpu_fabric.findings import Finding, Severity, finding
from gpu_fabric.image.software import ImageSoftware, Provider
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup, case_of
from gpu_fabric.plan.fabrics import fabric_cases, is_storage
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.rules.checking import spec_findings
from gpu_fabric.spec.stack import StackSpec

_OF_A_RELEASE = frozenset({"NCL019", "NCL022", "NCL024"})
"""The rules about the release of NCCL that a stack states: they are asked about that of the image."""

_LIBRARIES = {"nvidia": ("nccl", "NCCL"), "amd": ("rccl", "RCCL")}


class CheckedImage(FrozenModel):
    """What an image has, and what does not fit a stack; for scripts."""

    schema_version: Literal["v1"] = "v1"
    image: str
    stack: str
    software: ImageSoftware
    errors: int
    warnings: int
    findings: tuple[Finding, ...]


def checked_image(name: str, software: ImageSoftware, spec: StackSpec, plan: Plan, abi: int | None) -> CheckedImage:
    """The findings on an image; `abi` is the version that the nodes' kernel drivers have, as sysfs shows it."""
    cases = fabric_cases(spec) if spec.fabrics else (case_of(spec),)
    cases = tuple(case for case in cases if not is_storage(case.spec.fabric))
    found = [
        *(entry for case in cases for group in case.groups for entry in _of_nodes(software, case, group, abi)),
        *(entry for case in cases for entry in _of_releases(software, case)),
        *_of_programs(software, plan),
    ]
    each = tuple(dict.fromkeys(found))
    count = {level: sum(entry.severity is level for entry in each) for level in Severity}
    return CheckedImage(
        image=name,
        stack=spec.name,
        software=software,
        errors=count[Severity.ERROR],
        warnings=count[Severity.WARNING],
        findings=each,
    )


def architecture_of(case: Case, group: NodeGroup) -> str | None:
    """The architecture of a group's machines, as images name it; None where it is not known."""
    tree = case.known.topologies.get(group.shape.name) or group.shape.topology
    return case.known.job_images.architecture_of(group.shape, tree.cpu.arch if tree is not None else None)


def _of_nodes(software: ImageSoftware, case: Case, group: NodeGroup, abi: int | None) -> Iterator[Finding]:
    shape = group.shape
    architecture = architecture_of(case, group)
    if architecture is None:
        message = f"the architecture of {shape.name} is not known"
        yield finding("IMG019", "architecture", message, f"compare it yourself: the image is {software.architecture}")
    elif architecture != software.architecture:
        yield finding("IMG010", "architecture", f"it is {software.architecture}, and {shape.name} is {architecture}")
    if software.libibverbs is None:
        yield finding("IMG011", "libibverbs", "the image has no libibverbs.so.1")
        return
    driver = shape.nic_model.driver if shape.nic_model is not None else None
    needed = case.known.job_images.provider_of(driver)
    if needed is None:
        have = ", ".join(dict.fromkeys(provider.name for provider in software.providers if _loads(software, provider)))
        if not have:
            known = ", ".join(row.name for row in case.known.job_images.providers)
            yield finding("IMG012", "provider", f"no provider of {known} is in the image", "install that of the NICs")
            return
        message = f"the driver of {shape.name}'s RDMA NICs is {driver or 'not known'}, and the image has: {have}"
        yield finding("IMG019", "provider", message, "compare it yourself: `rdma link` on a node names the devices")
        return
    yield from _of_provider(software, shape.name, needed, abi)


def _of_provider(software: ImageSoftware, shape: str, needed: VerbsProvider, abi: int | None) -> Iterator[Finding]:
    place = f"provider {needed.name}"
    have = [provider for provider in software.providers if provider.name == needed.name]
    if not have:
        message = f"no lib{needed.name}-rdmav*.so is in the image, and {shape}'s RDMA NICs need it"
        yield finding("IMG012", place, message, f"install {needed.package}")
        return
    usable = [provider for provider in have if _loads(software, provider)]
    if not usable:
        wrong = have[0]
        if not wrong.named:
            message = f"no file in /etc/libibverbs.d names it: {wrong.path}"
            file = f"/etc/libibverbs.d/{needed.name}.driver"
            remedy = f"write the line `driver {needed.name}` into {file}, or install {needed.package}"
        else:
            message = f"libibverbs of the image loads *-rdmav{software.interface}.so, and not {wrong.path}"
            remedy = f"take both from one release: install {needed.package}"
        yield finding("IMG013", place, message, remedy)
        return
    for provider in usable:
        if provider.abi is None:
            message = f"{provider.path} does not show which ABI it takes"
            yield finding("IMG019", place, message, "run `ibv_devinfo` in the image on a node")
            continue
        lowest, highest = provider.abi
        takes = f"{provider.path} takes ABI {lowest if lowest == highest else f'{lowest} to {highest}'}"
        if abi is not None and not lowest <= abi <= highest:
            remedy = f"take the library that belongs to the nodes' driver: {needed.package}"
            yield finding("IMG014", place, f"{takes}, and the nodes' kernel driver has {abi}", remedy)
        elif abi is None and not lowest <= needed.kernel_abi <= highest:
            yield finding("IMG015", place, f"{takes}, and the kernel's own driver has {needed.kernel_abi}")


def _loads(software: ImageSoftware, provider: Provider) -> bool:
    return provider.named and software.interface in (None, provider.interface)


def _of_releases(software: ImageSoftware, case: Case) -> Iterator[Finding]:
    """What is wrong with the image's releases of NCCL or RCCL, by the rules about the release that a stack states."""
    library, title = _LIBRARIES[case.shape.gpus.vendor]
    have = [entry for entry in software.libraries if entry.library == library]
    releases = list(dict.fromkeys(entry.version for entry in have if entry.version is not None))
    if not have:
        yield finding("IMG016", title, f"no lib{library}.so is in the image, and {case.shape.name} needs it")
    unknown = [entry.path for entry in have if entry.version is None]
    if unknown:
        yield finding("IMG019", title, f"{unknown[0]} does not say its release", "look with NCCL_DEBUG=VERSION")
    if len(releases) > 1:
        each = ", ".join(f"{entry.version} ({entry.path})" for entry in have if entry.version is not None)
        remedy = "keep one, or look with NCCL_DEBUG=VERSION which one a job loads"
        yield finding("IMG017", title, f"the image has {quantity(len(releases), 'release')}: {each}", remedy)
    stated = case.spec.fabric.nccl.version
    if stated is not None and releases and stated not in releases:
        remedy = f"write version: {releases[0]} in fabric.nccl, or take another image"
        message = f"fabric.nccl.version is {stated}, and the image has {', '.join(releases)}"
        yield finding("IMG017", title, message, remedy)
    for release in releases:
        for entry in spec_findings(_stating(case, release), lambda rule: rule.id in _OF_A_RELEASE):
            yield entry.model_copy(update={"path": f"{title} {release}"})


def _stating(case: Case, release: str) -> Case:
    """The case of a stack that states a release of NCCL."""
    fabric = case.spec.fabric
    nccl = fabric.nccl.model_copy(update={"version": release})
    changed: dict[str, Any] = {"fabric": fabric.model_copy(update={"nccl": nccl}), "fabrics": {}}
    return case_of(case.spec.model_copy(update=changed))


def _of_programs(software: ImageSoftware, plan: Plan) -> Iterator[Finding]:
    measures = plan.verification is not None
    launches = any("mpi-operator" in one.workload.scheduler_hints.controllers for one in plan.by_fabric.values())
    wanted = [*(("ssh", "sshd") if measures or launches else ()), *(("mpirun", "all_reduce_perf") if measures else ())]
    by_ucx = [run.point_to_point for run in plan.records(PlannedVerification) if run.point_to_point is not None]
    wanted += ["ucx_perftest"] if any(one.program.endswith("ucx_perftest") for one in by_ucx) else []
    missing = [name for name in wanted if name not in software.programs]
    if missing:
        whose = "the stack's verification" if measures else "jobs of the MPI operator"
        message = f"the image has no {', '.join(missing)}, which {whose} would start"
        remedy = "install what is missing; nothing to do for an image of other jobs"
        yield finding("IMG018", "programs", message, remedy)


def image_lines(checked: CheckedImage) -> Iterator[str]:
    """The result as text."""
    software = checked.software
    names = [name for name in software.names if name != checked.image]
    named = f" ({', '.join(names)})" if names else ""
    yield f"Image {checked.image}{named}, {software.architecture}, for stack {checked.stack}"
    loads = "" if software.interface is None else f", loads *-rdmav{software.interface}.so"
    rows = [("libibverbs", f"{software.libibverbs}{loads}" if software.libibverbs else "none")]
    for provider in software.providers:
        takes = "unknown" if provider.abi is None else " to ".join(map(str, dict.fromkeys(provider.abi)))
        named = "" if provider.named else ", named by no file in /etc/libibverbs.d"
        rows.append((provider.name, f"{provider.path}, ABI {takes}{named}"))
    rows += [(entry.library, f"{entry.version or 'unknown release'}, {entry.path}") for entry in software.libraries]
    rows += list(software.programs.items())
    width = max(len(name) for name, _ in rows)
    yield from (f"    {name.ljust(width)}  {what}" for name, what in rows)
    yield from (line for entry in checked.findings for line in entry.lines())
    yield f"{quantity(checked.errors, 'error')}, {quantity(checked.warnings, 'warning')}"
