"""Entry point of the command `gpu-fabric`, and of `python -m gpu_fabric`."""


def main() -> None:
    """Run the command line; what the command `gpu-fabric` calls."""
    # Nothing is imported before this line, so that an interrupt while Python reads the program shows no traceback.
    try:
        from gpu_fabric.cli.entry import run_command_line
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run_command_line()


def kubectl_attach() -> None:
    """Run `gpu-fabric attach`; what `kubectl fabric-attach` calls, by the name `kubectl-fabric_attach`."""
    import sys

    sys.argv.insert(1, "attach")
    main()


if __name__ == "__main__":
    main()
