// Package v2alpha1 has the fields of a pool that Spiderpool reads.
package v2alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Ranges are those of one family.
type Ranges struct{ CIDRs []string }

// CiliumPodIPPool is a pool of addresses of pods.
type CiliumPodIPPool struct {
	metav1.ObjectMeta
	Spec struct{ IPv4, IPv6 *Ranges }
}
