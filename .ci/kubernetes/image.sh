#!/usr/bin/env bash
# image.sh [FOLDER]: builds the image of deploy/Dockerfile, of this tree or of another one, where it has not been built of
# just these files, and prints two lines: its name in the tests' own storage, and the archive that it was saved to.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
"$scripts/base-image.sh" >&2
. "$scripts/storage.sh"
cd "${1:-$scripts/../..}"

parts=(.dockerignore deploy/Dockerfile package.json package-lock.json bin src clients/typescript/{package.json,src})
# Another tree need not have all of these.
for part in web tsconfig.json tsconfig.build.json scripts/build-web.ts scripts/compile.ts; do
  if [ -e "$part" ]; then parts+=("$part"); fi
done
contents=$({
  find "${parts[@]}" -path web/dist -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  sha256sum <"$scripts/base-image.sh"
} | sha256sum | cut -c1-16)
name=localhost/muster:$contents
archive=$images/muster-$contents.tar

if [ ! -e "$archive" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # npm in there asks the registry that npm out here asks, and trusts whom this machine trusts.
  authorities=/etc/ssl/certs/ca-certificates.crt
  printf 'registry=%s\ncafile=/authorities.crt\n' "$(npm config get registry 2>/dev/null)" >"$work/npmrc"
  in_storage buildah build --runtime runc --pull-never --network host --layers --quiet --file deploy/Dockerfile \
    --volume "$authorities:/authorities.crt:ro" --volume "$work/npmrc:/usr/local/etc/npmrc:ro" --tag "$name" . >&2
  in_storage buildah push --quiet "$name" "docker-archive:$work/image.tar:$name"
  mv "$work/image.tar" "$archive"
  # Of earlier ones, a few: other runs may be at work with theirs.
  ls -t "$images"/muster-*.tar | tail -n +6 | while read -r old; do
    in_storage buildah rmi --force "localhost/muster:$(basename "$old" .tar | cut -d- -f2)" >/dev/null 2>&1 || true
    rm -f "$old"
  done
else
  # It is kept longer than one that nobody asks for.
  touch "$archive"
fi
printf '%s\n' "$name" "$archive"
