#!/bin/sh
# Runs a script with the Node that comes with the packages, so that start, tests and benchmarks have the same version everywhere:
# sh scripts/node.sh [OPTIONS OF NODE] SCRIPT [ARGUMENTS]. The host's Node only installs the packages.
node=$(node "$(dirname "$0")/install.mjs") || exit
exec "$node" "$@"
