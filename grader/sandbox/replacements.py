"""Replacements for what a student's process may not do: start threads, and ask the system what machine this is.

Honest code does not notice them. Work for a thread is done in the caller, where that gives the same result, and refused
in one sentence where it cannot.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import functools
import inspect
import multiprocessing.pool
import os
import platform
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_THREAD = "threads and processes cannot be started while grading: call the function directly"
# The event that Python has for it, though not in every version.
BARE_THREAD = "_thread.start_new_thread"
NEVER_ENDS = "this would wait for another thread for ever, because all code runs in one thread while grading"
MACHINE = ("Linux", "grader", "6.0.0", "#1", platform.machine())
C_LIBRARY = ("glibc", "2.31")


def install() -> None:
    """Replace, for this process and those forked from it, what the seccomp filter refuses."""
    _use_one_thread_in_torch()
    _run_threads_in_the_caller()
    _describe_no_machine()


def _use_one_thread_in_torch() -> None:
    # libgomp ends the process where a thread cannot be created.
    for module in (torch, torch._C):
        for name in ("set_num_threads", "_set_num_threads", "set_num_interop_threads"):
            if hasattr(module, name):
                setattr(module, name, _do_nothing)
    loader = torch.utils.data.DataLoader
    make = loader.__init__
    parameters = inspect.signature(make)

    @functools.wraps(make)
    def make_without_workers(*arguments: Any, **options: Any) -> None:
        given = parameters.bind(*arguments, **options)
        workers = given.arguments.get("num_workers")
        if isinstance(workers, int) and workers > 0:
            defaults = {name: parameters.parameters[name].default for name in _OF_WORKERS}
            given.arguments.update(defaults)
        make(*given.args, **given.kwargs)

    loader.__init__ = make_without_workers  # type: ignore[method-assign]


# The arguments of DataLoader that it takes only where there are workers.
_OF_WORKERS = ("num_workers", "timeout", "multiprocessing_context", "prefetch_factor", "persistent_workers")


def _do_nothing(_count: int) -> None: ...


def _run_threads_in_the_caller() -> None:
    wait = _wait_with_an_end(threading.Condition.wait)
    for owner, name, replacement in (
        (threading.Thread, "start", _start),
        (threading.Thread, "join", _join),
        (threading.Thread, "is_alive", _is_alive),
        (threading.Timer, "start", _refuse),
        (threading.Condition, "wait", wait),
        (multiprocessing.pool.Pool, "__init__", _refuse),
        (concurrent.futures, "ThreadPoolExecutor", ThreadPoolExecutor),
        (concurrent.futures.thread, "ThreadPoolExecutor", ThreadPoolExecutor),
        (_thread, "start_new_thread", _refuse_bare_thread),
        (_thread, "start_joinable_thread", _refuse_bare_thread),
    ):
        setattr(owner, name, replacement)


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError(ONE_THREAD)


def _refuse_bare_thread(*_: Any, **__: Any) -> None:
    sys.audit(BARE_THREAD)
    raise RuntimeError(ONE_THREAD)


def _start(thread: Any) -> None:
    """Thread.start: `run`, here and now. Its errors go where those of a thread go."""
    if thread._started.is_set():
        raise RuntimeError("threads can only be started once")
    thread._started.set()
    thread.runs_here = True
    try:
        thread.run()
    except BaseException:  # noqa: BLE001 - as in a thread
        threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), thread]))
    finally:
        thread.runs_here = False


def _join(thread: Any, *_: Any, **__: Any) -> None:
    """Thread.join: it has ended by now."""
    if not thread._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if getattr(thread, "runs_here", True):
        raise RuntimeError("cannot join current thread")


def _is_alive(thread: Any) -> bool:
    return thread is threading.main_thread() or getattr(thread, "runs_here", False)


def _wait_with_an_end(wait: Callable[..., bool]) -> Callable[..., bool]:
    """Condition.wait, on which queues, events and futures build: without a timeout nothing would ever end it."""

    def wait_with_an_end(condition: threading.Condition, timeout: float | None = None) -> bool:
        if timeout is None:
            raise RuntimeError(NEVER_ENDS)
        return wait(condition, timeout)

    return wait_with_an_end


class ThreadPoolExecutor(concurrent.futures.Executor):
    """Calls each function when it is submitted, in the caller. Takes what the original takes."""

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",  # noqa: ARG002 - as the original has it
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._is_shut_down = False
        if initializer:
            initializer(*initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Call the function now, and return a future that is done."""
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - as the original does
            future.set_exception(error)
        return future

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Take no more calls."""
        self._is_shut_down = True


def _describe_no_machine() -> None:
    if not hasattr(os, "uname"):  # Windows, where there is no filter either
        return
    machine = os.uname_result(MACHINE)
    os.uname = lambda: machine
    platform.libc_ver = lambda *_, **__: C_LIBRARY
    socket.gethostname = lambda: machine.nodename
    platform._uname_cache = None  # type: ignore[attr-defined]
    platform._platform_cache.clear()  # type: ignore[attr-defined]
    # It would start a program to find out.
    platform.uname().__dict__["processor"] = ""
