// Package mac refuses to choose an address for a pod's interface.
package mac

import (
	"errors"
	"net"
)

// GenerateRandMAC refuses: Spiderpool's coordinator on a node calls it, and is not among the programs here.
func GenerateRandMAC() (net.HardwareAddr, error) {
	return nil, errors.New("Cilium's addresses are not part of the sandbox's Spiderpool")
}
