# The first process of a real node: makes its namespaces a place of its own and then waits for ever.
# All else on the node lives in these namespaces and dies with this process.
#
#   unshare --mount --net --pid --fork --kill-child sh sandbox.sh CLUSTER PROGRAMS READY
#
# CLUSTER and PROGRAMS are directories that the node needs, wherever they are. Once all is done,
# READY appears and holds the pid as others see it, and the snapshotter that works here.
set -eu
cluster=$1 programs=$2 ready=$3

# While /proc is still the machine's, it tells the pid that the machine knows us by.
read -r pid _ < /proc/self/stat

# Programs keep files in fixed places below these. What they write belongs to this node alone, and
# goes with it.
exec 3< "$cluster" 4< "$programs"
mount -t proc proc /proc
for hidden in /run /var/lib /var/log; do
    mount -t tmpfs -o mode=755 tmpfs "$hidden"
done
# A directory below one of them has just been hidden; a handle still leads there.
mkdir -p "$cluster" "$programs"
mount --no-canonicalize --bind /proc/self/fd/3 "$cluster"
mount --no-canonicalize --bind /proc/self/fd/4 "$programs"
exec 3<&- 4<&-

# The kubelet makes sockets below its directory, and their paths must be short.
mkdir "$cluster/node/kubelet" /var/lib/kubelet
mount --bind "$cluster/node/kubelet" /var/lib/kubelet
mount --make-shared /var/lib/kubelet

# Control groups of this node alone, in the places where programs expect those of the machine.
group=kudo-node-$pid
trees=$(while read -r _ tree kind _; do
    case $kind in cgroup | cgroup2) echo "$tree" ;; esac
done < /proc/mounts)
mkdir /run/group
for tree in $trees; do
    mkdir -p "$tree/$group"
    if [ -e "$tree/cgroup.subtree_control" ]; then
        for controller in $(cat "$tree/cgroup.controllers"); do
            echo "+$controller" > "$tree/cgroup.subtree_control" || true
        done
    elif [ -e "$tree/cpuset.cpus" ]; then
        # New groups start without any, and then nothing can run in them.
        cat "$tree/cpuset.cpus" > "$tree/$group/cpuset.cpus"
        cat "$tree/cpuset.mems" > "$tree/$group/cpuset.mems"
    fi
    # In place of the machine's tree, not over it: programs would find the one below as well.
    mount --bind "$tree/$group" /run/group
    umount "$tree"
    mount --move /run/group "$tree"
done

probe=$cluster/node/probe
mkdir -p "$probe/lower" "$probe/upper" "$probe/work" "$probe/merged"
layers=lowerdir=$probe/lower,upperdir=$probe/upper,workdir=$probe/work
snapshotter=native
if mount -t overlay -o "$layers" overlay "$probe/merged" 2> /dev/null; then
    umount "$probe/merged"
    snapshotter=overlayfs
fi

ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward

echo "$pid $snapshotter" > "$ready.new"
mv "$ready.new" "$ready"
# Orphans come to us; ignoring the signal lets the kernel bury them.
exec env --ignore-signal=CHLD sleep infinity
