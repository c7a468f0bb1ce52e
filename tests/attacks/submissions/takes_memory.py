# 20 GB, in several ways.
held = []


def scaled_dot_product_attention(queries, keys, values):
    held.append(torch.ones(20 * 2**30 // 4))
    return values, keys


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        while True:
            held.append(torch.ones(16 * 2**20))


def transfer_weights(attention_v2, attention_v1):
    while True:
        try:
            held.append([[] for _ in range(10000)])
        except MemoryError:
            pass


def dot_product_variance(d_k, samples, generator=None):
    text = "x"
    while True:
        text += text


print("TRIED")
