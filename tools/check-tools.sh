#!/bin/sh
# Prints what is missing on this machine before anything is installed. $1 is the Python to use.
set -u
python=$1
missing=0

say() {
    echo "missing: $1" >&2
    echo "         $2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    say "Python 3.11 or newer" "install python3, or name one: make PYTHON=python3.13 ..."
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "Python 3.11 or newer ($python is $("$python" -V 2>&1))" "name a newer one: make PYTHON=python3.13 ..."
elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    say "the venv module of $python" "on Debian and Ubuntu: apt install python3-venv"
fi

if [ -z "${KUBEBUILDER_ASSETS:-}" ] && ! command -v go >/dev/null 2>&1; then
    say "Go, to build the local control plane" "install a current Go: https://go.dev/doc/install"
fi

exit $missing
