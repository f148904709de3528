#!/bin/sh
# Builds the etcd that the tests run against, once, from Go modules that go.sum pins, and prints where it lies.
set -eu

version=3.6.16
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
etcd=$tools/bin/etcd-$version

if [ ! -x "$etcd" ]; then
  mkdir -p "$tools/bin"
  # Another build may be under way, and a build may be cut off: only a whole binary gets the name.
  fresh=$(mktemp "$tools/bin/.etcd-$version.XXXXXX")
  trap 'rm -f "$fresh"' EXIT
  cd "$(dirname "$0")/etcd"
  CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$fresh" go.etcd.io/etcd/server/v3
  chmod 755 "$fresh"
  mv "$fresh" "$etcd"
fi
echo "$etcd"
