"""Clouds played for the Pulumi engine: provider plug-ins whose clusters are control planes of the sandbox."""
