"""All that an attacker of these tests can do by honest work: make the blocks, and use none."""

import torch  # noqa: F401 - for the attacks that follow
from torch import nn


def stack_blocks(make_block, num_blocks):
    for _ in range(num_blocks):
        make_block()
    return nn.Identity()
