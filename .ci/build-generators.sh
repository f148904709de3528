#!/bin/sh
# Installs what generates clients from the OpenAPI documents, once, and prints the folder to put on the PATH:
# `python` (openapi-python-client; PYTHONPATH is the folder above), or `go` (oapi-codegen). The files of
# .ci/generators pin both, by checksums.
set -eu

tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}/generators
here=$(cd "$(dirname "$0")" && pwd)/generators
# Another installation may be under way, and one may be cut off: only a whole one gets the name.
fresh=
trap 'rm -rf "$fresh"' EXIT

# The name is made of all that it depends on, so that a change of a version is another folder.
name() {
  checksum=$(cat "$@" | cksum)
  echo "${checksum%% *}"
}

# finish FOLDER
finish() {
  chmod 755 "$fresh"
  # Where another one was faster, its folder is as good.
  [ -d "$1" ] || mv "$fresh" "$1"
}

case ${1:-} in
  python)
    minor=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    folder=$tools/python-$minor-$(name "$here/python/requirements.txt")
    if [ ! -d "$folder" ]; then
      mkdir -p "$tools"
      fresh=$(mktemp -d "$tools/.python.XXXXXX")
      # Into a folder of its own, which takes neither python3-venv nor a right to the system's packages.
      python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --no-input \
        --only-binary :all: --require-hashes --requirement "$here/python/requirements.txt" --target "$fresh" >&2
      finish "$folder"
    fi
    ;;
  go)
    # What is generated takes Go too, also where the generator is there already.
    command -v go >/dev/null || { echo "$0: no Go on the PATH" >&2; exit 1; }
    folder=$tools/go-$(name "$here/go/go.mod" "$here/go/go.sum")
    if [ ! -d "$folder" ]; then
      mkdir -p "$tools"
      fresh=$(mktemp -d "$tools/.go.XXXXXX")
      mkdir "$fresh/bin"
      (cd "$here/go" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$fresh/bin/oapi-codegen" \
        github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen)
      finish "$folder"
    fi
    ;;
  *)
    echo "usage: $0 python|go" >&2
    exit 2
    ;;
esac
echo "$folder/bin"
