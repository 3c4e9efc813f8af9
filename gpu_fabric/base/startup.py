"""Settings for processes that start and end often: commands, and the Pulumi program."""

import atexit
import gc
import os


def shorten_start_and_end() -> None:
    """Shorten the imports that follow, and the end: they create hundreds of thousands of objects that last."""
    # Python would search them for garbage again and again,
    gc.set_threshold(1_000_000)
    # and at the end a last time, which takes as long as half of the imports. Frozen objects are left out of the search;
    # their memory is the system's again when the process has ended.
    atexit.register(gc.freeze)
    # To find plug-ins, pydantic would read the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
