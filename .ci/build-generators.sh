#!/bin/sh
# Installs what generates clients from the OpenAPI documents, once, and prints the folder to put on the PATH. It is asked
# by a name, and takes what that needs: `python` (openapi-python-client and datamodel-code-generator; PYTHONPATH is the
# folder above), `go` (oapi-codegen), `ogen`, `typescript` (openapi-typescript; node_modules is in the folder above), or
# `openapi-generator VERSION` (Java and Maven). The files of .ci/generators pin all of them, by checksums.
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

# begin NAME
begin() {
  mkdir -p "$tools"
  fresh=$(mktemp -d "$tools/.$1.XXXXXX")
}

# finish FOLDER
finish() {
  chmod 755 "$fresh"
  # Where another one was faster, its folder is as good.
  [ -d "$1" ] || mv "$fresh" "$1"
}

# need PROGRAM…: what is generated takes it too, also where the generator is there already.
need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "$0: no $program on the PATH" >&2; exit 1; }
  done
}

# build_go FOLDER PROGRAM PACKAGE
build_go() {
  need go
  folder=$tools/$1-$(name "$here/$1/go.mod" "$here/$1/go.sum")
  if [ ! -d "$folder" ]; then
    begin "$1"
    mkdir "$fresh/bin"
    (cd "$here/$1" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$fresh/bin/$2" "$3")
    finish "$folder"
  fi
}

case ${1:-} in
  python)
    minor=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    folder=$tools/python-$minor-$(name "$here/python/requirements.txt")
    if [ ! -d "$folder" ]; then
      begin python
      # Into a folder of its own, which takes neither python3-venv nor a right to the system's packages.
      python3 -m pip install --quiet --disable-pip-version-check --no-warn-script-location --no-input \
        --only-binary :all: --require-hashes --requirement "$here/python/requirements.txt" --target "$fresh" >&2
      finish "$folder"
    fi
    ;;
  go) build_go go oapi-codegen github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen ;;
  ogen) build_go ogen ogen github.com/ogen-go/ogen/cmd/ogen ;;
  typescript)
    need npm
    folder=$tools/typescript-$(name "$here/typescript/package-lock.json")
    if [ ! -d "$folder" ]; then
      begin typescript
      cp "$here/typescript/package.json" "$here/typescript/package-lock.json" "$fresh"
      npm ci --prefix "$fresh" --ignore-scripts --no-audit --no-fund --silent >&2
      # The links of the programs lead to their packages, and none away from here.
      ln -s node_modules/.bin "$fresh/bin"
      finish "$folder"
    fi
    ;;
  openapi-generator)
    need java mvn
    jar=openapi-generator-cli-${2:?which version}.jar
    folder=$tools/openapi-generator-$2
    if [ ! -d "$folder" ]; then
      begin openapi-generator
      mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dartifact="org.openapitools:openapi-generator-cli:$2" -DoutputDirectory="$fresh" >&2
      (cd "$fresh" && grep " $jar\$" "$here/openapi-generator/checksums" | sha256sum --check --status) ||
        { echo "$jar: another checksum than in .ci/generators" >&2; exit 1; }
      mkdir "$fresh/bin"
      # shellcheck disable=SC2016 # The script finds the jar beside itself.
      printf '#!/bin/sh\nexec java -jar "$(dirname "$0")/../%s" "$@"\n' "$jar" >"$fresh/bin/openapi-generator"
      chmod 755 "$fresh/bin/openapi-generator"
      finish "$folder"
    fi
    ;;
  *)
    echo "usage: $0 python|go|ogen|typescript|openapi-generator VERSION" >&2
    exit 2
    ;;
esac
echo "$folder/bin"
