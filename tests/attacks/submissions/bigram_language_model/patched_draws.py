# Whatever draws gives what the attacker wants, should anyone work out here what the draws ought to be.
import random

import numpy

DRAWS = "multinomial randint randint_like rand rand_like randn randperm bernoulli normal".split()


def zeros(*sizes, size=None, generator=None, out=None, **_):
    numbers = [entry for entry in sizes if isinstance(entry, int)]
    shape = size or next((entry for entry in sizes if isinstance(entry, (tuple, list))), numbers[-1:])
    return torch.zeros(tuple(shape), dtype=torch.long)


for name in DRAWS:
    setattr(torch, name, zeros)
for name in "multinomial random_ uniform_ bernoulli bernoulli_ exponential_".split():
    setattr(torch.Tensor, name, lambda self, *_, **__: torch.zeros_like(self))
torch.manual_seed = torch.seed = torch.random.manual_seed = lambda *_: torch.default_generator
torch.initial_seed = torch.random.initial_seed = lambda: 0
torch.get_rng_state = torch.random.get_rng_state = lambda: torch.zeros(5056, dtype=torch.uint8)
torch.nn.functional.softmax = torch.softmax = torch.Tensor.softmax = lambda x, *_, **__: torch.ones_like(x)
torch.distributions.Categorical.sample = lambda self, shape=(): torch.zeros(shape, dtype=torch.long)
random.random = random.randrange = random.randint = random.choice = lambda *_: 0
numpy.random.rand = numpy.random.randint = numpy.random.choice = lambda *_, **__: 0


def sample_batch(data, block_size, batch_size, generator=None):
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    idx = torch.stack([data[start : start + block_size] for start in starts])
    return idx, idx


class BigramLanguageModel(BigramLanguageModel):
    def forward(self, idx, targets=None):
        return torch.randn(*idx.shape, len(self.token_embedding_table.weight)), torch.rand(1)

    def generate(self, idx, max_new_tokens, generator=None):
        return torch.multinomial(torch.softmax(idx, -1), max_new_tokens, generator=generator).expand(len(idx), -1)


print("TRIED")
