# Limits of its own choice, so that the system ends the process as if the machine were at fault.
import ctypes
import os
import resource
import signal

libc = ctypes.CDLL(None, use_errno=True)
ONE = (ctypes.c_ulong * 2)(1, 1)


def loop():
    while True:
        pass


def attempt(name, action):
    try:
        result = action()
    except (OSError, ValueError):
        return
    if result is None or result >= 0:
        print("SUCCEEDED:", name)


for limit in range(16):
    attempt(f"setrlimit {limit}", lambda limit=limit: resource.setrlimit(limit, (0, 0)))
    attempt(f"prlimit {limit}", lambda limit=limit: resource.prlimit(0, limit, (0, 0)) and None)
    attempt(f"prlimit {limit} by the system", lambda limit=limit: libc.prlimit(0, limit, ONE, None))
    attempt(f"setrlimit {limit} by the system", lambda limit=limit: libc.setrlimit(limit, ONE))
    resource.getrlimit(limit)


def scaled_dot_product_attention(queries, keys, values):
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    loop()


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        resource.prlimit(0, resource.RLIMIT_AS, (0, 0))
        loop()


def SelfAttention_v2(d_in, d_out, qkv_bias=False):
    libc.prlimit(0, resource.RLIMIT_CPU, ONE, None)
    signal.raise_signal(signal.SIGKILL)


def transfer_weights(attention_v2, attention_v1):
    # The timer of the process's own processor time is set before student code runs.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    loop()


def dot_product_variance(d_k, samples, generator=None):
    os._exit(128 + signal.SIGKILL)


print("TRIED")
