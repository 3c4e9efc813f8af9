"""Settings for processes that start often: commands, and the Pulumi program."""

import gc
import os


def speed_up_imports() -> None:
    """Shorten the imports that follow; they create hundreds of thousands of objects, and nearly all of them last."""
    # Python would search them for garbage again and again.
    gc.set_threshold(1_000_000)
    # To find plug-ins, pydantic would read the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
