"""Run as a program: one worker over standard input and output, where there is no fork. Practice, not isolation."""

from __future__ import annotations

import sys

from grader.sandbox import server, worker

if __name__ == "__main__":
    server.preload()
    server.preload_late(sys.argv[1:])
    worker.practise()
