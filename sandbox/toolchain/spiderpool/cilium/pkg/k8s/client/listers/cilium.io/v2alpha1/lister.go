// Package v2alpha1 names what lists pools.
package v2alpha1

import (
	"github.com/cilium/cilium/pkg/k8s/apis/cilium.io/v2alpha1"
	"k8s.io/apimachinery/pkg/labels"
)

// CiliumPodIPPoolLister lists pools.
type CiliumPodIPPoolLister interface {
	List(labels.Selector) ([]*v2alpha1.CiliumPodIPPool, error)
}
