"""Measurements that `make bench` runs: no test, since a figure depends on the machine."""
