"""ResourceSlices as drivers write them: DRANET 1.4.0, NVIDIA's driver 0.4.1, the SR-IOV driver at cd9404f.

Names and types of the attributes are those of pkg/inventory/db.go, cmd/gpu-kubelet-plugin/deviceinfo.go and
pkg/devicestate/discovery.go.
"""

from typing import Any

Object = dict[str, Any]
COLLECTION = "apis/resource.k8s.io/v1/resourceslices"
CLASSES = "apis/resource.k8s.io/v1/deviceclasses"
CLAIMS = "apis/resource.k8s.io/v1/resourceclaims"
TEMPLATES = "apis/resource.k8s.io/v1/resourceclaimtemplates"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"


def typed(**attributes: str | int | bool | None) -> Object:
    """Attributes with their types; `__` stands for the slash of a domain, `_` for its dots."""
    kinds = {bool: "bool", int: "int", str: "string"}
    return {
        key.replace("__", "/").replace("_", "."): {kinds[type(value)]: value}
        for key, value in attributes.items()
        if value is not None
    }


def resource_slice(driver: str, node: str, devices: list[Object], generation: int = 1, of: int = 1) -> Object:
    """A driver's slice of a node."""
    pool = {"name": node, "generation": generation, "resourceSliceCount": of}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    return {"kind": "ResourceSlice", "metadata": {"name": f"{node}-{driver}-{generation}x7k2p"}, "spec": spec}


def nic(pci: str, interface: str | None = None, root: str = "", **more: str | int | bool) -> Object:
    """A NIC as DRANET publishes it; without an interface it is in a pod, or for RDMA alone."""
    attributes = typed(
        dra_net__pciAddress=pci,
        dra_net__ifName=interface,
        dra_net__encapsulation="ether" if interface else None,
        dra_net__mtu=4220 if interface else None,
        dra_net__pciVendor="Mellanox Technologies",
        dra_net__pciDevice="MT2910 Family [ConnectX-7]",
        dra_net__numaNode=0,
        dra_net__rdma=True,
        resource_kubernetes_io__pcieRoot=root or f"pci{pci[:7]}",
    )
    attributes |= {f"dra.net/{key}": value for key, value in typed(**more).items()}
    return {"name": f"pci-{pci.replace(':', '-').replace('.', '-')}", "attributes": attributes}


def virtual_function(pci: str, physical: str, interface: str) -> Object:
    """A virtual function as the SR-IOV driver publishes it."""
    own = typed(pciAddress=pci, pfPciAddress=physical, PFName=interface, vfID=0, linkType="ethernet", rdmaCapable=True)
    own |= typed(vendor="15b3", deviceID="101e", pfDeviceID="1021")
    attributes = {f"{SRIOV}/{key}": value for key, value in own.items()}
    attributes |= typed(resource_kubernetes_io__pciBusID=pci, resource_kubernetes_io__pcieRoot=f"pci{pci[:7]}")
    return {"name": pci.replace(":", "-").replace(".", "-"), "attributes": attributes}


def gpu(number: int, pci: str, product: str = "NVIDIA H100 80GB HBM3", root: str = "") -> Object:
    """A GPU as NVIDIA's driver publishes it."""
    root = root or f"pci{pci[:7]}"
    attributes = typed(type="gpu", productName=product, resource_kubernetes_io__pciBusID=pci)
    attributes |= typed(resource_kubernetes_io__pcieRoot=root) | {"driverVersion": {"version": "580.95.5"}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}}}


def device_class(name: str, *expressions: str) -> Object:
    """A DeviceClass with selectors."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": selectors}}


def request(name: str, of_class: str, *expressions: str, count: int = 1, **more: Any) -> Object:
    """A request of a claim."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    exactly = {"deviceClassName": of_class, "allocationMode": "ExactCount", "count": count, "selectors": selectors}
    return {"name": name, "exactly": {**exactly, **more}}


def claim(name: str, *requests: Object, match: str = "", held: tuple[tuple[str, str, str], ...] = ()) -> Object:
    """A claim of the namespace default; `held` are driver, pool and device of what it was given."""
    devices: Object = {"requests": list(requests)}
    if match:
        devices["constraints"] = [{"matchAttribute": match, "requests": [row["name"] for row in requests]}]
    results = [dict(zip(("driver", "pool", "device"), one, strict=True), request="any") for one in held]
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    metadata = {"name": name, "namespace": "default"}
    return {"kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": devices}, "status": status}
