"""A kubeconfig that leads nowhere: enough for a program that only registers or previews."""

TOKEN = "a-secret-token"
KUBECONFIG = f"""
apiVersion: v1
kind: Config
current-context: stub
contexts: [{{name: stub, context: {{cluster: stub, user: stub}}}}]
clusters: [{{name: stub, cluster: {{server: "https://127.0.0.1:1"}}}}]
users: [{{name: stub, user: {{token: {TOKEN}}}}}]
"""
