# Tries to make, change, move, link and delete files, near and far.
import os
import shutil
import socket
import sqlite3
import sys
import tempfile

ROOT = sys.modules["grader.sandbox.protocol"].__file__.rsplit("/grader/", 1)[0]
TARGETS = [
    f"{ROOT}/autograder.yml", f"{ROOT}/solutions/self_attention.py", f"{ROOT}/grader/suites/self_attention/planted.py",
    f"{ROOT}/grader/__init__.py", f"{ROOT}/../class/exits_in_calls/self_attention.py", f"{ROOT}/../class/planted",
    f"{ROOT}/../reports/planted.json", f"{ROOT}/../planted", f"{ROOT}/../gradebook.db", "planted", "/tmp/planted", "/dev/shm/planted", "/var/tmp/planted",
]  # fmt: skip
WAYS = {
    "write": lambda p: open(p, "w").write("planted"), "append": lambda p: open(p, "a").write("planted"),
    "create": lambda p: os.open(p, os.O_CREAT | os.O_WRONLY), "truncate": lambda p: os.truncate(p, 0),
    "mkdir": lambda p: os.mkdir(p + "-folder"), "unlink": os.unlink, "rename": lambda p: os.rename(p, p + "-moved"),
    "link": lambda p: os.link(p, p + "-link"), "symlink": lambda p: os.symlink("/etc/passwd", p + "-symlink"),
    "chmod": lambda p: os.chmod(p, 0o777), "chown": lambda p: os.chown(p, 65534, 65534), "utime": os.utime,
    "mkfifo": lambda p: os.mkfifo(p + "-fifo"), "mknod": lambda p: os.mknod(p + "-node"),
    "rmtree": lambda p: shutil.rmtree(os.path.dirname(p) or "."), "save": lambda p: torch.save(torch.ones(3), p),
    "sqlite": lambda p: sqlite3.connect(p).execute("create table planted (x)"),
    "bind": lambda p: socket.socket(socket.AF_UNIX).bind(p + "-socket"),
    "O_TMPFILE": lambda p: os.open(os.path.dirname(p) or ".", 0o20200000 | os.O_RDWR, 0o600),
    "shared": lambda p: torch.from_file(p, True, 10, dtype=torch.uint8).fill_(65),
}  # fmt: skip
for way, action in WAYS.items():
    for target in TARGETS:
        try:
            action(target)
        except BaseException:
            continue
        print("SUCCEEDED:", way, target)
for make in (tempfile.TemporaryFile, tempfile.mkdtemp, tempfile.NamedTemporaryFile):
    try:
        make()
        print("SUCCEEDED:", make)
    except BaseException:
        pass
try:
    torch.ones(10).share_memory_()
    print("SUCCEEDED: share_memory_")
except BaseException:
    pass
print("TRIED")
