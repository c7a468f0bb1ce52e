# 100 MB in an error's text, a gigabyte printed, an error whose text cannot be read.
import os
import sys

print("TRIED")


def scaled_dot_product_attention(queries, keys, values):
    raise ValueError("x" * 10**8)


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        for _ in range(1000):
            print("y" * 10**6)


def SelfAttention_v2(d_in, d_out, qkv_bias=False):
    for _ in range(1000):
        os.write(2, b"z" * 10**6)


class Unreadable(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


def transfer_weights(attention_v2, attention_v1):
    sys.setrecursionlimit(10**9)
    raise type("Name" * 10**5, (Unreadable,), {})


def dot_product_variance(d_k, samples, generator=None):
    try:
        raise Unreadable
    except Unreadable as error:
        error.__cause__ = error
        raise RuntimeError("\ud800" * 100) from error
