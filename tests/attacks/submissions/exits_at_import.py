# Every way to end a program, at the top level, where the rest of the file is still to come.
import atexit
import ctypes
import os
import sys
import threading


def last_words():
    print("SUCCEEDED: something ran after the end")


atexit.register(last_words)
sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *_: os._exit(0)


class Base:
    def __init_subclass__(cls):
        raise SystemExit(0)


class Child(Base):
    pass


sys.exit(0)
raise SystemExit("full marks")
raise KeyboardInterrupt
raise GeneratorExit
os._exit(0)
os.kill(os.getpid(), 9)
ctypes.string_at(0)
exit()
print("TRIED")
