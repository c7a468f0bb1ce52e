"""Run as a program: one worker over standard input and output, where there is no fork. Practice, not isolation."""

from __future__ import annotations

from grader.sandbox import worker

if __name__ == "__main__":
    worker.practise()
