#!/bin/sh
# Builds a program of others once, from the Go modules that go.sum in a folder beside this script pins, and prints where it lies.
# build-go.sh NAME VERSION PACKAGE [LINKER FLAG…]; the folder has the name of the program.
set -eu

name=$1 version=$2 package=$3
shift 3
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
program=$tools/bin/$name-$version

if [ ! -x "$program" ]; then
  mkdir -p "$tools/bin"
  # Another build may be under way, and a build may be cut off: only a whole binary gets the name.
  fresh=$(mktemp "$tools/bin/.$name-$version.XXXXXX")
  trap 'rm -f "$fresh"' EXIT
  cd "$(dirname "$0")/$name"
  CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w $*" -o "$fresh" "$package"
  chmod 755 "$fresh"
  mv "$fresh" "$program"
fi
echo "$program"
