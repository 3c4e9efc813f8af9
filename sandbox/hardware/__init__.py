"""The operators and the hardware of simulated nodes, played: `python -m sandbox.hardware --kubeconfig FILE`.

It does what NVIDIA's Network Operator, Spiderpool, the SR-IOV operator of either, their daemons and the kubelets'
device plug-ins do, as far as the cluster shows it: operands come from the policies that are really installed, a node
offers what the plug-in pods on it have loaded, virtual functions are there when somebody has made them. What each of
them decides is in modules of its own, without a cluster; `controller` only says when they are asked, and how their
answers get written. Spiderpool's webhooks are answered by a process of their own,
`python -m sandbox.hardware.admission`.

All state is in the cluster, so a restart goes on where it stopped.
"""
