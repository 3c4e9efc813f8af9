// In the place of the published module (the reason is in binaries.yaml): the names of it that the operator uses for
// machines of OpenShift, where the sandbox has none; each says so.
module github.com/openshift/machine-config-operator

go 1.25.0

require github.com/openshift/api v0.0.0-20250227152946-1ee1ef831100
