"""Pages about the catalog, the rules and the file formats, independent of a stack."""
