"""What the stack runs on the nodes itself."""

from fabric.plan.host.cni_plugins import cni_plugins, lacking_plugins
from fabric.plan.host.daemon import COMPONENT_LABEL
from fabric.plan.host.virtual_functions import VIRTUAL_FUNCTIONS, virtual_functions, virtual_functions_script

__all__ = [
    "COMPONENT_LABEL",
    "VIRTUAL_FUNCTIONS",
    "cni_plugins",
    "lacking_plugins",
    "virtual_functions",
    "virtual_functions_script",
]
