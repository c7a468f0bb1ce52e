"""All that an attacker of these tests can do by honest work: the first exercise, and nothing else."""

import torch  # noqa: F401 - for the attacks that follow


def project_qkv(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value
