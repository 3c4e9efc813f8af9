"""The duration of a cloud's minute, which a simulated cloud shortens."""

MINUTE_VARIABLE = "GPU_FABRIC_CLOUD_MINUTE_SECONDS"
"""Environment variable: real seconds of one minute of the cloud; 60 if it is not set.

A simulator of clouds sets it, since these are faster; waits for a cloud are shortened in the same ratio.
"""
