"""Checks of NCCL: the settings of the stack file, and the topology file that jobs get."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from itertools import product
from typing import Any

from gpu_fabric.catalog import DeviceAccess, NcclVariable
from gpu_fabric.catalog.shape import adapter_of
from gpu_fabric.catalog.version import Version
from gpu_fabric.k8s.core import ConfigMap
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.nccl.outage import RETRIES, TIMEOUT, outage
from gpu_fabric.nccl.tree_problems import tree_problems
from gpu_fabric.plan import Plan
from gpu_fabric.plan.case import Case, NodeGroup
from gpu_fabric.plan.domains import has_domains, nvlink_domain
from gpu_fabric.plan.library_settings import library_values
from gpu_fabric.plan.nccl_files import TOPOLOGY_PLACE
from gpu_fabric.plan.nccl_settings import (
    PlannedSetting,
    environment_of,
    fabric_facts,
    planned_settings,
    resilience_settings,
)
from gpu_fabric.plan.rails import plan_rails
from gpu_fabric.plan.records import config_map_name
from gpu_fabric.rules.planned_nodes import node_groups
from gpu_fabric.rules.registry import Problem, check, check_each, check_of, check_plan, in_cluster, in_fabric
from gpu_fabric.spec.places import dotted
from gpu_fabric.spec.stack import own_shape
from gpu_fabric.spec.suggestion import nearest

_FAMILIES = {"AF_INET": 4, "AF_INET6": 6}
_LEAVE_IT = "leave it out: the program derives it from the shape"
# The reader of a variable, by library, where it is not NCCL.
_OTHERS = {
    "rccl": "RCCL",
    "nccl-tests": "nccl-tests",
    "launcher": "an MPI launcher",
    "driver": "AMD's driver and runtime",
}
_WISH = in_fabric("nccl", "topology")
_GRAPHS = "NCCL_GRAPH_FILE"
_MNNVL = "NCCL_MNNVL_ENABLE"
_place = partial(in_fabric, "nccl", "settings")


@check("NCL010")
def variables_are_known(case: Case) -> Iterator[Problem]:
    """Every variable of the stack file's own settings is one that the catalog knows."""
    for name in case.spec.fabric.nccl.settings:
        if name not in case.known.variables and name not in case.known.nccl_foreign:
            guess = nearest(name, case.known.variables)
            yield Problem(
                _place(name),
                f"no variable {name} is known",
                f"{guess}remove it, unless a release newer than this program has it",
            )


@check("NCL011")
def values_are_read_as_written(case: Case) -> Iterator[Problem]:
    """A setting that NCCL reads as a whole number is written as one."""
    for variable, value in _settings(case):
        if not variable.takes(value):
            yield Problem(
                _place(variable.name),
                f"{value!r} is not a whole number, and NCCL would read it as {_number_read_by_nccl(value)}",
            )


@check("NCL012")
def settings_keep_rdma(case: Case) -> Iterator[Problem]:
    """No setting of the stack file takes RDMA or GPUDirect from jobs, or names files in place of the stack's."""
    for variable, value in _settings(case):
        for unfit in variable.refused:
            if unfit.holds(value, case.choices.link_type, _access(case)):
                yield Problem(_place(variable.name), f"{variable.name}={value}: {unfit.why}", unfit.instead)


@check_of("NCL013", lambda case: case.spec.fabric.nccl.settings.get("NCCL_IB_HCA"))
def devices_are_the_rails(case: Case, value: str) -> Iterator[Problem]:
    """NCCL_IB_HCA of the stack file names each rail's RDMA device exactly, and none of other NICs."""
    if _access(case) == "virtual":
        # In addition to storage only the user can know the names, such as those that a rule of the nodes gives.
        wrong = None if case.storage else _virtual_device_problem(value)
    else:
        wrong = "; ".join(_device_problems(case, value))
    if wrong:
        yield Problem(_place("NCCL_IB_HCA"), f"NCCL_IB_HCA={value} {wrong}", _LEAVE_IT)


