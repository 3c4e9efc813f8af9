// Package externalversions names what watches pools, for a client that is never made.
package externalversions

import (
	"time"

	"github.com/cilium/cilium/pkg/k8s/client/clientset/versioned"
	listers "github.com/cilium/cilium/pkg/k8s/client/listers/cilium.io/v2alpha1"
	"k8s.io/client-go/tools/cache"
)

// SharedInformerFactory and the types below are the way to the watch of pools.
type (
	SharedInformerFactory interface {
		Cilium() group
		Start(<-chan struct{})
	}
	group   interface{ V2alpha1() version }
	version interface{ CiliumPodIPPools() pools }
	pools   interface {
		Informer() cache.SharedIndexInformer
		Lister() listers.CiliumPodIPPoolLister
	}
)

// NewSharedInformerFactory is never reached.
func NewSharedInformerFactory(*versioned.Clientset, time.Duration) SharedInformerFactory { return nil }
