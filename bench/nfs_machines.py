"""Small machines under QEMU, each with a kernel of its own, that share the files of this one.

Debian's kernel and NFS programs are downloaded and unpacked into a folder, not installed. A machine
starts from memory: it sees the files of this machine read-only under a layer of its own, and a
folder `/share` that all machines and this program see. Its network is a cable (a Unix socket) to
one other machine. Nothing is emulated by hardware, so a machine is about ten times slower.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

GUEST = Path(__file__).with_name("nfs_guest")
TOOLS = ("nfs-kernel-server", "nfs-common", "libnfsidmap1", "libtirpc3", "libevent-core-2.1-7", "libwrap0")
MODULES = ("virtio_pci", "virtio_net", "virtio_blk", "9pnet_virtio", "9p", "overlay", "ext4", "crc32c_generic")
NFS = ("nfsv4", "nfs", "nfsd")
COMMANDS = ("sh", "mount", "mkdir", "insmod", "cat", "chroot")


def needs() -> list[str]:
    """Programs that are missing on this machine."""
    return [name for name in ("qemu-system-x86_64", "busybox", "mke2fs", "dpkg") if not shutil.which(name)]


def unpack(folder: Path) -> Path:
    """Debian's newest kernel and NFS programs, in `folder`; kept for the next time."""
    parts = folder / "parts"
    if not (parts / "done").exists():
        parts.mkdir(parents=True, exist_ok=True)
        told = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=True)
        kernel = next(word for word in told.stdout.split() if word.startswith("linux-image-6"))
        subprocess.run(["apt-get", "-qq", "download", kernel, *TOOLS], cwd=parts, check=True, stderr=subprocess.DEVNULL)
        for package in parts.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, parts], check=True)
            package.unlink()
        (parts / "done").touch()
    return parts


def needed_modules(folder: Path) -> list[Path]:
    """The modules with those that they need, in the order in which they are to be loaded."""
    subprocess.run(["busybox", "depmod", "-b", folder.parents[2], folder.name], check=True)
    lines = (line.partition(":") for line in (folder / "modules.dep").read_text().splitlines())
    needs = {Path(name).name.partition(".")[0].replace("-", "_"): (name, more.split()) for name, _, more in lines}
    order: list[str] = []

    def take(name: str) -> None:
        path, before = needs[name]
        for one in before:
            take(Path(one).name.partition(".")[0].replace("-", "_"))
        if path not in order:
            order.append(path)

    for name in (*MODULES, *NFS):
        take(name)
    return [folder / path for path in order]


def memory_image(parts: Path, image: Path) -> None:
    """What a machine has when it starts: a shell, modules, and `init.sh`."""
    inside = image.with_suffix(".d")
    for name in ("bin", "proc", "dev"):
        (inside / name).mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), inside / "bin" / "busybox")
    for name in COMMANDS:
        (inside / "bin" / name).symlink_to("busybox")
    modules = needed_modules(next((parts / "lib" / "modules").iterdir()))
    for module in modules:
        shutil.copy(module, inside / module.name)
    (inside / "modules").write_text("".join(f"/{module.name}\n" for module in modules))
    shutil.copy(GUEST / "init.sh", inside / "init")
    (inside / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(inside)) for path in sorted(inside.rglob("*")))
    packed = subprocess.run(
        ["busybox", "cpio", "-o", "-H", "newc"], cwd=inside, input=names.encode(), capture_output=True, check=True
    )
    image.write_bytes(gzip.compress(packed.stdout, 1))


class Machines:
    """The machines of one trial: they share `share`, and end with it."""

    def __init__(self, folder: Path, share: Path) -> None:
        self.parts, self.share = unpack(folder), share
        self._image = share.parent / "memory.img"
        memory_image(self.parts, self._image)
        (self._kernel,) = (self.parts / "boot").glob("vmlinuz-*")
        self._begun: list[subprocess.Popen[bytes]] = []

    def begin(self, role: str, *hardware: str) -> subprocess.Popen[bytes]:
        """Start a machine that runs `/share/ROLE.sh`. What it prints is in `ROLE.txt` beside it."""
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-nographic", "-no-reboot"]
        command += ["-kernel", str(self._kernel), "-initrd", str(self._image)]
        command += ["-append", f"console=ttyS0 quiet panic=-1 role={role}"]
        command += ["-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"]
        command += ["-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"]
        with open(self.share.parent / f"{role}.txt", "ab") as said:
            self._begun.append(
                subprocess.Popen([*command, *hardware], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            )
        return self._begun[-1]

    def cable(self, number: int, side: str) -> list[str]:
        """One end of the cable to a client. The client's end waits, so a server may come again."""
        waits = "on" if side == "client" else "off"
        card = f"52:54:00:00:{'01' if side == 'client' else '02'}:{number:02x}"
        address = f"server={waits},addr.type=unix,addr.path={self.share.parent / f'cable{number}'}"
        return [
            *("-netdev", f"stream,id=cable{number},{address}"),
            *("-device", f"virtio-net-pci,netdev=cable{number},mac={card}"),
        ]

    def end(self) -> None:
        for machine in self._begun:
            machine.kill()
            machine.wait()
