# Images of KUDO; docs/images.md says how they are built, run and checked. Targets: webhook,
# reconciler, cli.
#
#   docker build --target webhook --tag kudo-webhook:0.1.0 .
#
# The base may be any image with Python 3.11 or newer and its venv module. Two build secrets are
# optional: pip-conf (settings of pip, such as an index of your own) and ca-bundle (certificates
# that they may name as /run/secrets/ca-bundle).
ARG PYTHON_IMAGE=python:3.13-slim

# An empty environment, and beside it the pip that fills it.
FROM ${PYTHON_IMAGE} AS tools
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
ENV FILL="/build/bin/python -m pip --python /opt/kudo/bin/python install --quiet --no-compile"
ENV FINISH="sh /src/finish.sh"
COPY requirements/build.txt ./
RUN --mount=type=secret,id=pip-conf,target=/etc/pip.conf --mount=type=secret,id=ca-bundle \
    python3 -m venv /build \
    && /build/bin/python -m pip install --quiet --require-hashes -r build.txt \
    && python3 -m venv --without-pip /opt/kudo
COPY tools/images/finish.sh ./

FROM tools AS wheels
COPY LICENSE ./
COPY libs libs
COPY services services
COPY cli cli
COPY examples examples
RUN /build/bin/python -m pip wheel --quiet --no-index --no-deps --no-build-isolation \
    --wheel-dir /wheels ./libs/* ./services/* ./cli

# What an image needs from others comes with pinned hashes; then our own packages may need nothing
# that is not there yet.
FROM tools AS webhook-environment
COPY requirements/webhook.txt ./
RUN --mount=type=secret,id=pip-conf,target=/etc/pip.conf --mount=type=secret,id=ca-bundle \
    $FILL --require-hashes --only-binary :all: -r webhook.txt
COPY --from=wheels /wheels /wheels
RUN $FILL --no-index --find-links /wheels kudo-webhook && $FINISH

FROM tools AS reconciler-environment
COPY requirements/reconciler.txt ./
RUN --mount=type=secret,id=pip-conf,target=/etc/pip.conf --mount=type=secret,id=ca-bundle \
    $FILL --require-hashes --only-binary :all: -r reconciler.txt
COPY --from=wheels /wheels /wheels
RUN $FILL --no-index --find-links /wheels kudo-reconciler && $FINISH

FROM tools AS cli-environment
COPY requirements/cli.txt ./
RUN --mount=type=secret,id=pip-conf,target=/etc/pip.conf --mount=type=secret,id=ca-bundle \
    $FILL --require-hashes --only-binary :all: -r cli.txt
COPY --from=wheels /wheels /wheels
RUN $FILL --no-index --find-links /wheels kubectl-kudo && $FINISH

FROM ${PYTHON_IMAGE} AS stripped
COPY tools/images/strip.sh /
RUN sh /strip.sh

# Copied instead of inherited: what was removed is not in a lower layer either.
FROM scratch AS runtime
COPY --from=stripped / /
ENV PATH=/opt/kudo/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/home/kudo \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /home/kudo
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION} \
      org.opencontainers.image.licenses=Apache-2.0

FROM runtime AS webhook
COPY --from=webhook-environment /opt/kudo /opt/kudo
LABEL org.opencontainers.image.title=kudo-webhook \
      org.opencontainers.image.description="Admission webhook of KUDO: judges changes of Instances"
EXPOSE 9443 8081
ENTRYPOINT ["/opt/kudo/bin/kudo-webhook"]

FROM runtime AS reconciler
COPY --from=reconciler-environment /opt/kudo /opt/kudo
LABEL org.opencontainers.image.title=kudo-reconciler \
      org.opencontainers.image.description="Reconciler of KUDO: runs the plans of Instances"
EXPOSE 8080
ENTRYPOINT ["/opt/kudo/bin/kudo-reconciler"]

FROM runtime AS cli
COPY --from=cli-environment /opt/kudo /opt/kudo
LABEL org.opencontainers.image.title=kudo-cli \
      org.opencontainers.image.description="kubectl kudo: installs operators and watches their plans"
ENTRYPOINT ["/opt/kudo/bin/kubectl-kudo"]