@check_of("NCL014", lambda case: case.spec.fabric.nccl.settings.get("NCCL_SOCKET_IFNAME"))
def bootstrap_uses_no_rail(case: Case, value: str) -> Iterator[Problem]:
    """NCCL_SOCKET_IFNAME of the stack file takes no interface of the fabric."""
    on_host = case.choices.model == "host-network"
    fabric = [rail.interface if on_host else rail.pod_interface for rail in plan_rails(case)]
    taken = [name for name in fabric if name is not None and NameList.parse(value).takes(name)]
    if taken:
        yield Problem(_place("NCCL_SOCKET_IFNAME"), f"NCCL_SOCKET_IFNAME={value} takes the fabric's {', '.join(taken)}")


@check("NCL015")
def addresses_are_the_fabrics(case: Case) -> Iterator[Problem]:
    """Settings about addresses fit those of the fabric."""
    settings = case.spec.fabric.nccl.settings
    version = fabric_facts(case).ip_version
    family = settings.get("NCCL_IB_ADDR_FAMILY")
    if family is not None and (family not in _FAMILIES or (version is not None and _FAMILIES[family] != version)):
        said = "no family of addresses" if family not in _FAMILIES else f"not the fabric's, which is IPv{version}"
        yield Problem(
            _place("NCCL_IB_ADDR_FAMILY"),
            f"NCCL_IB_ADDR_FAMILY={family} is {said}",
            f"write {_family_name(version)}, or leave it out",
        )
    written = settings.get("NCCL_IB_ADDR_RANGE")
    supernet = case.spec.fabric.addressing.supernet
    if written is None or version is None or supernet is None:
        return
    try:
        fits = supernet.subnet_of(ip_network(written, strict=False))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        fits = False
    if not fits:
        yield Problem(
            _place("NCCL_IB_ADDR_RANGE"),
            f"NCCL_IB_ADDR_RANGE={written} does not hold the fabric's addresses, {supernet}",
            f"write {supernet}, or leave it out",
        )


@check_of("NCL016", lambda case: case.spec.fabric.nccl.settings.get(_MNNVL))
def jobs_start_without_a_channel(case: Case, value: str) -> Iterator[Problem]:
    """NVLink between nodes stays off, which NCCL can use with an IMEX channel only: on other machines, not forced."""
    if has_domains(case) and _is_rack(case):
        return
    if value == "1" or (value != "0" and _is_rack(case)):
        yield Problem(_place(_MNNVL), f"{_MNNVL}={value}, and no pod has an IMEX channel, so jobs do not start")


@check("NCL025")
def nvlink_between_nodes_is_used(case: Case) -> Iterator[Problem]:
    """Jobs on machines with NVLink between nodes use it."""
    if _is_rack(case) and not has_domains(case):
        yield Problem(in_cluster("pools"), f"{case.shape.name}: NVLink between nodes is not used, {_MNNVL} is 0")


@check("NCL017")
def settings_belong_to_every_job(case: Case) -> Iterator[Problem]:
    """Settings of the stack file are for all of its jobs, and do something on its fabric."""
    vendor = case.shape.gpus.vendor
    for variable, value in _settings(case):
        for unfit in variable.discouraged:
            if unfit.holds(value, case.choices.link_type, _access(case)):
                yield Problem(_place(variable.name), f"{variable.name}={value}: {unfit.why}", unfit.instead)
        if variable.library not in ("nccl", {"amd": "rccl"}.get(vendor)):
            other = case.known.libraries.by_name.get(variable.library)
            whose = _OTHERS[variable.library] if other is None else other.title
            remedy = "leave it out" if other is None else f"leave it out: attach sets it where {whose} is used"
            yield Problem(_place(variable.name), f"{variable.name} is read by {whose} and not by NCCL", remedy)


