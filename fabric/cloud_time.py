"""How fast a cloud's time passes."""

MINUTE_VARIABLE = "GPU_FABRIC_CLOUD_MINUTE_SECONDS"
"""Environment variable: how many real seconds a minute of the cloud takes, 60 where it is not set.

The sandbox sets it, whose clouds are faster: waits of a program for its cloud are shortened by as much.
"""
