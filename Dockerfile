# gpu-fabric with what `make up` needs on the sandbox: a checkout, its virtual environment, and Pulumi's CLI, language host
# and Kubernetes plug-in, a control plane and KWOK, all built from source (docs/sandbox.md). `docker build --tag gpu-fabric .`
# builds it, `docker run --rm -it gpu-fabric` opens a shell in which `make up` works. .devcontainer uses it as well.
ARG BASE=debian:trixie-slim
FROM ${BASE} AS base
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 --shell /bin/bash fabric \
    && install --directory --owner fabric --group fabric /home/fabric/gpu-fabric /home/fabric/.cache
USER fabric
WORKDIR /home/fabric/gpu-fabric
ENV HOME=/home/fabric PATH=/home/fabric/gpu-fabric/.venv/bin:/usr/local/bin:/usr/bin:/bin

FROM base AS built
COPY --chown=fabric:fabric . .
RUN make setup
# What is packed and fetched again needs neither Go nor its caches, which stay behind. With Docker's cache a change that is
# not one of the toolchain builds nothing of it again.
RUN --mount=type=cache,target=/home/fabric/.cache,uid=1000,gid=1000 \
    python -m sandbox build --pack /home/fabric/packed --url file:///home/fabric/packed \
    && PREBUILT=$(echo /home/fabric/packed/prebuilt-*.yaml) XDG_CACHE_HOME=/home/fabric/fetched python -m sandbox build

FROM base
COPY --from=built --chown=fabric:fabric /home/fabric/fetched /home/fabric/.cache
COPY --from=built --chown=fabric:fabric /home/fabric/gpu-fabric .
CMD ["bash"]
