// What the SR-IOV operator makes of a SriovNetwork or a SriovIBNetwork: a NetworkAttachmentDefinition, from the
// template next to the program.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	sriov "github.com/k8snetworkplumbingwg/sriov-network-operator/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime/pkg/log"
)

// A question: the network, and the operator's prefix of resources, which its Deployment has as a variable.
type question struct {
	Network json.RawMessage `json:"network"`
	Prefix  string          `json:"prefix"`
}

type network interface {
	RenderNetAttDef() (*unstructured.Unstructured, error)
}

func main() {
	ctrl.SetLogger(logr.Discard())
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	sriov.ManifestsPath = filepath.Dir(program)
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		made, err := asked.definition()
		if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(made); err != nil {
			log.Fatal(err)
		}
	}
}

func (asked question) definition() (*unstructured.Unstructured, error) {
	var named struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(asked.Network, &named); err != nil {
		return nil, err
	}
	kinds := map[string]network{"SriovNetwork": &sriov.SriovNetwork{}, "SriovIBNetwork": &sriov.SriovIBNetwork{}}
	found, known := kinds[named.Kind]
	if !known {
		return nil, fmt.Errorf("%q is no network of the operator", named.Kind)
	}
	if err := json.Unmarshal(asked.Network, found); err != nil {
		return nil, err
	}
	if err := os.Setenv("RESOURCE_PREFIX", asked.Prefix); err != nil {
		return nil, err
	}
	return found.RenderNetAttDef()
}
