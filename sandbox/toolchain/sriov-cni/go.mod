module gpu-fabric/toolchain/sriov-cni

go 1.25.0

tool github.com/intel/sriov-cni/cmd/sriov

require (
	github.com/containernetworking/cni v0.6.0 // indirect
	github.com/containernetworking/plugins v0.7.4 // indirect
	github.com/coreos/go-iptables v0.8.0 // indirect
	github.com/intel/sriov-cni v2.1.0+incompatible // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
