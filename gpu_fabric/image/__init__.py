"""What an image of jobs has, read from its layers without unpacking them, and what of that does not fit a stack."""
