"""The binaries of the sandbox: one Go module a folder, what to build from each (binaries.yaml), and the build."""
