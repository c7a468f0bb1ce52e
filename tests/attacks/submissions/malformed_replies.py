# Each call is answered by something else that no reply looks like.
import json
import os
import struct
import sys
import time

calls = 0


def frame(message, blob=b"", *, text_length=None, blob_length=None):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", text_length or len(text), blob_length or len(blob)) + text + blob


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def malformed(number):
    tensor = {"number": number, "value": {"tensor": 0}}
    yield b"\xff" * 10**6
    yield b"GET / HTTP/1.1\r\n\r\n"
    yield frame({}, text_length=2**32 - 1)
    yield frame({}, blob_length=2**32 - 1)
    yield frame(b"not json")
    yield frame(b"[" * 10**6)
    yield frame(b'{"number": %d, "value": ' % number + b'{"list": [' * 10000 + b"]}" * 10000 + b"}")
    yield frame(b'{"number": %d, "value": NaN}' % number)
    yield frame(b'{"number": %d, "value": 1' % number + b"0" * 10**6 + b"}")
    yield frame({"number": number})
    yield frame({"number": number, "error": [["ValueError"]]})
    yield frame({"number": number, "error": {"types": [["ValueError"], 7, None], "text": {"a": [1]}, "line": [], "file": 3}})
    yield frame({"number": number, "error": {"types": ["Undefined"], "text": "x" * 10**6}})
    yield frame({"number": str(number), "value": 1})
    yield frame({"number": number, "value": {"tensor": 5}})
    yield frame({"number": number, "value": {"handle": 10**18, "kinds": ["x" * 10**6] * 3}})
    yield frame({"number": number, "value": {"dict": [[{"list": []}, 1]]}})
    yield frame(tensor, safetensors({"0": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}, b"1234"))
    yield frame(tensor, safetensors({"0": {"dtype": "F32", "shape": [2**40, 0], "data_offsets": [0, 0]}}))
    yield frame(tensor, safetensors({"0": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}, b""))
    yield frame(tensor, safetensors({"0": {"dtype": "F32", "shape": [-1, -1], "data_offsets": [0, 4]}}, b"1234"))
    yield frame(tensor, safetensors(b"{" * 1000))
    yield frame({"number": number, "value": {"tensor": 0, "permute": [0, 0]}},
                safetensors({"0": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}, b"1234"))
    yield frame({"number": number, "value": {"tensor": 0, "permute": ["a", None]}},
                safetensors({"0": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}, b"1234"))


def answer_badly(*_, **__):
    found = sys._getframe()
    while found.f_code.co_name != "serve":
        found = found.f_back
    number = found.f_locals["number"]
    kinds = list(malformed(number))
    # The process is new after every such answer, and the clock is all that a forger can count by.
    data = kinds[time.monotonic_ns() // 1000 % len(kinds)]
    while data:
        data = data[os.write(3, data) :]
    os._exit(0)


scaled_dot_product_attention = dot_product_variance = answer_badly
print("TRIED")
