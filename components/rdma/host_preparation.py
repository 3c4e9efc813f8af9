"""What the stack puts on the GPU nodes themselves, by DaemonSets of its own."""

from __future__ import annotations

from typing import ClassVar

from components.resources import ObjectGroup


class HostVirtualFunctions(ObjectGroup):
    """The DaemonSet that makes virtual functions, with its script.

    Must exist before: the namespace, and the labels that it selects nodes by. Ready when every node's NICs have their
    functions. Torn down without taking functions away: pods may hold them.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:HostVirtualFunctions"


class HostPreparation(ObjectGroup):
    """The DaemonSets that set up the nodes themselves, one a job and kind of nodes, with their scripts.

    Must exist before: the namespace, and the labels that they select nodes by. Ready when every node is as specified;
    a dry run is ready at once. Torn down without undoing anything on the nodes.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:HostPreparation"


class NicAddresses(ObjectGroup):
    """The DaemonSet that gives the rails' NICs their addresses on the hosts, with its script.

    Must exist before: the tables of addresses, which come with the nodes' pools where those are grouped. Ready and torn
    down as the other host preparation.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:NicAddresses"


class CniPlugins(ObjectGroup):
    """The DaemonSet that lays CNI plug-ins into the nodes.

    Must exist before: the namespace. Ready when it runs on every node. Torn down after the networks; the plug-ins stay.
    """

    type_token: ClassVar[str] = "gpu-fabric:rdma:CniPlugins"
