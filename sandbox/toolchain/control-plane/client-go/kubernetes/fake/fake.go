// Package fake has the names of the client of Kubernetes' tests, whose helpers are among the files of its programs.
package fake

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/testing"
)

var errRefused = errors.New("clients of tests are not part of the sandbox's programs")

// Clientset is never made.
type Clientset struct{ kubernetes.Interface }

// Tracker is never called.
func (*Clientset) Tracker() testing.ObjectTracker { return nil }

// AddToScheme refuses.
func AddToScheme(*runtime.Scheme) error { return errRefused }

// NewClientset refuses.
func NewClientset(...runtime.Object) *Clientset { panic(errRefused) }

// NewSimpleClientset refuses.
func NewSimpleClientset(...runtime.Object) *Clientset { panic(errRefused) }
