"""Runs a command where there is no network but loopback: without_network.py COMMAND ARGUMENT…"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
REQUEST = "16sh14x"  # struct ifreq: a name and flags

_libc = ctypes.CDLL(None, use_errno=True)


def _unshare(flags: int) -> None:
    if _libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))


def leave_the_network() -> None:
    uid, gid = os.geteuid(), os.getegid()
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:  # only root may; within a namespace of our own so may we
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack(REQUEST, b"lo", 0))
        name, flags = struct.unpack(REQUEST, answer)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack(REQUEST, name, flags | IFF_UP))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        leave_the_network()
        raise_loopback()
    except OSError as error:
        sys.exit(f"This machine does not let us leave the network: {error}")
    os.execvp(sys.argv[1], sys.argv[1:])
