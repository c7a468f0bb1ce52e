# Tries to open, list or merely tell the existence of everything that a student should not see.
import ctypes
import glob
import io
import linecache
import mmap
import os
import pathlib
import sys

ROOT = sys.modules["grader.sandbox.protocol"].__file__.rsplit("/grader/", 1)[0]
PATHS = [
    ROOT, f"{ROOT}/autograder.yml", f"{ROOT}/solutions/self_attention.py", f"{ROOT}/grader/suites",
    f"{ROOT}/grader/suites/self_attention/project_qkv.py", f"{ROOT}/grader/suites/conftest.py",
    f"{ROOT}/grader/suites/self_attention/shared.py", f"{ROOT}/../class", f"{ROOT}/../reports",
    f"{ROOT}/../class/patched_comparisons/self_attention.py", f"{ROOT}/../reports/honest.json",
    "../solutions/self_attention.py", "autograder.yml", ".", "..", "/", "/etc/passwd", "/etc/hostname",
    "/tmp", "/dev/shm", "/dev/zero", "/root", "/home", os.path.expanduser("~"), os.__file__,
    "/proc/1/environ", "/proc/1/cmdline", "/proc/cpuinfo", "/proc/mounts", "/sys",
    *(f"/proc/{who}/{what}" for who in ("self", os.getppid()) for what in (
        "environ", "cmdline", "maps", "mem", "fd", "fd/0", "fd/3", "fd/4", "fd/5", "root", "cwd", "exe", "status", "task")),
]  # fmt: skip
libc = ctypes.CDLL(None, use_errno=True)
WAYS = {
    "open": lambda p: open(p, "rb").read(2000),
    "os.open": lambda p: os.read(os.open(p, os.O_RDONLY), 2000),
    "O_PATH": lambda p: os.open(p, 0o10000000),
    "dir_fd": lambda p: os.open(p, os.O_RDONLY, dir_fd=0),
    "io.open_code": lambda p: io.open_code(p).read(2000),
    "stat": os.stat, "lstat": os.lstat, "access": lambda p: os.access(p, os.F_OK) or 1 / 0,
    "exists": lambda p: os.path.exists(p) or 1 / 0,
    "glob": lambda p: glob.glob(f"{p}*")[0],
    "listdir": os.listdir, "scandir": lambda p: list(os.scandir(p)), "readlink": os.readlink,
    "pathlib": lambda p: pathlib.Path(p).read_text(),
    "linecache": lambda p: linecache.getlines(p)[0],
    "mmap": lambda p: mmap.mmap(os.open(p, os.O_RDONLY), 100),
    "libc open": lambda p: libc.open(str(p).encode(), 0) + 1 or 1 / 0,
    "statfs": lambda p: os.statvfs(p), "xattr": lambda p: os.listxattr(p), "chdir": os.chdir, "chroot": os.chroot,
    "torch.load": lambda p: torch.load(p), "from_file": lambda p: torch.from_file(p, size=10, dtype=torch.uint8),
    "memory": lambda p: torch.UntypedStorage.from_file(p, False, 10),
    "dlopen": lambda p: ctypes.CDLL(p),
}  # fmt: skip


def read():
    for path in PATHS:
        for name, way in WAYS.items():
            try:
                found = way(path)
            except BaseException:
                continue
            print("SUCCEEDED:", name, path, found)
    for descriptor in range(4, 300):
        try:
            os.fstat(descriptor)
            print("SUCCEEDED: descriptor", descriptor)
        except OSError:
            pass
    if os.environ or os.environb or "hidden" + "-canary" in str(sys.argv):
        print("SUCCEEDED: environment", os.environ, sys.argv)
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    while pointer and pointer[0]:
        # The size of a terminal is what the readline library notes for itself when it is imported.
        if not pointer[0].startswith((b"LINES=", b"COLUMNS=")):
            print("SUCCEEDED: environ", pointer[0])
        pointer = ctypes.cast(ctypes.addressof(pointer.contents) + 8, ctypes.POINTER(ctypes.c_char_p))


read()
print("TRIED")


def scaled_dot_product_attention(queries, keys, values):
    read()
    return open(PATHS[2]).read()


def SelfAttention_v1(d_in, d_out):
    return torch.frombuffer(bytearray(open(PATHS[2], "rb").read()), dtype=torch.uint8)


def transfer_weights(attention_v2, attention_v1):
    raise ValueError(open(PATHS[4]).read())
