"""Where `python -m sandbox` starts: the commands are in `sandbox.cli`."""

from gpu_fabric.base.startup import speed_up_imports

if __name__ == "__main__":
    speed_up_imports()
    from .cli import main

    main()
