"""The duration of a cloud's minute, which the sandbox shortens."""

MINUTE_VARIABLE = "GPU_FABRIC_CLOUD_MINUTE_SECONDS"
"""Environment variable: real seconds of one minute of the cloud; 60 if it is not set.

The sandbox sets it, since its clouds are faster; waits for a cloud are shortened in the same ratio.
"""
