# A machine that records over NFS. Its file in /share is named for its rank: client0.sh, client1.sh.
. /share/settings
rank=${0: -4:1}
[ "$rank" = 0 ] && network=192.0.2 || network=198.51.100
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=$SOURCE PYTHONDONTWRITEBYTECODE=1
hostname "client-$rank"
busybox ip link set lo up
busybox ip link set eth0 up
busybox ip addr add "$network.2/24" dev eth0
mkdir -p /mnt/nfs
until [ -e /share/server.up ]; do sleep 0.3; done
options=addr=$network.1,clientaddr=$network.2,vers=4.2,hard,timeo=50
mount -i -t nfs4 -o "$options" "$network.1:/" /mnt/nfs || echo "client $rank cannot mount"
cd /mnt/nfs || exit 1
compact() { "$PYTHON" -m rollscope compact --dir /mnt/nfs/runs --all > "/share/$1" 2>&1; }
export RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=192.0.2.2 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=nfs
"$PYTHON" /share/record.py &
until [ -e "/share/done$rank" ]; do
  [ "$rank" = 0 ] && [ -e /share/compact ] && mv /share/compact /share/compacting && compact compacted
  kill -0 $! 2>/dev/null || [ -e "/share/done$rank" ] || { echo "rank $rank ended early" > "/share/done$rank"; }
  sleep 0.3
done
wait
if [ "$rank" = 0 ]; then
  until [ -e /share/done1 ]; do sleep 0.3; done
  compact compacted.at.the.end
  "$PYTHON" /share/check.py
fi
echo o > /proc/sysrq-trigger
sleep 9
