"""What runs on the nodes themselves."""

from fabric.plan.host.virtual_functions import VIRTUAL_FUNCTIONS, virtual_functions, virtual_functions_script

__all__ = ["VIRTUAL_FUNCTIONS", "virtual_functions", "virtual_functions_script"]
