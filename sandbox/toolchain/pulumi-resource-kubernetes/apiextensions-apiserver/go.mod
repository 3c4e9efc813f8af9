// The published module with a package of its own, for the reason in binaries.yaml.
module k8s.io/apiextensions-apiserver

go 1.24.0
