#!/bin/sh
# Builds the Caddy that the tests put before the service, once, from Go modules that go.sum pins, and prints where it lies.
set -eu

version=2.11.9
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
caddy=$tools/bin/caddy-$version

if [ ! -x "$caddy" ]; then
  mkdir -p "$tools/bin"
  # Another build may be under way, and a build may be cut off: only a whole binary gets the name.
  fresh=$(mktemp "$tools/bin/.caddy-$version.XXXXXX")
  trap 'rm -f "$fresh"' EXIT
  cd "$(dirname "$0")/caddy"
  CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w -X github.com/caddyserver/caddy/v2.CustomVersion=v$version" -o "$fresh" github.com/caddyserver/caddy/v2/cmd/caddy
  chmod 755 "$fresh"
  mv "$fresh" "$caddy"
fi
echo "$caddy"
