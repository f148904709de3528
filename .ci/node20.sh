#!/bin/sh
# Gets a Node 20, on which the client for TypeScript must run, once, by its checksum, and prints where it lies.
set -eu

version=20.20.2
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
node=$tools/bin/node-20

case $(uname -m) in
  x86_64) platform=linux-x64 integrity='sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==' ;;
  aarch64) platform=linux-arm64 integrity='sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==' ;;
  *) echo "no Node 20 for $(uname -m)" >&2 && exit 1 ;;
esac

if [ ! -x "$node" ]; then
  mkdir -p "$tools/bin"
  fresh=$(mktemp -d "$tools/bin/.node-20.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  npm pack --silent --pack-destination "$fresh" "node-$platform@$version" >/dev/null
  archive=$fresh/node-$platform-$version.tgz
  found=sha512-$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)
  if [ "$found" != "$integrity" ]; then
    echo "node-$platform@$version: another checksum, $found" >&2
    exit 1
  fi
  tar -xzf "$archive" -C "$fresh" package/bin/node
  mv "$fresh/package/bin/node" "$node"
fi
echo "$node"
