"""Stand-ins for invalid values, so that checks that need a complete spec can still report further problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from gpu_fabric.catalog import Catalog, Shape
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack import PROVIDERS
from gpu_fabric.spec.suggestion import meant

SUPERNET = "0.0.0.0/0"
# For values without a default: the value that is least likely to fail a later check.
_LEAST: dict[tuple[str, ...], Any] = {
    ("cluster", "pools", "nodes"): 1,
    ("cluster", "version"): "1.35",
    ("cluster", "compartmentId"): "ocid1.compartment.oc1..unknown",
    ("fabric", "addressing", "supernet"): SUPERNET,
}


def provider_meant(sections: Mapping[str, Any]) -> str:
    """The provider that was probably meant: by its name, another or a similar one, or by the most matching keys."""
    cluster = sections.get("cluster")
    written = cluster if isinstance(cluster, dict) else {}
    named = written.get("provider")
    known = meant(named, PROVIDERS) if isinstance(named, str) else None
    return known or max(PROVIDERS, key=lambda name: _keys_of(name, written))


def _keys_of(provider: str, written: Mapping[str, Any]) -> int:
    known = {field.alias or name for name, field in PROVIDERS[provider].model_fields.items()}
    return len(known & set(written))


def drop_invalid(sections: Mapping[str, Any], faulty: Iterable[Location], known: Catalog) -> dict[str, Any]:
    """The sections without their invalid values; required values get a stand-in.

    Findings about a stand-in have no meaning: the caller must drop those whose path was invalid.
    """
    result: dict[str, Any] = json.loads(json.dumps(sections, default=str))
    # An own shape is replaced as a whole: without one of its values, the others contradict each other.
    places = {place[:3] if place[:2] == ("cluster", "shapes") else place: None for place in faulty}
    # Backwards, so that removing an entry of a list does not move the entries still to be removed.
    for *parents, last in reversed(places):
        holder: Any = result
        try:
            for part in parents:
                holder = holder[part]
            written = holder.pop(last, None) if isinstance(holder, dict) else holder.pop(last)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
        _fill(holder, (*parents, last), written, result, known)
    return result


def _fill(holder: Any, location: Location, written: Any, result: dict[str, Any], known: Catalog) -> None:
    keys = tuple(part for part in location if isinstance(part, str))
    if keys in _LEAST:
        holder[keys[-1]] = _LEAST[keys]
    elif keys == ("cluster", "region"):
        holder["region"] = {"doks": "xxx0", "oke": "xx-xxx-0"}.get(result["cluster"].get("provider"), "")
    elif keys == ("cluster", "provider"):
        holder["provider"] = provider_meant({"cluster": {**holder, "provider": written}})
    elif keys == ("cluster", "pools") and location[-1] == "pools":
        holder["pools"] = [{"name": "pool-0", "nodes": 1, "shape": _meant_shape(None, [], result, known)}]
    elif len(location) == 3 and keys[:2] == ("cluster", "shapes"):
        holder[keys[2]] = stand_in_hardware(written)
    elif keys == ("cluster", "pools", "name"):
        holder["name"] = f"pool-{location[-2]}"
    elif keys == ("cluster", "pools", "shape"):
        holder["shape"] = _meant_shape(written, result["cluster"]["pools"], result, known)
    elif keys == ("cluster", "kubeconfig"):
        holder.setdefault("kubeconfigSecret", "kubeconfig")


def stand_in_hardware(written: Any) -> dict[str, Any]:
    """A complete machine with the link layer and virtual functions that were written."""
    row: dict[str, Any] = written if isinstance(written, dict) else {}
    nic_model, vfs = row.get("nicModel"), row.get("vfsPerNic", 0)
    link_type = nic_model.get("linkType") if isinstance(nic_model, dict) else None
    return {
        "gpus": {"vendor": "nvidia", "count": 1},
        "nicModel": {"vendorId": "15b3", "linkType": link_type if link_type in ("ether", "infiniband") else "ether"},
        "vfsPerNic": vfs if type(vfs) is int and 0 <= vfs <= 128 else 1,
        "nics": [{"pci": "0000:00:00.0", "interface": "rdma0"}],
    }


def _meant_shape(written: Any, pools: list[Any], sections: dict[str, Any], known: Catalog) -> str:
    """The known shape most likely meant: a similar name, else another pool's, else the least demanding one.

    With a profile it is one of the cloud's machine types.
    """
    cloud = known.clouds.get(str(sections["cluster"].get("profile")))
    if cloud is not None:
        return next(iter(get_close_matches(str(written), list(cloud.machines), n=1)), next(iter(cloud.machines)))
    near = get_close_matches(str(written), list(known.shapes), n=1)
    beside = [pool["shape"] for pool in pools if isinstance(pool, dict) and known.find(str(pool.get("shape")))]
    return next(iter(near + beside), _least_demanding(sections, known))


def _least_demanding(sections: dict[str, Any], known: Catalog) -> str:
    """The provider's shape with the fewest rails that the stack's model can use."""
    fabric = sections.get("fabric")
    model = fabric.get("model") if isinstance(fabric, dict) else None
    rows = [row for row in known.support if row.model == model]
    link_types = {link_type for row in rows for link_type in row.link_types}
    virtual = not rows or any(row.access == "virtual" for row in rows)
    offered = CLOUD_SHAPES.get(sections["cluster"].get("provider"))

    def demands(shape: Shape) -> tuple[bool, bool, bool, int]:
        other_link = shape.nic_model is None or shape.nic_model.link_type not in link_types
        return other_link, shape.nics[0].interface is None, bool(shape.vfs_per_nic) != virtual, shape.rails

    fitting = [shape for shape in known.shapes.values() if shape.rails and offered in (None, shape.provider)]
    return min(fitting, key=demands).name
