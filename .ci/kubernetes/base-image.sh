#!/usr/bin/env bash
# Makes docker.io/library/node:24-bookworm-slim where no image registry is asked: Debian's minimal system, the Node that
# package-lock.json names, and npm. In the tests' own storage alone, so that nobody takes it for the real one.
set -euo pipefail
cd "$(dirname "$0")/../.."
. .ci/kubernetes/storage.sh

name=docker.io/library/node:24-bookworm-slim
node=$PWD/node_modules/node/bin/node
npm=$(node -p 'require("./package.json").packageManager')
mark="$("$node" --version) $npm $(sha256sum <.ci/kubernetes/base-image.sh)"
kept=$(in_storage buildah inspect --type image --format '{{index .OCIv1.Config.Labels "mark"}}' "$name" 2>/dev/null || true)
[ "$kept" != "$mark" ] || exit 0

work=$(mktemp -d)
trap 'umount --lazy "$work" 2>/dev/null || true; rm -rf "$work"' EXIT
# Debian's installer syncs every file that it writes; in memory that takes no time.
available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
[ "$available" -lt 4000000 ] || mount -t tmpfs -o size=3g,mode=700 muster-base-image "$work"
root=$work/root
source=$(awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources 2>/dev/null ||
  awk '/^deb / { print $2; exit }' /etc/apt/sources.list)
debootstrap --variant=minbase --include=ca-certificates --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
  bookworm "$root" "$source" >"$work/log" 2>&1 || { tail -20 "$work/log" && exit 1; }
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log \
  "$root"/usr/share/{doc,man,locale}/*

install -m 755 "$node" "$root/usr/local/bin/node"
(cd "$work" && npm pack --silent "$npm" >packed && tar xzf "$(cat packed)")
mkdir -p "$root/usr/local/lib/node_modules"
mv "$work/package" "$root/usr/local/lib/node_modules/npm"
chown -R 0:0 "$root/usr/local/lib/node_modules"
chmod +x "$root"/usr/local/lib/node_modules/npm/bin/*.js
for command in npm npx; do ln -s "../lib/node_modules/npm/bin/$command-cli.js" "$root/usr/local/bin/$command"; done
chroot "$root" npm --version >/dev/null

container=$(in_storage buildah from scratch)
tar --numeric-owner -C "$root" -cf "$work/root.tar" .
in_storage buildah add --quiet "$container" "$work/root.tar" / >/dev/null
in_storage buildah config --label "mark=$mark" --cmd '["node"]' \
  --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
in_storage buildah commit --quiet --rm "$container" "$name" >/dev/null
