"""What an editable installation has as `gpu_fabric_sandbox`: the folder of the checkout."""

from sandbox import __path__ as __path__
