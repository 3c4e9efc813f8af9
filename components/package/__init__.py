"""The components as a Pulumi package for programs in other languages, and the page that describes them."""

COMPONENTS = __name__.rpartition(".")[0]
"""The package of the components, by the name under which it was imported."""
