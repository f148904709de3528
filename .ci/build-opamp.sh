#!/bin/sh
# Builds the peers of OpAMP that the tests run against, once: `collector`, the supervisor of the OpenTelemetry Collector
# and a collector, from Go modules that go.sum pins, beside etcd under their names and version; `python`, the client
# library of OpenTelemetry from packages whose hashes are pinned, of which it prints the Python.
# test/support/opamp/peers.ts looks for them.
set -eu

version=0.149.0
client=0.5b0

tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
here=$(cd "$(dirname "$0")" && pwd)/opamp
# Another build may be under way, and a build may be cut off: only a whole one gets the name.
fresh=
trap 'rm -rf "$fresh"' EXIT

# build FOLDER NAME PACKAGE
build() {
  [ ! -x "$tools/bin/$2-$version" ] || return 0
  started=$(date +%s)
  mkdir -p "$tools/bin"
  fresh=$(mktemp "$tools/bin/.$2-$version.XXXXXX")
  (cd "$here/$1" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$fresh" "$3")
  chmod 755 "$fresh"
  mv "$fresh" "$tools/bin/$2-$version"
  echo "$2 $version: built in $(($(date +%s) - started)) s"
}

case ${1:-} in
  collector)
    build supervisor opampsupervisor github.com/open-telemetry/opentelemetry-collector-contrib/cmd/opampsupervisor
    build collector otelcol .
    ;;
  python)
    folder=$tools/opamp-client-$client
    if [ ! -x "$folder/bin/python" ]; then
      mkdir -p "$tools"
      fresh=$(mktemp -d "$tools/.opamp-client-$client.XXXXXX")
      python3 -m venv "$fresh"
      "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$here/python/requirements.txt" >&2
      # Called by the name of its Python alone, it may be moved.
      mv -T "$fresh" "$folder" 2>/dev/null || [ -x "$folder/bin/python" ]
    fi
    echo "$folder/bin/python"
    ;;
  *)
    echo "usage: $0 collector|python" >&2
    exit 2
    ;;
esac
