# Sourced. The images of the tests lie apart from those of the machine, in a storage of their own.
tools=${MUSTER_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/muster}
images=$tools/images
mkdir -p "$images"
PATH=$PATH:/usr/sbin:/sbin

# crun, where it is the default, refuses machines with both versions of cgroups.
in_storage() {
  program=$1
  shift
  "$program" --root "$tools/containers" --runroot /run/muster-containers "$@"
}

# One at a time: a second run waits for what the first one makes, and then has it.
exec 9>"$images/.lock"
flock 9
