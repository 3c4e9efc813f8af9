module sigs.k8s.io/dra-driver-nvidia-gpu

go 1.26.0
