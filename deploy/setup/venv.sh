#!/usr/bin/env bash
# Make a virtual environment, on Debian and Ubuntu also where python3-venv is not installed yet.
set -euo pipefail
python=$1 target=$2

"$python" - <<'CHECK' || exit 1
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Redline needs Python 3.11 or newer, and this is {sys.version.split()[0]}: run make PYTHON=python3.11 ...")
CHECK

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    package="python${version}-venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "Installing $package ..."
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null
    else
        echo "Python's venv module is incomplete: run  sudo apt-get install $package  and then make again." >&2
        exit 1
    fi
fi
[ -x "$target/bin/python" ] || "$python" -m venv "$target"
