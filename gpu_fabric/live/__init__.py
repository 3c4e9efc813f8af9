"""A live cluster, read once and judged once: before `up`, after it, and where something is damaged."""
