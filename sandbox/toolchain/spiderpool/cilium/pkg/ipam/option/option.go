// Package option names the values of `ipam` in Cilium's settings.
package option

// Where the addresses of pods come from.
const (
	IPAMKubernetes    = "kubernetes"
	IPAMClusterPool   = "cluster-pool"
	IPAMClusterPoolV2 = "cluster-pool-v2beta"
	IPAMMultiPool     = "multi-pool"
)
