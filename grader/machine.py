"""Says whether PyTorch can be installed on this machine, before anything is downloaded.

Also a program of its own, for any Python 3 without the grader: `python3 machine.py`. So it imports nothing else.
"""

import contextlib
import importlib.util
import platform
import shutil
import sys

OLDEST, NEWEST = (3, 11), (3, 14)
"""The versions of Python that the grader supports, and for which the locked version of PyTorch has wheels."""
RUNNING = "{}.{}".format(*sys.version_info[:2])
"""The version of Python that runs this."""
PROCESSORS = {"Linux": ("x86_64", "aarch64"), "Darwin": ("arm64",), "Windows": ("AMD64",)}
OLDEST_MACOS = 14
OLDEST_GLIBC = (2, 28)
GIGABYTES = 1.1
"""What a student's installation takes: 750 MB of it are PyTorch."""

ELSEWHERE = "Or work in a codespace on GitHub, or on Colab."


def problem() -> str:
    """Return why PyTorch cannot be installed here, and what to do; "" if it can."""
    version, found = sys.version_info[:2], platform.python_version()
    if not OLDEST <= version <= NEWEST:
        wanted = " to ".join("{}.{}".format(*one) for one in (OLDEST, NEWEST))
        return f"Python {wanted} is needed, and this is Python {found}: install one of these, and use it instead."
    if sys.maxsize < 2**32:
        return "PyTorch needs a Python of 64 bits, and this one has 32: install the 64-bit version of Python."
    system, processor = platform.system(), platform.machine()
    if processor not in PROCESSORS.get(system, ()):
        return f"{_other_processor(system, processor)} {ELSEWHERE}"
    if system == "Darwin" and _numbers(platform.mac_ver()[0]) < (OLDEST_MACOS,):
        return f"PyTorch needs macOS {OLDEST_MACOS} or later, and this is {platform.mac_ver()[0]}: update. {ELSEWHERE}"
    library, number = platform.libc_ver()
    if system == "Linux" and (library != "glibc" or _numbers(number) < OLDEST_GLIBC):
        wanted = ".".join(map(str, OLDEST_GLIBC))
        return f"PyTorch needs glibc {wanted} or later, which this Linux lacks (Alpine uses musl). {ELSEWHERE}"
    return ""


def missing_torch() -> str:
    """Return what to do if PyTorch is not installed for this Python; "" if it is."""
    with contextlib.suppress(ImportError):
        if importlib.util.find_spec("torch") is not None:
            return ""
    install = "run `pip install -r requirements.txt` in the folder of your course."
    return problem() or f"PyTorch is not installed for this Python ({sys.executable}): {install}"


def main() -> None:
    """Print what installing takes, or exit with 1 and the reason why it would fail."""
    free = shutil.disk_usage(".").free / 1e9
    sentence = problem()
    if not sentence and free < GIGABYTES:
        sentence = f"Installing takes {GIGABYTES} GB, and {free:.1f} GB of this disk are free: delete something first."
    if sentence:
        sys.exit(sentence)
    print(f"PyTorch can be installed here. It takes {GIGABYTES} GB with all the rest, and some minutes.")


def _other_processor(system: str, processor: str) -> str:
    if system == "Darwin":
        return "PyTorch needs a Mac with Apple silicon, and there a Python for it; this Python is for Intel."
    if system == "Windows" and processor == "ARM64":
        return "PyTorch needs the x64 version of Python, also on this processor: install that one."
    return f"There is no PyTorch for {system or 'this system'} on {processor or 'this processor'}."


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


if __name__ == "__main__":
    main()
