"""The real Pulumi engine, run for a stack: in a workspace of the sandbox's own, or with the user's own settings."""
