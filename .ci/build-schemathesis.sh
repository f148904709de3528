#!/bin/sh
# Installs the fuzzer and the second linter of the OpenAPI documents, once, from packages whose hashes are pinned, and
# prints the Python that has them.
set -eu

version=4.32.5
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
folder=$tools/schemathesis-$version

if [ ! -x "$folder/bin/python" ]; then
  mkdir -p "$tools"
  # Another installation may be under way, and one may be cut off: only a whole one gets the name.
  fresh=$(mktemp -d "$tools/.schemathesis-$version.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  python3 -m venv "$fresh"
  "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
    -r "$(dirname "$0")/schemathesis/requirements.txt" >&2
  # Called by the name of its Python alone, it may be moved.
  mv -T "$fresh" "$folder" 2>/dev/null || [ -x "$folder/bin/python" ]
fi
echo "$folder/bin/python"
