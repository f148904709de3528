#!/bin/sh
# Builds the Kubernetes that the tests run against, once, from Go modules that go.sum pins: the programs named, or all.
# Each lies beside etcd afterwards, under its name and version, where test/cluster/support/control-plane/tools.ts looks for it.
set -eu

kubernetes=1.36.3
containerd=2.4.2
coredns=1.15.0
helm3=3.22.0
helm4=4.3.1
registry=3.1.2
pause=1

bin=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}/bin
here=$(cd "$(dirname "$0")" && pwd)
fresh=
trap 'rm -f "$fresh"' EXIT

# build FOLDER NAME VERSION PACKAGE [LINKER FLAG…]
build() {
  folder=$1 name=$2 version=$3 package=$4
  shift 4
  [ ! -x "$bin/$name-$version" ] || return 0
  started=$(date +%s)
  # Another build may be under way, and a build may be cut off: only a whole binary gets the name.
  fresh=$(mktemp "$bin/.$name-$version.XXXXXX")
  (cd "$here/$folder" && CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags "-s -w $*" -o "$fresh" "$package")
  chmod 755 "$fresh"
  mv "$fresh" "$bin/$name-$version"
  echo "$name $version: built in $(($(date +%s) - started)) s"
}

of_kubernetes() {
  minor=${kubernetes#*.}
  flags=
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags="$flags -X $package.gitVersion=v$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
    flags="$flags -X $package.gitTreeState=clean"
  done
  build kubernetes "$1" $kubernetes "k8s.io/kubernetes/cmd/$1" "$flags"
}

of_containerd() {
  module=github.com/containerd/containerd/v2
  build containerd "$1" $containerd $module/cmd/"$1" -X $module/version.Version=v$containerd
}

helm() {
  module=helm.sh/helm/v$1
  build "helm$1" helm "$2" "$module/cmd/helm" -X "$module/internal/version.version=v$2"
}

mkdir -p "$bin"
[ $# -gt 0 ] || set -- kube-apiserver kubectl kube-controller-manager kube-scheduler kubelet kube-proxy \
  containerd containerd-shim-runc-v2 ctr coredns pause helm3 helm4 registry
for program; do
  case $program in
    kube-apiserver | kubectl | kube-controller-manager | kube-scheduler | kubelet | kube-proxy) of_kubernetes "$program" ;;
    containerd | containerd-shim-runc-v2 | ctr) of_containerd "$program" ;;
    coredns) build coredns coredns $coredns . ;;
    pause) build pause pause $pause . ;;
    helm3) helm 3 $helm3 ;;
    helm4) helm 4 $helm4 ;;
    registry)
      distribution=github.com/distribution/distribution/v3
      build registry registry $registry $distribution/cmd/registry -X $distribution/version.version=v$registry
      ;;
    *)
      echo "$0: $program is not one of its programs" >&2
      exit 2
      ;;
  esac
done
