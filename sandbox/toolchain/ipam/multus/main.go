// What Multus makes of a pod: the networks of its annotation, each with the configuration that its plug-ins would get.
// There is no cluster: networks come from the question, as if its informer had seen them, and instead of the kubelet
// the question says how many devices of each resource the pod was given.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	nettypes "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/k8sclient"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/logging"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// The cluster's own network, which the daemon takes from the node.
const own = `{"delegates": [{"cniVersion": "0.3.1", "name": "cluster", "type": "cluster"}]}`

// A question: the cluster's networks, a pod, and how many devices of each resource it was given.
type question struct {
	Networks []nettypes.NetworkAttachmentDefinition `json:"networks"`
	Pod      v1.Pod                                 `json:"pod"`
	Devices  map[string]int                         `json:"devices"`
}

type delegate struct {
	Name      string          `json:"name"`
	Interface string          `json:"interface"`
	Resource  string          `json:"resource"`
	Device    string          `json:"device"`
	MAC       string          `json:"mac"`
	IPs       []string        `json:"ips"`
	Config    json.RawMessage `json:"config"`
}

type answer struct {
	Delegates []delegate `json:"delegates"`
	Error     string     `json:"error,omitempty"`
}

func main() {
	logging.SetLogStderr(false)
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var given answer
		if err := given.fill(asked); err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
}

func (given *answer) fill(asked question) error {
	conf, err := types.LoadNetConf([]byte(own))
	if err != nil {
		return err
	}
	known := cache.NewSharedIndexInformer(
		&cache.ListWatch{}, &nettypes.NetworkAttachmentDefinition{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)
	for place := range asked.Networks {
		if err := known.GetIndexer().Add(&asked.Networks[place]); err != nil {
			return err
		}
	}
	devices := map[string]*types.ResourceInfo{}
	for resource, count := range asked.Devices {
		devices[resource] = &types.ResourceInfo{}
		for place := range count {
			devices[resource].DeviceIDs = append(devices[resource].DeviceIDs, fmt.Sprintf("%s/%d", resource, place))
		}
	}
	_, _, err = k8sclient.TryLoadPodDelegates(&asked.Pod, conf, &k8sclient.ClientInfo{NetDefInformer: known}, devices)
	if err != nil {
		return err
	}
	for _, found := range conf.Delegates {
		given.Delegates = append(given.Delegates, delegate{
			Name: found.Name, Interface: found.IfnameRequest, Resource: found.ResourceName, Device: found.DeviceID,
			MAC: found.MacRequest, IPs: found.IPRequest, Config: found.Bytes,
		})
	}
	return nil
}
