# Writes replies of its own to the connection: to this call, to other calls, and what is no reply at all.
import json
import os
import struct
import sys


def frame(message, blob=b""):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", len(text), len(blob)) + text + blob


def write(data):
    while data:
        data = data[os.write(3, data) :]


def number():
    found = sys._getframe()
    while found.f_code.co_name != "serve":
        found = found.f_back
    return found.f_locals["request"].number


RIGHT = [["tuple", True, ["dict"]]]


def scaled_dot_product_attention(queries, keys, values):
    for ahead in range(1000):
        write(frame(["Reply", number() + ahead, RIGHT]))


def SelfAttention_v1(d_in, d_out):
    write(frame(["Reply", number() + 1, [["handle", 0, "torch.nn.modules.module.Module"]]]))
    os.close(3)


def SelfAttention_v2(d_in, d_out, qkv_bias=False):
    os.dup2(1, 3)
    os.dup2(0, 1)


def transfer_weights(attention_v2, attention_v1):
    write(frame(["Error", number(), ["Passed", "ValueError"], None, "x", None]))
    write(frame(["Progress", "self_attention", 0, 1, ["project_qkv"]]))


def dot_product_variance(d_k, samples, generator=None):
    for _ in range(300):
        write(frame(["Progress", number(), "self_attention", 0, 9, ["project_qkv"]]))
    write(frame(["Reply", number(), [["tuple", ["float", "nan"], ["float", "nan"]]] * 500]))


print("TRIED")
