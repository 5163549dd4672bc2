"""Takes from an interpreter what only Linux has, when it starts with this folder in `PYTHONPATH`."""

import os
import resource
import socket

OF_THE_SYSTEM = """
    sched_getaffinity sched_setaffinity copy_file_range eventfd fdatasync getrandom memfd_create pidfd_open pipe2
    posix_fadvise posix_fallocate splice
"""

for module, names in ((os, OF_THE_SYSTEM), (resource, "prlimit"), (socket, "AF_NETLINK SO_PEERCRED")):
    for name in names.split():
        vars(module).pop(name, None)
