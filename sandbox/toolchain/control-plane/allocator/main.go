// Which devices the scheduler gives to the claims of a pod on a node: its own allocator, with the features that are on in
// the scheduler's version, asked about slices, classes and claims that come with the question and not from a cluster.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Answers are compared, not timed: while others load a machine, a question can take longer than the 10 seconds that are
// the scheduler's own limit for a node.
const limit = 2 * time.Minute

type device struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

// A question: what a cluster has, which devices are taken, and the claims of a pod that may run on the node.
type question struct {
	Slices  []*resourceapi.ResourceSlice `json:"slices"`
	Classes []*resourceapi.DeviceClass   `json:"classes"`
	Node    *v1.Node                     `json:"node"`
	Taken   []device                     `json:"taken"`
	Claims  []*resourceapi.ResourceClaim `json:"claims"`
}

// The devices of each claim; none where the claims do not fit, with the reason where the allocator has one.
type answer struct {
	Allocations [][]resourceapi.DeviceRequestAllocationResult `json:"allocations,omitempty"`
	Reason      string                                        `json:"reason,omitempty"`
	Error       string                                        `json:"error,omitempty"`
}

type classes []*resourceapi.DeviceClass

func (all classes) List() ([]*resourceapi.DeviceClass, error) { return all, nil }

func (all classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range all {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("no device class %s", name)
}

func main() {
	features := dynamicresources.AllocatorFeatures(feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	cache := cel.NewCache(1000, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity})
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(allocate(asked, features, cache)); err != nil {
			log.Fatal(err)
		}
	}
}

func allocate(asked question, features structured.Features, cache *cel.Cache) (given answer) {
	ctx, done := context.WithTimeout(context.Background(), limit)
	defer done()
	taken := sets.New[structured.DeviceID]()
	for _, id := range asked.Taken {
		taken.Insert(structured.MakeDeviceID(id.Driver, id.Pool, id.Device))
	}
	state := structured.AllocatedState{
		AllocatedDevices:         taken,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	allocator, err := structured.NewAllocator(ctx, features, state, classes(asked.Classes), asked.Slices, cache)
	if err != nil {
		return answer{Error: err.Error()}
	}
	results, err := allocator.Allocate(ctx, asked.Node, asked.Claims)
	if errors.Is(err, structured.ErrFailedAllocationOnNode) {
		return answer{Reason: err.Error()}
	} else if err != nil {
		return answer{Error: err.Error()}
	}
	for _, result := range results {
		given.Allocations = append(given.Allocations, result.Devices.Results)
	}
	return given
}
