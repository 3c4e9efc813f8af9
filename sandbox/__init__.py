"""The embedded default: a real Pulumi engine and a real Kubernetes control plane with simulated GPU nodes.

``python -m sandbox up`` builds what is missing, starts the control plane on 127.0.0.1 and lays the nodes of a
stack's pools into it; ``python -m sandbox pulumi up`` runs the real engine against it.
"""
