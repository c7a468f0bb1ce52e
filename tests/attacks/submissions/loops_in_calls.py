# Each exercise hangs in a way of its own.
import os
import signal
import struct
import threading
import time


def scaled_dot_product_attention(queries, keys, values):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()

    def forward(self, inputs):
        time.sleep(3600)

    def __getattribute__(self, name):
        if name.startswith("W_"):
            threading.Event().wait()
        return super().__getattribute__(name)

    def named_parameters(self, *_, **__):
        while True:
            yield "W_query", torch.ones(4, 7)


def SelfAttention_v2(d_in, d_out, qkv_bias=False):
    # A reply of 4,000 bytes, one byte every tenth of a second.
    for byte in struct.pack(">II", 4000, 0) + b" " * 4000:
        os.write(3, bytes([byte]))
        time.sleep(0.1)


def transfer_weights(attention_v2, attention_v1):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def dot_product_variance(d_k, samples, generator=None):
    while True:
        os.write(3, struct.pack(">II", 2, 0) + b"[]") and time.sleep(0.01)


print("TRIED")
