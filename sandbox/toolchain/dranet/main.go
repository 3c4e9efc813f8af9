// What DRANET says of opaque configurations: the checks that its driver makes when it prepares a claim, those for a
// device without a network interface included.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/dranet/pkg/apis"
)

// The errors of a configuration for any device, and for one that has RDMA and no network interface.
type answer struct {
	Errors         []string `json:"errors"`
	RDMAOnlyErrors []string `json:"rdmaOnlyErrors"`
}

func main() {
	configurations, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var configuration json.RawMessage
		if err := configurations.Decode(&configuration); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		raw := &runtime.RawExtension{Raw: configuration}
		_, errs := apis.ValidateConfig(raw)
		if err := answers.Encode(answer{texts(errs), texts(apis.ValidateRDMAOnlyConfig(raw))}); err != nil {
			log.Fatal(err)
		}
	}
}

func texts(errs []error) []string {
	found := []string{}
	for _, err := range errs {
		found = append(found, err.Error())
	}
	return found
}
