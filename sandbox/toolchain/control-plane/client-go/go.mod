// The published module with a package of its own, for the reason in binaries.yaml.
module k8s.io/client-go

go 1.26.0
