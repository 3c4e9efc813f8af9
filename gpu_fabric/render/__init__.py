"""The rendered plan: a plan as a folder of files that users and tools can compare."""
