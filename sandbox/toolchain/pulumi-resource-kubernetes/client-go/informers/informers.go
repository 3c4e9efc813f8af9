// Package informers has what dynamic informers are, and those of typed clients by name alone.
package informers

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// GenericInformer watches the objects of one kind.
type GenericInformer interface {
	Informer() cache.SharedIndexInformer
	Lister() cache.GenericLister
}

// SharedInformerFactory and the types below are the way to the watch of candidates for leadership.
type (
	SharedInformerFactory interface {
		Coordination() group
		Start(<-chan struct{})
		WaitForCacheSync(<-chan struct{}) map[reflect.Type]bool
	}
	SharedInformerOption func()
	group                interface{ V1beta1() version }
	version              interface{ LeaseCandidates() candidates }
	candidates           interface {
		Informer() cache.SharedIndexInformer
	}
)

// WithTweakListOptions is never used.
func WithTweakListOptions(func(*metav1.ListOptions)) SharedInformerOption { return nil }

// NewSharedInformerFactoryWithOptions refuses: no program here is a candidate whose leadership others coordinate.
func NewSharedInformerFactoryWithOptions(
	kubernetes.Interface, time.Duration, ...SharedInformerOption,
) SharedInformerFactory {
	panic("informers of typed clients are not part of the sandbox's programs")
}
