"""Simulated operators and hardware of the nodes: `python -m sandbox.hardware --kubeconfig FILE`.

It simulates NVIDIA's Network Operator, the SR-IOV operator of it or of Spiderpool, their daemons and the kubelets'
device plug-ins, as far as the cluster shows their work: operands are created from the policies in the cluster, a node
advertises the resources that its plug-in pods have loaded, and virtual functions exist after a daemon has created
them. The decisions of each operator are pure functions in modules of their own; `controller` calls them when objects
change and writes the results.

All state is in the cluster, so a restart continues where it stopped.
"""
