// In the place of the published module (the reason is in binaries.yaml): the names of it with which Spiderpool reads the
// address pools of a cluster with Cilium, where the sandbox has none; the client says so.
module github.com/cilium/cilium

go 1.26.0

require (
	k8s.io/apimachinery v0.30.0-beta.0
	k8s.io/client-go v0.29.4
)
