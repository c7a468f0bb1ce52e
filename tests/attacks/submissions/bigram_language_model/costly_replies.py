# Replies that would take the other side gigabytes or minutes: without bytes, with very many values, with long texts.
import json
import os
import struct
import sys

import torch


def reply(kind, *fields, data=b""):
    """Writes a reply by hand, for what answers honestly would refuse to send it."""
    found = sys._getframe()
    while found.f_code.co_name != "serve":
        found = found.f_back
    text = json.dumps([kind, found.f_locals["request"].number, *fields]).encode()
    frame = struct.pack(">II", len(text), len(data)) + text + data
    while frame:
        frame = frame[os.write(3, frame) :]
    os._exit(0)


# Within every bound of a reply, and nothing that was asked for.
BYTES = torch.zeros(60 * 2**20, dtype=torch.uint8)


def encode(text, vocabulary):
    if len(text) % 2:
        return BYTES
    reply("Reply", [["tensor", "float32", [6_000_000, 0]]])


def decode(ids, vocabulary):
    reply("Reply", [["list", *[["tensor", "uint8", [1]]] * 75_000]], data=b"x" * 75_000)


def sample_batch(data, block_size, batch_size, generator=None):
    reply("Error", ["ValueError"], "x" * (4 * 10**6), 1, "y" * 10**5)


def cross_entropy(logits, targets):
    return BYTES


def flatten_for_cross_entropy(logits, targets):
    reply("Reply", [["list", *[["list"]] * 10**6]])


print("TRIED")
