#!/bin/sh
# Keeps only what a service runs in /opt/kudo, and compiles it: an image is read-only, so Python could
# not store its bytecode. The bytecode does not depend on the times of files. Runs inside the Dockerfile.
set -eu

cd /opt/kudo
find bin -type f ! -name 'kudo-*' ! -name 'kubectl-*' -delete
rm -rf include lib64/__pycache__ share
# Tests of libraries; `kubectl_kudo.commands.test` is a command.
find lib -type d -name kubectl_kudo -prune -o -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
bin/python -B -m compileall -q -f -j 0 --invalidation-mode unchecked-hash lib
