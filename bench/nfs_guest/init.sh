#!/bin/sh
# The first program of a machine of bench/nfs.py: the host's files, read-only, under a layer in memory.
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do insmod "$module"; done < /modules
mkdir -p /lower /layer /root
mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,ro,msize=524288 root /lower
mount -t tmpfs layer /layer
mkdir /layer/upper /layer/work
mount -t overlay -o lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work overlay /root
mount -t proc proc /root/proc
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/shm /root/share
mount -t tmpfs shm /root/dev/shm
mount -t tmpfs run /root/run
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share /root/share
for word in $(cat /proc/cmdline); do case $word in role=*) role=${word#role=} ;; esac; done
exec chroot /root /bin/bash "/share/$role.sh"
