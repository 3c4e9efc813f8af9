// What Spiderpool makes of a cluster's SpiderMultusConfigs and of a pod: a NetworkAttachmentDefinition each, and the
// annotation and resources that its webhook injects. The controller's own functions are not exported, and what it does
// around them needs a cluster.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	_ "unsafe"

	nettypes "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"github.com/spidernet-io/spiderpool/pkg/constant"
	"github.com/spidernet-io/spiderpool/pkg/k8s/apis/spiderpool.spidernet.io/v2beta1"
	"github.com/spidernet-io/spiderpool/pkg/logutils"
	"github.com/spidernet-io/spiderpool/pkg/podmanager"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
)

//go:linkname fillIn github.com/spidernet-io/spiderpool/pkg/multuscniconfig.mutateSpiderMultusConfig
func fillIn(ctx context.Context, config *v2beta1.SpiderMultusConfig)

//go:linkname definitionOf github.com/spidernet-io/spiderpool/pkg/multuscniconfig.generateNetAttachDef
func definitionOf(name string, config *v2beta1.SpiderMultusConfig) (*nettypes.NetworkAttachmentDefinition, error)

type question struct {
	Configs []v2beta1.SpiderMultusConfig `json:"configs"`
	Pod     v1.Pod                       `json:"pod"`
}

type answer struct {
	Networks []*nettypes.NetworkAttachmentDefinition `json:"networks"`
	Pod      v1.Pod                                  `json:"pod"`
	Error    string                                  `json:"error,omitempty"`
}

func main() {
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		given := answer{Pod: asked.Pod}
		if err := given.fill(asked); err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
}

func (given *answer) fill(asked question) error {
	quiet := logutils.IntoContext(context.Background(), zap.NewNop())
	wanted, injects := asked.Pod.Annotations[constant.AnnoPodResourceInject]
	var chosen v2beta1.SpiderMultusConfigList
	for _, config := range asked.Configs {
		if config.Spec.EnableCoordinator == nil {
			// The API server sets it, by the definition.
			enabled := true
			config.Spec.EnableCoordinator = &enabled
		}
		fillIn(quiet, &config)
		made, err := definitionOf(config.Name, &config)
		if err != nil {
			return err
		}
		given.Networks = append(given.Networks, made)
		if injects && config.Labels[constant.AnnoPodResourceInject] == wanted {
			chosen.Items = append(chosen.Items, config)
		}
	}
	if !injects {
		return nil
	}
	return podmanager.InjectPodNetwork(&given.Pod, chosen)
}
