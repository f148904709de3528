#!/usr/bin/env bash
# pause-image.sh PROGRAM: makes the image of the program that holds a pod's namespaces, once, and prints its archive.
set -euo pipefail
cd "$(dirname "$0")/../.."
. .ci/kubernetes/storage.sh

archive=$images/$(basename "$1").tar
if [ ! -e "$archive" ]; then
  container=$(in_storage buildah from scratch)
  in_storage buildah add --quiet "$container" "$1" /pause >/dev/null
  in_storage buildah config --entrypoint '["/pause"]' --user 65535:65535 "$container"
  in_storage buildah commit --quiet --rm "$container" localhost/pause:1 >/dev/null
  rm -f "$archive.new"
  in_storage buildah push --quiet localhost/pause:1 "docker-archive:$archive.new:localhost/pause:1"
  mv "$archive.new" "$archive"
fi
echo "$archive"
