"""cluster-config.yaml of NVIDIA's k8s-launch-kit (`l8k discover`), and its presets of machines.

Source: that project's own file and presets of release lines 26.4 and 26.7: groups of equal nodes under `clusterConfig`,
each with its physical functions under `pfs`; a preset is one group alone.
"""

from __future__ import annotations

import re

import yaml

from gpu_fabric.base.grammar import shown
from gpu_fabric.base.yaml_files import NodeLoader
from gpu_fabric.discover.facts import DiscoveryError, Observation, Statements
from gpu_fabric.discover.text import Output, pci_address

COMMAND = "l8k discover"

_LINK_TYPES = {"ethernet": "ether", "infiniband": "infiniband"}
_GPU = re.compile(r"GPU([0-9]{1,3})")
_ID = re.compile(r"[0-9a-f]{4}")


def is_output(output: Output) -> bool:
    """Whether a text looks like a cluster-config.yaml."""
    return re.search(r"^(clusterConfig|pfs):", output.text, re.MULTILINE) is not None


def read(output: Output, group: str | None = None) -> Observation:
    """The NICs of one group, with the tool's own choice of the rails.

    Raises:
        DiscoveryError: not such a file, or several groups of which none is named.
    """
    found = Statements(output.file)
    node = _group(output, _compose(output), group)
    fields = _fields(node)
    workers = fields.get("workerNodes")
    names = tuple(each.value for each in workers.value) if isinstance(workers, yaml.SequenceNode) else ()
    if names:
        found.add(_line(node), "node", "", names=names)
    found.add(_line(node), "node", "", machine=_text(fields.get("machineType")))
    found.add(_line(node), "node", "", gpuName=_text(fields.get("gpuType")) or _text(fields.get("productType")))
    link = _LINK_TYPES.get(_text(fields.get("linkType")).lower())
    functions = fields.get("pfs")
    if not isinstance(functions, yaml.SequenceNode) or not functions.value:
        output.refuse(_line(node), "a group without `pfs`, its NICs", f"give the file that `{COMMAND}` writes")
    for each in functions.value:
        _add_function(output, found, each, link)
    return Observation(tuple(found.found))


def _compose(output: Output) -> yaml.Node | None:
    loader = NodeLoader(output.text)
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        output.refuse(line, f"this is not valid YAML ({error.problem})", f"give the file that `{COMMAND}` writes")
    except (yaml.YAMLError, RecursionError, ValueError):
        output.refuse(1, "this is not YAML that a tool writes", f"give the file that `{COMMAND}` writes")
    finally:
        loader.dispose()


def _group(output: Output, root: yaml.Node | None, wanted: str | None) -> yaml.Node:
    if root is None or not isinstance(root, yaml.MappingNode):
        output.refuse(1, "this is not a mapping", f"give the file that `{COMMAND}` writes")
    listed = _fields(root).get("clusterConfig")
    if listed is None:
        return root
    groups = listed.value if isinstance(listed, yaml.SequenceNode) else []
    names = [_text(_fields(each).get("identifier")) or str(number) for number, each in enumerate(groups)]
    if not groups:
        output.refuse(_line(listed), "clusterConfig has no groups of nodes", f"run `{COMMAND}` again")
    if wanted is None and len(groups) > 1:
        raise DiscoveryError(
            f"{output.file}:{_line(listed)}: {len(groups)} groups of nodes, and a stack file has one machine a run; "
            f"name one with --group: {', '.join(names)}"
        )
    if wanted is not None and wanted not in names:
        raise DiscoveryError(
            f"{output.file}:{_line(listed)}: no group {shown(wanted)}; --group is one of: {', '.join(names)}"
        )
    found: yaml.Node = groups[names.index(wanted) if wanted is not None else 0]
    return found


def _fields(node: yaml.Node) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _text(node: yaml.Node | None) -> str:
    return node.value.strip() if isinstance(node, yaml.ScalarNode) and node.value != "null" else ""


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _add_function(output: Output, found: Statements, node: yaml.Node, link: str | None) -> None:
    fields = {key: _text(value) for key, value in _fields(node).items()}
    line, address = _line(node), pci_address(fields.get("pciAddress", ""))
    if address is None:
        output.refuse(line, "an entry of `pfs` without a pciAddress", f"give the file that `{COMMAND}` writes")
    device, interface = fields.get("rdmaDevice"), fields.get("networkInterface")
    if device:
        found.add(line, "rdma", device, pci=address, interface=interface, linkType=link)
    elif interface:
        found.add(line, "interface", interface, pci=address)
    part, rail, gpu = fields.get("deviceID", ""), fields.get("rail", ""), _GPU.fullmatch(fields.get("connectedGPU", ""))
    is_near = fields.get("gpuProximity", "PIX") in ("PIX", "PXB")
    found.add(
        line,
        "pci",
        address,
        # l8k discovers NVIDIA's NICs alone.
        vendor="15b3",
        device=part if _ID.fullmatch(part) else None,
        traffic=fields.get("traffic") or "not stated",
        rail=int(rail) if rail.isascii() and rail.isdigit() and len(rail) < 4 else None,
        nearest=(int(gpu[1]),) if gpu and is_near else None,
    )
