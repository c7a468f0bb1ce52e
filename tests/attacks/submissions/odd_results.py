# Results that are hard to send, hard to hold or hard to compare.
calls = 0


def oddities(shape):
    yield lambda: torch.ones(1).expand(2**20, 2**20)
    yield lambda: torch.ones(1).expand(2**40)
    yield lambda: torch.ones(*shape).to_sparse()
    yield lambda: torch.empty(*shape, device="meta")
    yield lambda: torch.quantize_per_tensor(torch.ones(*shape), 0.1, 0, torch.quint8)
    yield lambda: torch.ones(*shape, dtype=torch.complex64)
    yield lambda: torch.full(shape, float("nan"))
    yield lambda: torch.full(shape, float("inf"))
    yield lambda: torch.ones(0, 2**40)
    yield lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    yield lambda: torch.ones(*[1] * 40)
    yield lambda: torch.ones(2**22)
    yield lambda: torch._neg_view(torch.ones(*shape))
    yield lambda: torch.ones(*shape).to(torch.float8_e4m3fn)
    yield lambda: [[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]
    yield lambda: 10**5000
    yield lambda: "x" * 10**7
    yield lambda: {i: i for i in range(10**6)}
    yield lambda: endless
    yield lambda: torch.Generator()
    yield lambda: (lambda: None)


endless = []
endless.append(endless)


def odd(*shape):
    global calls
    calls += 1
    ways = list(oddities(shape))
    return ways[calls % len(ways)]()


def scaled_dot_product_attention(queries, keys, values):
    return odd(len(queries), values.shape[-1]), odd(len(queries), len(keys))


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out

    def forward(self, inputs):
        return odd(len(inputs), self.d_out)


SelfAttention_v2 = SelfAttention_v1


def transfer_weights(attention_v2, attention_v1):
    attention_v1.W_query = torch.nn.Parameter(torch.empty(4, 7, device="meta"))
    attention_v1.W_key = torch.nn.Parameter(torch.ones(1).expand(2**20, 2**20))
    return odd(1)


def dot_product_variance(d_k, samples, generator=None):
    return odd(1), odd(1)


print("TRIED")