@check("NCL018")
def catalog_values_are_kept(case: Case) -> Iterator[Problem]:
    """The stack file leaves the catalog's values for its fabric as they are."""
    own = case.spec.fabric.nccl.settings
    facts = fabric_facts(case)
    for row in planned_settings(case.shape, case.known, _access(case), replace(facts, own={})):
        value = own.get(row.variable)
        if value is not None and row.scope != "verification" and value != row.value:
            yield Problem(
                _place(row.variable), f"{row.variable} is {value} instead of {row.value}: {row.why.rstrip('.')}"
            )


@check("NCL019")
def settings_are_old_enough(case: Case) -> Iterator[Problem]:
    """The NCCL (RCCL) of the jobs has every variable that they are given."""
    stated = case.spec.fabric.nccl.version
    release = _oldest_release(case) if stated is None else Version.parse(stated)
    if release is None:
        return
    whose = f"the tests of release line {case.line.name} have" if stated is None else "the jobs' images have"
    ours = dotted(("software", "releaseLine") if stated is None else ("fabric", "nccl", "version"))
    for row in _all_settings(case):
        variable = case.known.variables.get(row.variable)
        if variable is not None and variable.newer_than(release):
            yield Problem(
                _place(row.variable) if row.stated_by == "stack" else ours,
                f"{row.variable}={row.value} came with NCCL {variable.since}, and {whose} {release}",
                "take images with a newer release, and write it in fabric.nccl.version",
            )
        elif variable is not None and variable.older_than(release):
            yield Problem(
                _place(row.variable),
                f"NCCL {variable.last} was the last with {row.variable}, and {whose} {release}",
                "leave it out",
            )


@check("NCL020")
def values_are_within_bounds(case: Case) -> Iterator[Problem]:
    """Every setting of the stack file has a value that the library takes."""
    for variable, value in _settings(case):
        told_already = any(unfit.holds(value, case.choices.link_type, _access(case)) for unfit in variable.refused)
        if variable.limits is not None and not variable.limits.hold(value) and not told_already:
            yield Problem(
                _place(variable.name),
                f"{variable.name} does not take {value}",
                f"write {variable.limits.said}, or leave it out",
            )


@check("NCL021")
def settings_are_the_librarys(case: Case) -> Iterator[Problem]:
    """No setting of the stack file is read by other programs of a pod."""
    for name in case.spec.fabric.nccl.settings:
        if why := case.known.nccl_foreign.get(name):
            yield Problem(_place(name), f"{name} is none of NCCL's: {why}")


@check("NCL022")
def releases_do_not_fail_these_gpus(case: Case) -> Iterator[Problem]:
    """The NCCL of the jobs, where it is known, has no defect that the stack's GPUs show."""
    stated = case.spec.fabric.nccl.version
    tested = [row.nccl for row in case.line.nccl_tests if row.vendor == case.shape.gpus.vendor]
    releases = [Version.parse(stated)] if stated is not None else tested
    algorithms = environment_of(_all_settings(case), "training").get("NCCL_ALGO")
    for defect in case.known.nccl_defects:
        # Without a stated release, jobs may have any of those in the release line's tests.
        if releases and all(defect.shows(release, case.shape.gpus.model, algorithms) for release in releases):
            place = ("fabric", "nccl", "version") if stated is not None else ("software", "releaseLine")
            yield Problem(
                dotted(place),
                f"NCCL {max(releases)} on {case.shape.gpus.model}: {defect.what}",
                f"take images with NCCL {defect.repaired} or later, or have jobs set {defect.avoided_by}",
            )


