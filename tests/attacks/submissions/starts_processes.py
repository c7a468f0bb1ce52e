# Forks, spawns and executes; a child that lives would stay for a minute, in a session of its own.
import ctypes
import multiprocessing
import os
import pty
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor

libc = ctypes.CDLL(None, use_errno=True)


def stay():
    try:
        os.setsid()
    finally:
        time.sleep(60)
        os._exit(0)


def fork(with_):
    pid = with_()
    if pid == 0:
        stay()
    if pid > 0:
        print("SUCCEEDED:", with_)
    return pid


WAYS = [
    lambda: [fork(os.fork) for _ in range(200)], lambda: fork(lambda: os.forkpty()[0]), lambda: fork(lambda: pty.fork()[0]),
    lambda: fork(libc.fork), lambda: fork(libc.vfork), lambda: print("SUCCEEDED:", os.posix_spawn("/bin/sleep", ["sleep", "60"], {})),
    lambda: print("SUCCEEDED:", subprocess.run(["/bin/sh", "-c", "sleep 60 &"])), lambda: print("SUCCEEDED:", os.popen("id").read()),
    lambda: multiprocessing.Process(target=stay).start() or print("SUCCEEDED: multiprocessing"),
    lambda: multiprocessing.get_context("spawn").Process(target=stay).start() or print("SUCCEEDED: spawn"),
    lambda: print("SUCCEEDED:", ProcessPoolExecutor(2).submit(time.sleep, 60)),
    lambda: os.execv("/bin/sleep", ["sleep", "60"]), lambda: os.system("sleep 60 &") in (0,) and print("SUCCEEDED: system"),
    lambda: torch.utils.data.DataLoader([1, 2], num_workers=2).num_workers and print("SUCCEEDED: workers"),
]  # fmt: skip


def start():
    for way in WAYS:
        try:
            way()
        except BaseException:
            pass


start()
print("TRIED")


def scaled_dot_product_attention(queries, keys, values):
    start()
    return values, keys
