"""The policy pack of a checkout: `pulumi preview --policy-pack policy`. The engine starts this folder by its path."""

import sys
from importlib import import_module
from pathlib import Path

folder = Path(__file__).resolve().parent
# The repository's packages are not on Python's path.
sys.path.insert(0, str(folder.parent))

import_module(f"{folder.name}.serving").serve()
