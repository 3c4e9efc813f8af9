// What Whereabouts hands out: reads a network's CNI configuration as the plug-in does, and asks its allocation for the
// address of one pod after the other. There is no cluster: the list of addresses in use is kept here, while the plug-in
// keeps it in an object of its own.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/k8snetworkplumbingwg/whereabouts/pkg/allocate"
	"github.com/k8snetworkplumbingwg/whereabouts/pkg/config"
	"github.com/k8snetworkplumbingwg/whereabouts/pkg/iphelpers"
	"github.com/k8snetworkplumbingwg/whereabouts/pkg/types"
)

// A question: a network's configuration, the runs of addresses that pods hold already, and how many pods come.
type question struct {
	Config json.RawMessage `json:"config"`
	Held   [][2]net.IP     `json:"held"`
	Pods   int             `json:"pods"`
}

// What the pods get, in turn, until one is refused.
type answer struct {
	Addresses []string `json:"addresses"`
	Gateway   net.IP   `json:"gateway,omitempty"`
	Error     string   `json:"error,omitempty"`
}

func main() {
	folder, err := os.MkdirTemp("", "whereabouts-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	// The plug-in wants the file that its installation writes, and in it the place of a kubeconfig.
	defaults := filepath.Join(folder, "whereabouts.conf")
	written := []byte(`{"kubernetes": {"kubeconfig": "/dev/null"}}`)
	if err := os.WriteFile(defaults, written, 0o600); err != nil {
		log.Fatal(err)
	}
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked question
		if err := questions.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		var given answer
		if err := given.fill(asked, defaults); err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
}

func (given *answer) fill(asked question, defaults string) error {
	read, err := config.LoadIPAMConfiguration(asked.Config, "", defaults)
	if err != nil {
		return err
	}
	given.Gateway = read.Gateway
	var reserved []types.IPReservation
	for _, run := range asked.Held {
		for ip := run[0]; iphelpers.CompareIPs(ip, run[1]) <= 0; ip = iphelpers.IncIP(ip) {
			reserved = append(reserved, types.IPReservation{IP: ip, PodRef: "default/held", IfName: ip.String()})
		}
	}
	for pod := range asked.Pods {
		name := fmt.Sprintf("pod-%d", pod)
		for _, addresses := range read.IPRanges {
			var got net.IPNet
			got, reserved, err = allocate.AssignIP(addresses, reserved, name, "default/"+name, "net1")
			if err != nil {
				return err
			}
			given.Addresses = append(given.Addresses, got.String())
		}
	}
	return nil
}
