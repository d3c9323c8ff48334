# An NFS server: one disk, exported to both clients. It does what files in /share ask for.
. /share/settings
export PATH=$PARTS/usr/sbin:$PARTS/sbin:/usr/sbin:/usr/bin:/sbin:/bin
export LD_LIBRARY_PATH=$PARTS/usr/lib/x86_64-linux-gnu:$PARTS/lib/x86_64-linux-gnu
hostname nfs-server
for link in "lo 127.0.0.1/8" "eth0 192.0.2.1/24" "eth1 198.51.100.1/24"; do
  set -- $link
  busybox ip link set "$1" up
  busybox ip addr add "$2" dev "$1" 2>/dev/null
done
mkdir -p /disk /var/lib/nfs
mount -t ext4 /dev/vda /disk
mkdir -p /disk/export /disk/state/rpc_pipefs /disk/state/nfsdcld
mount --bind /disk/state /var/lib/nfs  # who held which lock must outlive a restart
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
echo '/disk/export *(rw,no_root_squash,fsid=0,no_subtree_check,sync)' > /etc/exports
nfsdcld -p /var/lib/nfs/rpc_pipefs -s /var/lib/nfs/nfsdcld
exportfs -ra
rpc.mountd -N 3
serve() { rpc.nfsd -N 3 -G 10 -L 10 4; }  # seconds: grace after a restart, lease of a lock
serve
touch /share/server.up
until [ -e /share/end ]; do
  [ -e /share/nfsd.stop ] && rpc.nfsd 0 && mv /share/nfsd.stop /share/nfsd.stopped
  [ -e /share/nfsd.start ] && serve && mv /share/nfsd.start /share/nfsd.started
  if [ -e /share/replace ]; then # the names stay, the files behind them are others: old handles are dead
    for log in $(find /disk/export -name '*.log'); do cp -p "$log" "$log.copy" && mv "$log.copy" "$log"; done
    find /disk/export -name '*.log' > /share/replaced && rm /share/replace
  fi
  sleep 0.3
done
sync
echo o > /proc/sysrq-trigger
sleep 9
