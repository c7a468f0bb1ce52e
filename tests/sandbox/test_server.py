"""Inside a student process, nothing of the machine is visible, and nothing but computing works."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
import torch

from grader.sandbox import lockdown
from grader.sandbox.failures import Raised
from grader.sandbox.processes import ForkServer
from grader.sandbox.sandbox_client import SandboxClient, Source
from grader.testing.student import Student

Opens = Callable[..., SandboxClient]
needs_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")

INSIDE = """\
import builtins, ctypes, errno, os, resource, signal, socket, subprocess, sys, tempfile, threading, time
import importlib, mmap, multiprocessing, pathlib, shutil, sqlite3
import torch

def attempt(text):
    try:
        return f"worked: {eval(text)!r}"
    except Exception as error:
        return type(error).__name__

def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments])
    return errno.errorcode[ctypes.get_errno()] if result < 0 else f"worked: {result}"

def evaluate(text):
    return eval(text)
"""


@pytest.fixture
def inside(open_client: Opens) -> Student:
    return Student(open_client(INSIDE), "answers")


ATTEMPTS = (
    "open('/etc/passwd').read()",
    "open('/tmp/new', 'w')",
    "open(__file__)",
    "os.stat('/')",
    "os.lstat('/etc/passwd')",
    "os.readlink('/proc/self/exe')",
    "os.listdir('/')",
    "os.listdir('/proc/self/fd')",
    "os.access('/', os.R_OK) and 1 / 1 or 1 / 0",
    "os.getcwd()",
    "os.chdir('/tmp')",
    "os.mkdir('/tmp/new')",
    "os.unlink('/etc/passwd')",
    "os.rename('/tmp', '/tmp2')",
    "os.symlink('/', '/tmp/link')",
    "os.chmod('/tmp', 0o777)",
    "pathlib.Path('/proc/self/environ').read_bytes()",
    "shutil.copy('/etc/passwd', '/tmp/x')",
    "tempfile.TemporaryFile()",
    "torch.save(torch.ones(1), '/tmp/x')",
    "torch.load('/tmp/x')",
    "ctypes.CDLL('libm.so.6.1')",
    "sqlite3.connect('/tmp/new.db')",
    "mmap.mmap(3, 4096)",
    "socket.socket()",
    "socket.create_connection(('127.0.0.1', 22))",
    "socket.socketpair()",
    "socket.getaddrinfo('example.org', 80)",
    "os.fork()",
    "os.execv('/bin/true', ['true'])",
    "os.system('true') and 1 / 0",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "subprocess.run(['true'])",
    "multiprocessing.Process(target=print).start()",
    "os.kill(os.getppid(), signal.SIGKILL)",
    "os.kill(os.getpid(), signal.SIGKILL)",
    "os.killpg(0, signal.SIGKILL)",
    "os.setuid(0)",
    "os.pipe()",
    "os.memfd_create('x')",
    "os.nice(-1)",
    "os.sched_setaffinity(0, {0})",
    "os.setsid()",
    "resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))",
    "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
    "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 16))",
    "resource.prlimit(0, resource.RLIMIT_AS, (0, 0))",
    "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
    "importlib.import_module('antigravity')",
)


def test_access_beyond_the_process_fails(inside: Student) -> None:
    results = {attempt: inside.attempt(attempt) for attempt in ATTEMPTS}
    assert {attempt: result for attempt, result in results.items() if result.startswith("worked")} == {}


SYSTEM_CALLS = {
    "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "tkill": 200, "tgkill": 234, "ptrace": 101, "open": 2,
    "openat": 257, "openat2": 437, "stat": 4, "statx": 332, "newfstatat": 262, "readlink": 89, "getdents64": 217,
    "socket": 41, "socketpair": 53, "connect": 42, "sendmsg": 46, "recvmsg": 47, "mount": 165, "unshare": 272,
    "setns": 308, "chroot": 161, "pivot_root": 155, "io_uring_setup": 425, "io_uring_enter": 426,
    "memfd_create": 319, "memfd_secret": 447, "keyctl": 250, "add_key": 248, "request_key": 249, "shmget": 29,
    "shmat": 30, "msgget": 68, "semget": 64, "mq_open": 240, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438,
    "kcmp": 312, "seccomp": 317, "prctl": 157, "personality": 135, "setuid": 105, "setresuid": 117, "capset": 126,
    "init_module": 175, "iopl": 172, "reboot": 169, "settimeofday": 164, "inotify_init1": 294,
    "membarrier": 324, "futex_waitv": 449, "uname": 63, "sysinfo": 99,
    "fanotify_init": 300, "open_by_handle_at": 304, "execveat": 322, "ioctl": 16, "sendfile": 40, "splice": 275,
    "eventfd2": 290, "timerfd_create": 283, "epoll_create1": 291, "landlock_create_ruleset": 444,
}  # fmt: skip


@needs_x86_64
def test_system_calls_that_are_not_listed_are_refused(inside: Student) -> None:
    results = {name: inside.call(number, 0, 0, 0, 0) for name, number in SYSTEM_CALLS.items()}
    assert {name: result for name, result in results.items() if result != "EPERM"} == {}


@needs_x86_64
@pytest.mark.parametrize(
    "flags",
    [0, 17, 0x3D0F00, 0x10000, 0x10000000 | 17, 0x10000 | 0x20000],
    ids=["none", "process", "thread as glibc makes it", "bare thread", "new user", "thread in a new namespace"],
)
def test_nothing_is_made_by_clone(inside: Student, flags: int) -> None:
    clone, clone3 = 56, 435
    assert inside.call(clone, flags, 0, 0, 0) == "EAGAIN"
    assert inside.call(clone3, 0, 0) == "ENOSYS"


# A clock's number holds the complement of a process's id in its upper bits.
INIT_PROCESS = ~1 << 3 | 2
# Of clock_gettime, clock_getres, clock_nanosleep, sched_getaffinity, get_robust_list, futex, prlimit64, setrlimit.
CALLS = (
    (228, INIT_PROCESS, 0), (228, INIT_PROCESS & 0xFFFFFFFF, 0), (228, 12, 0), (229, INIT_PROCESS, 0),
    (230, INIT_PROCESS, 0, 0, 0), (204, 1, 128, 0), (274, 1, 0, 0), (202, 0, 3, 0), (202, 0, 6, 0),
    (202, 0, 12 | 128, 0), (202, 0, 5, 0), (302, 0, 0, 1, 0), (302, 1, 0, 0, 0), (160, 0, 0),
)  # fmt: skip


@needs_x86_64
def test_what_tells_of_others_or_holds_more_than_a_wait_is_refused(inside: Student) -> None:
    assert [call for call in CALLS if inside.call(*call) != "EPERM"] == []


def test_a_process_may_ask_for_its_own_times_and_processors(inside: Student) -> None:
    own = "[time.clock_gettime(clock) >= 0 for clock in (0, 1, 2, 3, 4, 5, 6, 7, 11)]"
    assert inside.evaluate(own) == [True] * 9
    assert inside.evaluate("len(os.sched_getaffinity(0))") == len(os.sched_getaffinity(0))


def test_the_name_and_the_system_of_the_machine_are_constants(inside: Student) -> None:
    kernel = ("Linux", "grader", "6.0.0", "#1", platform.machine())
    assert inside.evaluate("tuple(os.uname())") == kernel
    assert inside.evaluate("tuple(__import__('platform').uname())") == (*kernel, "")
    assert inside.evaluate("__import__('platform').platform()") == f"Linux-6.0.0-{kernel[-1]}-with-glibc2.31"
    assert inside.evaluate("socket.gethostname()") == "grader"


def test_nothing_of_the_machine_is_left_in_the_interpreter(inside: Student) -> None:
    assert inside.evaluate("dict(os.environ)") == {}
    assert inside.evaluate("ctypes.CDLL(None).getenv(b'PATH')") == 0
    assert inside.evaluate("sys.argv") == [""]
    assert inside.evaluate("sys.path") == []


def test_no_module_of_the_trusted_side_is_loaded(inside: Student) -> None:
    loaded = inside.evaluate("[name for name in sys.modules if name.partition('.')[0] == 'grader']")
    assert set(loaded) <= {
        "grader", "grader.sandbox", "grader.sandbox.audit_hook", "grader.sandbox.fork_server", "grader.sandbox.loader",
        "grader.sandbox.lockdown", "grader.sandbox.pieces", "grader.sandbox.preload", "grader.sandbox.protocol",
        "grader.sandbox.replacements", "grader.sandbox.serving", "grader.sandbox.statements", "grader.sandbox.units",
        "grader.sandbox.values", "grader.sandbox.worker", "grader.text",
    }  # fmt: skip
    assert inside.evaluate("sorted({'pytest', 'pydantic', 'yaml'} & set(sys.modules))") == []


def test_only_the_empty_input_the_output_and_the_connection_are_open(inside: Student, server: ForkServer) -> None:
    inside.evaluate("0")
    [child] = processes.children(server.pid)
    assert {path.name for path in Path(f"/proc/{child}/fd").iterdir()} == {"0", "1", "2", "3"}
    assert inside.evaluate("sys.stdin.read()") == ""


def test_the_limits_are_those_of_the_course(open_client: Opens) -> None:
    inside = Student(open_client(INSIDE, cpu_seconds=11, memory_mb=1500), "answers")
    assert inside.evaluate("resource.getrlimit(resource.RLIMIT_CPU)") == (11, 11)
    soft, hard = inside.evaluate("resource.getrlimit(resource.RLIMIT_AS)")
    # A build with CUDA gets more, because it needs more to start.
    assert soft == hard == 1500 * 2**20 or (torch.version.cuda and soft == hard > 1500 * 2**20)
    assert inside.evaluate("resource.getrlimit(resource.RLIMIT_FSIZE)") == (0, 0)


def test_memory_beyond_the_limit_is_refused_and_the_process_continues(inside: Student) -> None:
    assert inside.attempt("bytearray(3 * 2**30)") == "MemoryError"
    assert inside.attempt("torch.ones(2**30)") == "RuntimeError"
    assert inside.evaluate("1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each process a user of its own")
def test_under_root_each_process_of_all_servers_has_a_user_of_its_own(open_client: Opens, server: ForkServer) -> None:
    other = ForkServer.spawned()
    there = SandboxClient(other, {"answers": Source.of("answers.py", [INSIDE])}, open_client(INSIDE).limits)
    students = [Student(client, "answers") for client in (open_client(INSIDE), open_client(INSIDE), there)]
    ids = [tuple(student.evaluate("[os.getuid(), os.geteuid(), os.getgid()]")) for student in students]
    children = [*processes.children(server.pid), *processes.children(other.pid)]
    assert {group for *_, group in ids} == {lockdown.NOBODY}
    assert len({user for user, *_ in ids}) == len(ids)
    assert {user for user, *_ in ids} <= {*lockdown.user_ids()}
    for child, (user, *_) in zip(children, ids, strict=True):
        assert set(processes.status(child)["Uid"].split()) == {str(user)}
        assert processes.status(child)["CapEff"] == "0" * 16
    there.close()
    other.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each process a user of its own")
def test_if_no_user_id_is_free_the_process_runs_as_nobody_and_its_layers_say_so(
    open_client: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(lockdown.USER_IDS, "1-1")
    server = ForkServer.spawned()
    client = SandboxClient(server, {"answers": Source.of("answers.py", [INSIDE])}, open_client(INSIDE).limits)
    assert Student(client, "answers").evaluate("os.getuid()") == lockdown.NOBODY
    assert (client.layers["user"], client.layers["own_user"]) == (True, False)
    client.close()
    server.close()


def test_the_kernel_itself_says_that_the_process_is_filtered(inside: Student, server: ForkServer) -> None:
    inside.evaluate("0")
    [child] = processes.children(server.pid)
    status = processes.status(child)
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


# What honest answers also do, and what makes Python or torch read a file at first use. More is in torch_walk.py.
ORDINARY_THINGS = {
    "print a tensor": "import torch\ndef f():\n    print(torch.randn(3, 3))",
    "train": "import torch\ndef f():\n"
    "    layer = torch.nn.Linear(2, 3)\n    optimiser = torch.optim.AdamW(layer.parameters())\n"
    "    layer(torch.ones(1, 2)).sum().backward()\n    optimiser.step()",
    "load batches": "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\ndef f():\n"
    "    list(DataLoader(TensorDataset(torch.arange(8.0)), batch_size=2, shuffle=True))",
    "use torch's own attention": "import torch\ndef f():\n    x = torch.ones(1, 2, 3, 4)\n"
    "    torch.nn.functional.scaled_dot_product_attention(x, x, x)\n"
    "    torch.nn.MultiheadAttention(4, 2)(x[0], x[0], x[0])",
    "use threads": "import torch\nfrom concurrent.futures import ThreadPoolExecutor\ndef f():\n"
    "    torch.set_num_threads(4)\n    torch.ones(512, 512) @ torch.ones(512, 512)\n"
    "    with ThreadPoolExecutor(2) as pool:\n        list(pool.map(abs, [1, -2]))",
    "load batches by workers": "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\ndef f():\n"
    "    data = TensorDataset(torch.arange(8.0))\n"
    "    loader = DataLoader(data, 2, num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=9)\n"
    "    assert [len(batch[0]) for batch in loader] == [2] * 4",
    "start threads": "import queue, threading\ndef f():\n    results = queue.Queue()\n"
    "    threads = [threading.Thread(target=results.put, args=(n,), daemon=True) for n in range(4)]\n"
    "    for thread in threads: thread.start()\n    for thread in threads: thread.join()\n"
    "    assert not any(thread.is_alive() for thread in threads)\n"
    "    assert sorted(results.get() for _ in threads) == [0, 1, 2, 3]",
    "use a thread of its own kind": "import threading\nclass Worker(threading.Thread):\n"
    "    def run(self): self.result = 7\ndef f():\n    worker = Worker()\n    worker.start()\n    worker.join(1)\n"
    "    assert worker.result == 7 and threading.current_thread().is_alive()",
    "wait for futures": "from concurrent.futures import ThreadPoolExecutor, as_completed\ndef f():\n"
    "    with ThreadPoolExecutor(max_workers=3, initializer=print) as pool:\n"
    "        futures = [pool.submit(divmod, 7, n) for n in (2, 0)]\n"
    "    assert {one.exception() and type(one.exception()) for one in as_completed(futures)} == "
    "{None, ZeroDivisionError}",
    "set every number of threads": "import torch\ndef f():\n    torch.set_num_threads(8)\n"
    "    torch.set_num_interop_threads(8)\n    torch._C.set_num_threads(8)\n"
    "    layer = torch.nn.Linear(512, 512)\n    layer(torch.ones(512, 512)).sum().backward()",
    "train a transformer": "import torch\ndef f():\n    layer = torch.nn.TransformerEncoderLayer(8, 2)\n"
    "    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)\n    layer(torch.ones(3, 2, 8)).sum().backward()\n"
    "    optimiser.step()",
    "tell the time": "import datetime, platform\ndef f():\n    print(datetime.datetime.now(), platform.platform())",
    "draw": "import matplotlib.pyplot as plt\ndef f():\n"
    "    figure, axes = plt.subplots()\n    axes.plot([1, 2])\n    plt.show()",
    "look at its own source": "import inspect\ndef f():\n    print(inspect.getsource(f))",
}


@pytest.mark.parametrize("thing", ORDINARY_THINGS)
def test_ordinary_code_works_although_no_file_can_be_opened(open_client: Opens, thing: str) -> None:
    assert Student(open_client(f"{ORDINARY_THINGS[thing]}\n    return 'done'"), "answers").f() == "done"


NO_THREADS = "threads and processes cannot be started while grading: call the function directly"
FOR_EVER = "this would wait for another thread for ever, because all code runs in one thread while grading"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import multiprocessing.pool\ndef f():\n    multiprocessing.pool.ThreadPool(2)", NO_THREADS),
        ("import multiprocessing\ndef f():\n    multiprocessing.dummy.Pool(2)", NO_THREADS),
        ("import threading\ndef f():\n    threading.Timer(3, print).start()", NO_THREADS),
        ("import queue\ndef f():\n    queue.Queue().get()", FOR_EVER),
        ("import threading\ndef f():\n    threading.Event().wait()", FOR_EVER),
        ("from concurrent.futures import Future\ndef f():\n    Future().result()", FOR_EVER),
        ("import torch\ndef f():\n    with torch.profiler.profile(): ...", "Resource temporarily unavailable"),
        ("import _thread\ndef f():\n    _thread.start_new_thread(print, ())", NO_THREADS),
        ("import threading\ndef f():\n    threading.Thread().join()", "cannot join thread before it is started"),
    ],
)
def test_code_that_needs_a_thread_fails_with_a_reason_at_its_line(open_client: Opens, code: str, sentence: str) -> None:
    with pytest.raises(Raised) as caught:
        Student(open_client(code), "answers").f()
    assert (caught.value.detail, caught.value.line) == (sentence, 3)


def test_errors_of_a_thread_are_printed_as_python_prints_them(open_client: Opens) -> None:
    client = open_client(
        "import threading\ndef f():\n    threading.Thread(target=divmod, args=(1, 0)).start()\n    return 1"
    )
    assert Student(client, "answers").f() == 1
    assert "ZeroDivisionError" in client.take_printed()[0]
