"""Where `python -m sandbox` starts: the commands are in `sandbox.cli`."""

from gpu_fabric.base.startup import shorten_start_and_end

if __name__ == "__main__":
    shorten_start_and_end()
    from .cli import main

    main()
