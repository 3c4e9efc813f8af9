"""The policy pack: `pulumi preview --policy-pack policy`. Making it serves the engine until the engine ends it."""

import sys
from pathlib import Path

# The engine starts this folder by its path, so that the repository's packages are not on Python's.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pulumi_policy import EnforcementLevel, PolicyPack

from policy.assembled import policies

PolicyPack("gpu-fabric", policies(), enforcement_level=EnforcementLevel.MANDATORY)
