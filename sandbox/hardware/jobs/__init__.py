"""The controllers of jobs, played: Volcano, the MPI operator, JobSet and Kueue.

Each does what its Deployment's real one does, as far as the cluster shows it, and only while that Deployment is there:
the pods, services, secrets and statuses that it makes are real objects, which Kubernetes' own controllers and the real
scheduler go on with. What each decides is a pure function in a module of its own, from a job and what belongs to it to
a `Turn`; `controller` reads the cluster and writes the turns.
"""