@check_each("NCL023", node_groups)
def failover_has_another_port(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """Where jobs go on over another port, each RDMA NIC has one next to it on its adapter, and NCCL merges both."""
    if not case.known.nccl_resilience[case.spec.fabric.resilience].second_port:
        return
    shape, place = group.shape, in_fabric("resilience")
    remedy = "write ride-out-flaps, fail-fast or default"
    if shape.gpus.vendor != "nvidia":
        yield Problem(place, f"{shape.name} runs RCCL, of which no release is known to have it", remedy)
        return
    addresses = [nic.pci for nic in shape.nics if nic.pci is not None]
    if len(addresses) < len(shape.nics):
        yield Problem(
            place,
            f"the PCI addresses of {shape.name}'s NICs are not known, so nothing says that two are on one adapter",
            f"{remedy}; or write the address of each NIC in fabric.rails",
        )
        return
    ports = Counter(map(adapter_of, addresses))
    alone = [address for address in addresses if ports[adapter_of(address)] == 1]
    if alone:
        few = "every NIC" if len(alone) == len(addresses) else f"the NIC at {', '.join(alone)}"
        yield Problem(place, f"{few} of {shape.name} is alone on its adapter", remedy)
    if case.spec.fabric.nccl.settings.get("NCCL_IB_MERGE_NICS") == "0":
        yield Problem(_place("NCCL_IB_MERGE_NICS"), "NCCL_IB_MERGE_NICS=0 keeps the ports apart", "leave it out")


@check("NCL024")
def failover_is_in_the_release(case: Case) -> Iterator[Problem]:
    """Where jobs go on over another port, the NCCL that the stack file states has that."""
    stated, needed = case.spec.fabric.nccl.version, case.known.nccl_resilience[case.spec.fabric.resilience].since
    if stated is not None and needed is not None and not Version.parse(stated).has_reached(needed):
        yield Problem(in_fabric("resilience"), f"it came with NCCL {needed}, and the jobs' images have {stated}")


@check("NCL026")
def settings_leave_the_choice_alone(case: Case) -> Iterator[Problem]:
    """No setting of the stack file undoes its choice of what jobs do when a link fails."""
    chosen = environment_of(resilience_settings(case), "training")
    if not chosen:
        return
    planned, own = outage(chosen), case.spec.fabric.nccl.settings
    counted_on = {RETRIES: str(planned.retries), **chosen}
    for name, value in own.items():
        if counted_on.get(name, value) == value:
            continue
        message = f"{value} wins over {counted_on[name]}, which resilience: {case.spec.fabric.resilience} counts on"
        if name in (TIMEOUT, RETRIES) and value.isdecimal():
            seconds = outage(chosen | {name: value}).ridden_out
            message += f"; jobs ride out {seconds:.1f} s in the place of {planned.ridden_out:.1f} s"
        yield Problem(_place(name), message)


@check("NCL027")
def programs_of_other_libraries_keep_the_fabric(case: Case) -> Iterator[Problem]:
    """No setting of the stack file takes the fabric from programs that send by another library than NCCL."""
    own = case.spec.fabric.nccl.settings
    others = {name: value for name, value in own.items() if name not in case.known.nccl_variables}
    if not others:
        return
    # Most stacks have none, and need nothing of what attaches the fabric.
    from gpu_fabric.attach.variables import Surroundings, harm_of

    nccl = environment_of(_all_settings(case), "training")
    around = Surroundings(
        own=own,
        fabric=nccl,
        lists={name: value for part in library_values(case, nccl).values() for name, value in part.items()},
        interfaces=[rail.pod_interface for rail in plan_rails(case) if rail.pod_interface is not None],
        gpus=case.shape.gpus.count,
        nics=case.shape.rails,
        has_rights=case.choices.model == "host-network",
    )
    for name, value in others.items():
        if harm := harm_of(name, value, around):
            yield Problem(_place(name), f"{name}={value}: {harm.effect}", harm.instead)


def _settings(case: Case) -> Iterator[tuple[NcclVariable, str]]:
    """The stack file's settings, of variables that are known."""
    for name, value in case.spec.fabric.nccl.settings.items():
        variable = case.known.variables.get(name)
        if variable is not None:
            yield variable, value


def _access(case: Case) -> DeviceAccess:
    return case.choices.access or "physical"


def _all_settings(case: Case) -> tuple[PlannedSetting, ...]:
    return planned_settings(case.shape, case.known, _access(case), fabric_facts(case))


def _is_rack(case: Case) -> bool:
    """Whether the machines have NVLink between nodes, which NCCL would use."""
    return case.purpose == "compute" and nvlink_domain(case) is not None


def _number_read_by_nccl(value: str) -> str:
    found = re.match(r"\s*[-+]?(0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", value)
    return "0" if found is None else str(int(found[0], 8) if re.match(r"0[0-9]", found[1]) else int(found[0], 0))


def _family_name(version: int | None) -> str:
    return next((name for name, number in _FAMILIES.items() if number == version), " or ".join(_FAMILIES))


def _oldest_release(case: Case) -> Version | None:
    """The oldest NCCL in the vendor's tests of the release line."""
    return min((row.nccl for row in case.line.nccl_tests if row.vendor == case.shape.gpus.vendor), default=None)


def _virtual_device_problem(value: str) -> str | None:
    """The names of virtual functions are not known before a node starts; a pod sees no others."""
    if re.fullmatch(r"[a-z]+[0-9]?(_[a-z]+)?", value):
        return None
    return "names single devices, and pods hold virtual functions, whose names no shape has"


def _device_problems(case: Case, value: str) -> Iterator[str]:
    taken = NameList.parse(value)
    if any(name.startswith(("=", "^")) for name in taken.names):
        yield "has more than one equals sign or caret; one is allowed, before the whole list"
        return
    if not taken.exact and any(re.search(r"[0-9]$", name) and "_" in name for name in taken.names):
        yield "has no equals sign before it, so that each name is the beginning of names: mlx5_1 also takes mlx5_10"
        return
    rails = [nic.rdma_device for nic in case.shape.nics if nic.rdma_device is not None]
    front = [nic.rdma_device for nic in case.shape.front_end_nics or () if nic.rdma_device is not None]
    if not rails:
        return
    if foreign := [name for name in front if taken.takes(name)]:
        yield f"takes front-end NICs: {', '.join(foreign)}"
    if idle := [name for name in rails if not taken.takes(name)]:
        yield f"leaves out rails: {', '.join(idle)}"
    strange = [entry for entry in taken.names if not any(taken.matches(entry, name) for name in (*rails, *front))]
    if strange and not taken.others:
        yield f"names devices that {case.shape.name} does not have: {', '.join(strange)}"


@check("NCL001")
def topology_is_published(case: Case) -> Iterator[Problem]:
    """Pods with virtual functions get a topology file where the shape's PCI tree is known."""
    asked = case.spec.fabric.nccl.topology != "auto"
    if not asked and case.choices.access == "virtual" and case.shape.name not in case.known.topologies:
        yield Problem(in_cluster("pools"), f"{case.shape.name} gets no NCCL topology file")


@check("NCT001")
def stated_trees_fit_their_shapes(case: Case) -> Iterator[Problem]:
    """Every PCI tree in the stack file has all GPUs and NICs of its shape once, as near each other as in the shape."""
    for name, hardware in case.spec.cluster.shapes.items():
        if hardware.topology is not None:
            for location, message, remedy in tree_problems(own_shape(name, hardware), hardware.topology):
                yield Problem(in_cluster("shapes", name, *location), message, remedy)


@check_each("NCT002", node_groups)
def requested_trees_are_known(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """Where a topology file is asked for, the PCI tree of every shape is published or in the stack file."""
    if case.spec.fabric.nccl.topology in ("lean", "full") and group.shape.name not in case.known.topologies:
        published = ", ".join(name for name, tree in case.known.topologies.items() if tree.full is not None)
        yield Problem(
            _WISH,
            f"no PCI tree of {group.shape.name} is published or in the stack file, and none is guessed",
            f"write auto or none; for a shape of your own, its topology; published are those of {published}",
        )


@check("NCT003")
def full_forms_are_published_and_fit(case: Case) -> Iterator[Problem]:
    """The full form is asked for only where it is published and pods hold virtual functions."""
    access = case.choices.access
    if case.spec.fabric.nccl.topology != "full" or access is None:
        return
    trees = {group.shape.name: case.known.topologies.get(group.shape.name) for group in case.groups}
    for name, tree in trees.items():
        if tree is not None and tree.full is None:
            yield Problem(_WISH, f"a tree in the stack file, as that of {name}, has no full form", "write lean or auto")
        elif tree is not None and access != "virtual":
            message = f"the full form for {name} names virtual functions; pods of model {case.choices.model} hold none"
            yield Problem(_WISH, message, "write none or auto, or lean to have a file all the same")


@check("NCT004")
def bare_metal_needs_no_file(case: Case) -> Iterator[Problem]:
    """No topology file is asked for where pods see the PCI tree of bare metal themselves."""
    if case.spec.fabric.nccl.topology != "lean" or case.choices.access in (None, "virtual"):
        return
    if case.shape.provider == "oci" and case.shape.name in case.known.topologies:
        yield Problem(_WISH, f"pods of model {case.choices.model} see the PCI tree of {case.shape.name} themselves")


@check_each("NCT005", node_groups)
def rails_are_where_the_published_tree_has_them(case: Case, group: NodeGroup) -> Iterator[Problem]:
    """NICs that the stack file puts elsewhere are in the places of the shape's published tree, or no file is made."""
    access, wish = case.choices.access, case.spec.fabric.nccl.topology
    if access is None or wish == "none" or (wish == "auto" and access != "virtual"):
        return
    tree = case.known.topologies.get(group.shape.name)
    # The tree of an own shape is compared with the shape itself, and again here where single rails are changed.
    moved = any(entry.pci or entry.nearest_gpu is not None for entry in case.spec.fabric.rails)
    problems = tree_problems(group.shape, tree) if tree is not None and moved else ()
    if problems:
        yield Problem(
            in_fabric("rails"),
            f"not as in the PCI tree of {group.shape.name}: {problems[0].message}",
            f"correct pci or nearestGpu, or write {_WISH}: none",
        )


@check_plan("NCT006")
def topology_file_is_where_nccl_looks(case: Case, plan: Plan) -> Iterator[Problem]:
    """The topology file is in every offered namespace, is mounted from there, and NCCL_TOPO_FILE is its path."""
    contract = plan.workload
    files = [file for file in plan.nccl.files if file.variable is not None]
    there = {
        (entry.object.metadata.namespace, entry.object.metadata.name): entry.object.data or {}
        for entry in plan.applied("nccl")
        if isinstance(entry.object, ConfigMap)
    }
    patch: dict[str, Any] = contract.pod_template_patch
    (container,) = patch["spec"]["containers"]
    mounted = {(mount["mountPath"], mount.get("subPath")) for mount in container.get("volumeMounts", ())}
    variables = {entry["name"]: entry["value"] for entry in container.get("env", ())}
    ours = "if your stack file is not at fault, this program is wrong"
    for file, namespace in product(files, contract.namespaces):
        if there.get((namespace, file.config_map), {}).get(file.key) != file.content:
            yield Problem(_WISH, f"ConfigMap {file.config_map} is not in {namespace} with {file.key}", ours)
    for file in files:
        if file.config_map != config_map_name(file.config_map.rpartition("-")[0], file.content):
            yield Problem(_WISH, f"the name of ConfigMap {file.config_map} does not carry its content's hash", ours)
        if (file.mount_path, file.key) not in mounted or variables.get(str(file.variable)) != file.mount_path:
            yield Problem(
                _WISH, f"{file.variable} does not lead to the file that is mounted at {file.mount_path}", ours
            )


@check_plan("NCT007")
def nothing_leads_nccl_elsewhere(case: Case, plan: Plan) -> Iterator[Problem]:
    """No setting names a graph file, or a topology file other than the stack's own."""
    settings, topology = plan.nccl.environment, str(TOPOLOGY_PLACE.variable)
    for name in (_GRAPHS, topology):
        if name in settings:
            remedy = "take it out" if name == _GRAPHS else f"take it out; {_WISH} says which file there is"
            yield Problem(in_fabric("nccl", "settings"), f"the settings have {name}={settings[name]}", remedy)
