"""Run as a program: one worker over standard input and output, where there is no fork. Practice, not isolation.

Its arguments are the late parts of torch and, after --, the modules that student code may import.
"""

from __future__ import annotations

import sys

from grader.sandbox import preload, serving

if __name__ == "__main__":
    end = sys.argv.index("--")
    late, modules = sys.argv[1:end], sys.argv[end + 1 :]
    preload.preload(modules)
    preload.preload_late(late)
    serving.serve_unisolated(modules)
