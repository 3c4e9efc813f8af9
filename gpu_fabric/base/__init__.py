"""Foundations of the core: forms of texts, YAML files, and names that several programs share."""
