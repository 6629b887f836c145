"""Keeps what one table deletes from slowing down another one's files, on an ext4 file system without a journal.

Such a one does not use the inode of a deleted file again for one to five minutes (`recently_deleted` in the kernel's
fs/ext4/ialloc.c), and looks at each such inode whenever a file is created in the same block group. SQLite creates and
deletes its rollback journal in every commit: a file that takes 0.05 ms to create took up to 0.5 after some thousands of
commits to other tables of the same group. With a journal, groups of their own do no harm.
"""

from __future__ import annotations

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_GET_FLAGS: Final = 0x80086601  # FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of linux/fs.h, on machines of 64 bits
_SET_FLAGS: Final = 0x40086602
_TOP_DIRECTORY: Final = 0x00020000  # FS_TOPDIR_FL, `chattr +T`


def spread(folder: Path) -> None:
    """Let each folder that is made in this one have a block group of its own, where the file system has such things."""
    if sys.platform != "linux":
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # The file system has no such flag.
            (flags,) = struct.unpack("L", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(struct.calcsize("L"))))
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("L", flags | _TOP_DIRECTORY))
    finally:
        os.close(descriptor)
