"""The components as a provider: Pulumi starts this folder with the address of its engine.

`python -m components schema` prints the schema.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def package() -> str:
    """The package of this folder's components, by the name under which it can be imported (decision 0026)."""
    if __package__:
        return __package__
    # Started as a folder, Python looks for modules in it, and so would take these for packages of their own.
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != folder]
    try:
        installed = find_spec("gpu_fabric.components") is not None
    except ModuleNotFoundError:
        installed = False
    return "gpu_fabric.components" if installed else folder.name


if __name__ == "__main__":
    import_module(f"{package()}.package.provider").main(sys.argv[1:])
