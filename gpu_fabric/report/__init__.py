"""The reports of a plan: one content, and its forms as text, Markdown and HTML."""
