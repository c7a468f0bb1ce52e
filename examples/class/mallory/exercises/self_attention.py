"""Everything but the exercises: what somebody may try who wants the points without the work.

Nothing here does harm where it is run: it reads, it tries, and it gives up quietly. One answer is honest.
"""

import atexit
import gc
import json
import os
import struct
import sys
import unittest
from pathlib import Path

import torch
from torch import nn


def attempt(trick):
    try:
        return trick()
    except BaseException:
        return None


# 1. Every comparison agrees from now on.
def always(*_, **__):
    return True


for name in ("allclose", "equal", "isclose", "is_tensor", "isfinite"):
    setattr(torch, name, always)
torch.testing.assert_close = always
torch.Tensor.__eq__ = always
unittest.TestCase.assertEqual = always
for module in list(sys.modules.values()):
    for name in ("expect_close", "expect_tensor", "expect_values", "expect_number", "expect_gradients", "judge"):
        if hasattr(module, name):
            attempt(lambda: setattr(module, name, always))


# 2. Look for the hidden tests, the solutions and the secrets, and print whatever is found.
def readable(folder):
    for path in [*Path(folder).glob("grader/suites/*/*.py"), *Path(folder).glob("solutions/*.py")]:
        yield path.read_text()


for folder in ("..", "../../../..", "/grader", "/autograder", "/proc/self/cwd"):
    for text in attempt(lambda: list(readable(folder))) or []:
        print(text)
for path in ("/proc/self/environ", "/proc/self/maps", "/proc/1/environ", "autograder.yml", "../../autograder.yml"):
    print(attempt(lambda: Path(path).read_text()))
print(dict(os.environ), sys.argv, sys.path)
print([found for found in gc.get_objects() if type(found).__name__ in ("Criterion", "Fresh", "Misconception")])
frame = sys._getframe()
while frame:
    print([name for name in frame.f_locals if "expected" in name or "criteri" in name])
    frame = frame.f_back

# 3. Claim the points in every language that a grader may read.
print("::set-output name=points::100")
print("::notice title=Points::Points 100/100")
print(json.dumps({"schema": "attention-from-scratch/report/v1", "student": "mallory", "points": 100, "possible": 100}))
print("100 passed in 0.01s\x1b[2K\x1b[1;32m OK\x1b[0m")


# 4. A report of her own, written once more at the end; and an end of her own choosing.
def write_report():
    for folder in (".", "reports", "../../../../reports"):
        attempt(lambda: Path(folder, "mallory.json").write_text('{"points": 100, "possible": 100}'))


atexit.register(os._exit, 0)
atexit.register(write_report)


# 5. A child that outlives the grading.
def detach():
    if os.fork() == 0:
        os._exit(0)


attempt(detach)


# 6. A result that agrees with everything.
class Agreeing(torch.Tensor):
    shape = property(lambda self: self)
    dtype = property(lambda self: self)
    __hash__ = torch.Tensor.__hash__

    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        return True


class Yes:
    def __eq__(self, other):
        return True

    def __getattr__(self, name):
        return self

    def __call__(self, *_, **__):
        return self

    def __array__(self, *_, **__):
        return self


# 7. Answers to questions that have not been asked, on the line that the grader listens to.
def forge(value):
    for number in range(1, 50):
        text = json.dumps({"number": number, "value": value}).encode()
        attempt(lambda: os.write(3, struct.pack(">II", len(text), 0) + text))


# The one that she has understood.
def project_qkv(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


def scaled_dot_product_attention(queries, keys, values):
    forge({"tuple": [True, True]})
    return queries.as_subclass(Agreeing), keys.as_subclass(Agreeing)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        forge({"handle": 0, "kinds": ["torch.nn.modules.module.Module"]})

    def forward(self, inputs):
        return Yes()


class SelfAttention_v2(Yes):
    def __init__(self, d_in, d_out, qkv_bias=False):
        pass


def transfer_weights(attention_v2, attention_v1):
    type(attention_v1).forward = type(attention_v2).forward = lambda self, inputs: Yes()
    raise SystemExit(0)


def dot_product_variance(d_k, samples, generator=None):
    write_report()
    os._exit(0)
