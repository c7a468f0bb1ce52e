"""Replacements for what a student process may not do: threads, compilers, other devices, and questions on the system.

Honest code does not notice them. Work for a thread is done in the caller if that gives the same result, and otherwise
refused with a sentence.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import functools
import inspect
import multiprocessing.pool
import os
import platform
import re
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.data

ONE_THREAD = "threads and processes cannot be started while grading: call the function directly"
# Python's event for it, though not in every version.
BARE_THREAD = "_thread.start_new_thread"
NEVER_ENDS = "this would wait for another thread for ever, because all code runs in one thread while grading"
NOT_FOR_STUDENTS = re.compile(r" \(Triggered internally at [^)]*\)|\nConsider using tensor\.detach\(\) first\.")
MACHINE = ("Linux", "grader", "6.0.0", "#1", platform.machine())
C_LIBRARY = ("glibc", "2.31")
# The arguments of DataLoader that need workers.
OF_WORKERS = ("num_workers", "timeout", "multiprocessing_context", "prefetch_factor", "persistent_workers")

_make_loader, _set_default_device = torch.utils.data.DataLoader.__init__, torch.set_default_device
_wait, _format_warning = threading.Condition.wait, warnings.formatwarning
_loader_parameters = inspect.signature(_make_loader)


def install() -> None:
    """Replace, for this process and those forked from it, what the seccomp filter refuses."""
    for owner, name, replacement in (
        (torch.utils.data.DataLoader, "__init__", _make_loader_without_workers),
        (threading.Thread, "start", _start),
        (threading.Thread, "join", _join),
        (threading.Thread, "is_alive", _is_alive),
        (threading.Timer, "start", _refuse),
        (threading.Condition, "wait", _wait_with_an_end),
        (multiprocessing.pool.Pool, "__init__", _refuse),
        (concurrent.futures, "ThreadPoolExecutor", ThreadPoolExecutor),
        (concurrent.futures.thread, "ThreadPoolExecutor", ThreadPoolExecutor),
        (_thread, "start_new_thread", _refuse_bare_thread),
        (_thread, "start_joinable_thread", _refuse_bare_thread),
        (torch, "compile", _compile),
        (torch.jit, "script", _script),
        (torch.nn.Module, "compile", _compile_module),
        (torch, "set_default_device", _set_default_device_if_there_is_one),
        (warnings, "formatwarning", _format_shorter_warning),
    ):
        setattr(owner, name, replacement)
    # libgomp ends the process if a thread cannot be created.
    for module in (torch, torch._C):
        for name in ("set_num_threads", "_set_num_threads", "set_num_interop_threads"):
            if hasattr(module, name):
                setattr(module, name, lambda _count: None)
    # The caller of a student's coroutine is the grader, which does not await it.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", module=r"grader\.")
    _describe_no_machine()


@functools.wraps(_make_loader)
def _make_loader_without_workers(*arguments: Any, **options: Any) -> None:
    given = _loader_parameters.bind(*arguments, **options)
    workers = given.arguments.get("num_workers")
    if isinstance(workers, int) and workers > 0:
        given.arguments.update((name, _loader_parameters.parameters[name].default) for name in OF_WORKERS)
    _make_loader(*given.args, **given.kwargs)


def _compile(model: Any = None, *_: Any, **__: Any) -> Any:
    """Replace torch.compile: return the function as it is; without one, a decorator that does so."""
    sys.audit("torch.compile")
    return model if model is not None else lambda function: function


def _script(obj: Any, *_: Any, **__: Any) -> Any:
    """Replace torch.jit.script."""
    sys.audit("torch.jit.script")
    return obj


def _compile_module(_module: torch.nn.Module, *_: Any, **__: Any) -> None:
    """Replace Module.compile."""
    sys.audit("torch.nn.Module.compile")


@functools.wraps(_set_default_device)
def _set_default_device_if_there_is_one(device: Any) -> None:
    device = device if device is None else torch.device(device)  # an error if there is no such name
    try:
        torch.empty(0, device=device)
    except Exception:  # noqa: BLE001 - of different kinds
        sys.audit("torch.set_default_device")
    else:
        _set_default_device(device)


def _refuse(*_: Any, **__: Any) -> None:
    raise RuntimeError(ONE_THREAD)


def _refuse_bare_thread(*_: Any, **__: Any) -> None:
    sys.audit(BARE_THREAD)
    raise RuntimeError(ONE_THREAD)


def _start(thread: Any) -> None:
    """Replace Thread.start: call `run` at once. Errors are handled like those of a thread."""
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
    """Replace Thread.join: the thread has already ended."""
    if not thread._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if getattr(thread, "runs_here", True):
        raise RuntimeError("cannot join current thread")


def _is_alive(thread: Any) -> bool:
    return thread is threading.main_thread() or getattr(thread, "runs_here", False)


def _wait_with_an_end(condition: threading.Condition, timeout: float | None = None) -> bool:
    """Replace Condition.wait, on which queues, events and futures build: without a timeout it would never end."""
    if timeout is None:
        raise RuntimeError(NEVER_ENDS)
    return _wait(condition, timeout)


class ThreadPoolExecutor(concurrent.futures.Executor):
    """Calls each function when it is submitted, in the caller. Accepts what the original accepts."""

    def __init__(
        self,
        max_workers: int | None = None,  # noqa: ARG002 - like the original
        thread_name_prefix: str = "",  # noqa: ARG002
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if initializer:
            initializer(*initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Call the function now, and return a future that is done."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - like the original
            future.set_exception(error)
        return future


def _format_shorter_warning(message: Warning | str, *place: Any, **options: Any) -> str:
    """Replace warnings.formatwarning: leave out places in C++ and advice that cuts off gradients."""
    return _format_warning(NOT_FOR_STUDENTS.sub("", str(message)), *place, **options)


def _describe_no_machine() -> None:
    if not hasattr(os, "uname"):  # Windows, where there is no filter either
        return
    machine = os.uname_result(MACHINE)
    os.uname = lambda: machine
    platform.libc_ver = lambda *_, **__: C_LIBRARY
    socket.gethostname = lambda: machine.nodename
    platform._uname_cache = None  # type: ignore[attr-defined]
    platform._platform_cache.clear()  # type: ignore[attr-defined]
    # Otherwise platform starts a program to find out.
    platform.uname().__dict__["processor"] = ""
