"""The measurement of the fabric, the wait for what nodes offer, and workloads with the fabric attached."""
