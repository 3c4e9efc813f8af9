import subprocess
import sys

PROGRAM = """
import atexit, gc
from gpu_fabric.base.startup import shorten_start_and_end

# What is registered first runs last.
atexit.register(lambda: print(gc.get_freeze_count() > len(gc.get_objects())))
shorten_start_and_end()
print(gc.get_freeze_count())
"""


def test_what_a_process_has_made_is_not_searched_for_garbage_when_it_ends() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "True"]
