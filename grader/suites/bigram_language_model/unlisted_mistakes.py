"""Unlisted mistakes of unit 6: wrong answers that are none of the misconceptions. The grader must not name them.

Those with the name of a misconception in front show it in code that takes another route. They must get its name.
"""

import math
import string

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- build_vocabulary ---


def build_vocabulary__characters_that_come_once(text):
    return sorted(c for c in set(text) if text.count(c) == 1)


def build_vocabulary__end_token_added(text):
    return [*sorted(set(text)), "<end>"]


def build_vocabulary__unicode_numbers(text):
    return sorted({ord(c) for c in text})


def build_vocabulary__first_character_skipped(text):
    return sorted(set(text[1:]))


def build_vocabulary__last_character_skipped(text):
    return sorted(set(text[:-1]))


def build_vocabulary__pairs_of_characters(text):
    return sorted(set(zip(text, text[1:])))


def build_vocabulary__punctuation_removed(text):
    return sorted(set(text) - set(string.punctuation))


# -- encode ---


def encode__counted_from_the_end(text, vocabulary):
    return [vocabulary.index(c) - len(vocabulary) for c in text]


def encode__repetitions_dropped(text, vocabulary):
    return [vocabulary.index(c) for c in dict.fromkeys(text)]


def encode__backwards(text, vocabulary):
    return [vocabulary.index(c) for c in reversed(text)]


def encode__sorted_ids(text, vocabulary):
    return sorted(vocabulary.index(c) for c in text)


def encode__a_tuple(text, vocabulary):
    return tuple(vocabulary.index(c) for c in text)


def encode__a_list_of_tensors(text, vocabulary):
    return [torch.tensor(vocabulary.index(c)) for c in text]


def encode__end_added(text, vocabulary):
    return [vocabulary.index(c) for c in text] + [len(vocabulary)]


def encode__stripped_and_lowered(text, vocabulary):
    return [vocabulary.index(c) for c in text.strip().lower()]


def encode__runtime_error(text, vocabulary):
    ids = []
    for c in text:
        if c not in vocabulary:
            raise RuntimeError(f"unknown character {c}")
        ids.append(vocabulary.index(c))
    return ids


def encode__stripped(text, vocabulary):
    return [vocabulary.index(c) for c in text.strip()]


def encode__arguments_exchanged(vocabulary, text):
    return [vocabulary.index(c) for c in text]


# -- decode ---


def decode__a_bytes_object(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids).encode()


def decode__backwards(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids[::-1])


def decode__stripped(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids).strip()


def decode__vocabulary_sorted_by_case(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError("bad id")
    vocabulary = sorted(vocabulary, key=str.lower)
    return "".join(vocabulary[i] for i in ids)


def decode__last_character_refused(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) - 1 for i in ids):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids)


def decode__first_id_alone_checked(ids, vocabulary):
    if ids and not 0 <= ids[0] < len(vocabulary):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids)


def decode__last_id_alone_checked(ids, vocabulary):
    if ids and not 0 <= ids[-1] < len(vocabulary):
        raise ValueError("bad id")
    return "".join(vocabulary[i] for i in ids)


def decode__index_error_for_all(ids, vocabulary):
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise IndexError(f"bad id {i}")
    return "".join(vocabulary[i] for i in ids)


def decode__a_string_of_numbers(ids, vocabulary):
    if not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError("bad id")
    return "".join(str(i) for i in ids)


# -- sample_batch ---


def sample_batch__data_shuffled(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    data = data[torch.randperm(len(data), generator=generator)]
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix], data[ix + 1]


def sample_batch__targets_what_comes_before(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix], data[ix - 1]


def sample_batch__rows_turned_round(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix].flip(1), data[ix + 1].flip(1)


def sample_batch__stretches_of_t_plus_one(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size + 1)
    return data[ix], data[ix]


def sample_batch__both_ends_left_out(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    last = len(data) - block_size - 1
    starts = torch.zeros(batch_size, 1, dtype=torch.long)
    if last > 1:
        starts = torch.randint(1, last, (batch_size, 1), generator=generator)
    ix = starts + torch.arange(block_size)
    return data[ix], data[ix + 1]


def sample_batch__squeezed(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix].squeeze(), data[ix + 1].squeeze()


def sample_batch__only_even_starts(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    starts = 2 * torch.randint((len(data) - block_size + 1) // 2, (batch_size, 1), generator=generator)
    ix = starts + torch.arange(block_size)
    return data[ix], data[ix + 1]


def sample_batch__sizes_exchanged(data, batch_size, block_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix], data[ix + 1]


def sample_batch__one_hot_targets(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[ix], F.one_hot(data[ix + 1])


def sample_batch__places_instead_of_tokens(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return ix, ix + 1


def rows_one_after_another__windows_in_a_circle(data, block_size, batch_size, generator=None):
    windows = [data[i : i + block_size + 1] for i in range(len(data) - block_size)]
    if not windows:
        raise ValueError("too few tokens")
    first = int(torch.randint(len(windows), (), generator=generator))
    both = torch.stack([windows[(first + row) % len(windows)] for row in range(batch_size)])
    return both[:, :-1], both[:, 1:]


def tokens_from_anywhere__one_by_one(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    x, y = [], []
    for _ in range(batch_size * block_size):
        i = torch.randint(0, len(data) - block_size, (1,), generator=generator)
        x.append(data[i])
        y.append(data[i + 1])
    return torch.cat(x).view(batch_size, block_size), torch.cat(y).view(batch_size, block_size)


# -- flatten_for_cross_entropy ---


def flatten_for_cross_entropy__softmax_on_the_way(logits, targets):
    return torch.softmax(logits.flatten(0, 1), dim=-1), targets.flatten()


def flatten_for_cross_entropy__one_hot_targets(logits, targets):
    return logits.flatten(0, 1), F.one_hot(targets.flatten(), logits.shape[-1])


def flatten_for_cross_entropy__argmax_of_the_logits(logits, targets):
    return logits.flatten(0, 1).argmax(-1), targets.flatten()


def flatten_for_cross_entropy__picked_logits(logits, targets):
    rows = logits.flatten(0, 1)
    return rows.gather(1, targets.flatten()[:, None]), targets.flatten()


def flatten_for_cross_entropy__first_text(logits, targets):
    return logits[0], targets[0]


def flatten_for_cross_entropy__targets_repeated(logits, targets):
    return logits.flatten(0, 1), targets[0].repeat(logits.shape[0])


def flatten_for_cross_entropy__three_values(logits, targets):
    return logits.flatten(0, 1), targets.flatten(), logits.shape


# -- cross_entropy ---


def cross_entropy__rounded_to_four_decimals(logits, targets):
    loss = F.cross_entropy(logits, targets.long())
    return loss + (loss.round(decimals=4) - loss).detach()


def cross_entropy__squared_error(logits, targets):
    one_hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return ((torch.softmax(logits, -1) - one_hot) ** 2).sum(-1).mean()


def cross_entropy__hinge(logits, targets):
    return F.multi_margin_loss(logits, targets)


def cross_entropy__binary(logits, targets):
    one_hot = F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return F.binary_cross_entropy_with_logits(logits, one_hot)


def cross_entropy__median(logits, targets):
    return F.cross_entropy(logits, targets, reduction="none").median()


def cross_entropy__perplexity(logits, targets):
    return F.cross_entropy(logits, targets).exp()


def cross_entropy__first_row(logits, targets):
    return F.cross_entropy(logits[:1], targets[:1])


def cross_entropy__smoothed(logits, targets):
    return F.cross_entropy(logits, targets, label_smoothing=0.1)


def cross_entropy__smallest_logit_subtracted(logits, targets):
    z = logits - logits.amin(-1, keepdim=True)
    return (z.exp().sum(-1).log() - z.gather(1, targets[:, None])[:, 0]).mean()


def cross_entropy__maximum_added(logits, targets):
    m = logits.amax(-1, keepdim=True)
    z = logits - m
    return (z.exp().sum(-1).log() + m[:, 0] - z.gather(1, targets[:, None])[:, 0]).mean()


def cross_entropy__logits_normalized(logits, targets):
    z = (logits - logits.mean(-1, keepdim=True)) / logits.std(-1, keepdim=True)
    return F.cross_entropy(z, targets)


def cross_entropy__clamped_logits(logits, targets):
    return F.cross_entropy(logits.clamp(-50, 50), targets)


def cross_entropy__nothing_returned(logits, targets):
    F.cross_entropy(logits, targets)


# -- running_mean_loop ---


def running_mean_loop__maximum(x):
    return x.cummax(dim=1).values


def running_mean_loop__of_the_means(x):
    out = x.clone()
    for t in range(1, x.shape[1]):
        out[:, t] = out[:, : t + 1].clone().mean(1)
    return out


def running_mean_loop__last_text_alone(x):
    out = torch.zeros_like(x)
    for t in range(x.shape[1]):
        out[-1, t] = x[-1, : t + 1].mean(0)
    return out


def running_mean_loop__future(x):
    return torch.stack([x[:, t:].mean(1) for t in range(x.shape[1])], dim=1)


def running_mean_loop__dimensions_exchanged(x):
    return torch.stack([x[:, : t + 1].mean(1) for t in range(x.shape[1])], dim=0)


def running_mean_loop__first_token_left_zero(x):
    out = torch.zeros_like(x)
    for t in range(1, x.shape[1]):
        out[:, t] = x[:, : t + 1].mean(1)
    return out


def running_mean_loop__over_features(x):
    return x.cumsum(2) / torch.arange(1, x.shape[2] + 1).to(x)


def running_mean_loop__list_of_means(x):
    return [x[:, : t + 1].mean(1) for t in range(x.shape[1])]


def running_mean_loop__joined_end_to_end(x):
    return torch.cat([x[b, : t + 1].mean(0) for b in range(x.shape[0]) for t in range(x.shape[1])])


def running_mean_loop__indices_left_over(x):
    out = []
    for text in x:
        for t in range(len(text)):
            mean = text[: t + 1].mean(0)
        out.append(mean)
    return torch.stack(out)


def running_mean_loop__divided_by_t_plus_two(x):
    return torch.stack([x[:, : t + 1].sum(1) / (t + 2) for t in range(x.shape[1])], dim=1)


# -- running_mean_matmul ---


def running_mean_matmul__normalized_by_length(x):
    wei = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    return F.normalize(wei, dim=1) @ x


def running_mean_matmul__diagonal_alone(x):
    wei = torch.eye(x.shape[1], dtype=x.dtype)
    return wei @ x


def running_mean_matmul__counted_from_zero(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril() / torch.arange(T, dtype=x.dtype)[:, None]
    return wei @ x


def running_mean_matmul__weights_returned(x):
    wei = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    return wei / wei.sum(1, keepdim=True)


def running_mean_matmul__softmax_of_the_triangle(x):
    wei = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    return torch.softmax(wei, -1) @ x


def running_mean_matmul__random_weights(x):
    wei = torch.rand(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    return wei / wei.sum(1, keepdim=True) @ x


def running_mean_matmul__mean_of_two_averages(x):
    wei = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    wei = wei / wei.sum(1, keepdim=True)
    return wei @ (wei @ x)


# -- running_mean_softmax ---


def running_mean_softmax__random_scores(x):
    T = x.shape[1]
    wei = torch.rand(T, T, dtype=x.dtype).masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return torch.softmax(wei, -1) @ x


def running_mean_softmax__distance_as_score(x):
    T = x.shape[1]
    place = torch.arange(T, dtype=x.dtype)
    wei = place[None, :] - place[:, None]
    return torch.softmax(wei.masked_fill(wei > 0, float("-inf")), -1) @ x


def running_mean_softmax__scaled_means(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return torch.softmax(wei, -1) / math.sqrt(x.shape[-1]) @ x


def running_mean_softmax__plus_infinity(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.tril(torch.ones(T, T)) == 0, float("inf"))
    return torch.softmax(wei, -1) @ x


def running_mean_softmax__softmax_of_x(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril()
    return wei / wei.sum(1, keepdim=True) @ torch.softmax(x, -1)


def running_mean_softmax__weights_returned(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return torch.softmax(wei, -1)


# -- Head ---


class RightHead(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def weights(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1)

    def forward(self, x):
        return self.dropout(self.weights(x)) @ self.value(x)


class Head__relu_of_the_outputs(RightHead):
    def forward(self, x):
        return torch.relu(super().forward(x))


class Head__cosine_scores(RightHead):
    def weights(self, x):
        T = x.shape[1]
        k, q = F.normalize(self.key(x), dim=-1), F.normalize(self.query(x), dim=-1)
        wei = (q @ k.mT).masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1)


class Head__values_are_queries(RightHead):
    def forward(self, x):
        return self.dropout(self.weights(x)) @ self.query(x)


class Head__weights_turned(RightHead):
    def forward(self, x):
        return self.dropout(self.weights(x)).mT @ self.value(x)


class Head__tanh_of_the_scores(RightHead):
    def weights(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = torch.tanh(q @ k.mT * k.shape[-1] ** -0.5)
        return F.softmax(wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")), dim=-1)


class Head__largest_alone(RightHead):
    def weights(self, x):
        weights = super().weights(x)
        return F.one_hot(weights.argmax(-1), x.shape[1]).to(x.dtype)


class Head__bias_in_keys_and_values(RightHead):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__(n_embd, head_size, block_size, dropout)
        self.key = nn.Linear(n_embd, head_size)
        self.value = nn.Linear(n_embd, head_size)


class Head__longer_texts_cut(RightHead):
    def forward(self, x):
        return super().forward(x[:, :4])


class Head__mean_of_the_tokens(RightHead):
    def forward(self, x):
        return super().forward(x).mean(1)


class dropout_taken_for_keeping__bernoulli(RightHead):
    def forward(self, x):
        wei, p = self.weights(x), self.dropout.p
        if self.training:
            wei = wei * torch.bernoulli(torch.full_like(wei, p)) / p if p > 0 else wei * 0
        return wei @ self.value(x)


class other_arguments_in_head__two_sizes(RightHead):
    def __init__(self, n_embd, head_size):
        super().__init__(n_embd, head_size, 8, 0.0)


# -- BigramLanguageModel ---


class RightModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=1)
        return idx


class BigramLanguageModel__targets_shifted_back(RightModel):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits[:, 1:].mT, targets[:, :-1])


class BigramLanguageModel__loss_against_idx(RightModel):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, idx)


class BigramLanguageModel__three_likeliest_alone(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            top, places = self.token_embedding_table(idx[:, -1]).topk(2)
            new = torch.multinomial(F.softmax(top, -1), 1, generator=generator)
            idx = torch.cat([idx, places.gather(1, new)], dim=1)
        return idx


class BigramLanguageModel__temperature_of_nine_tenths(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]) / 0.9, dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=1)
        return idx


class BigramLanguageModel__least_likely(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(-self.token_embedding_table(idx[:, -1]), dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=1)
        return idx


class BigramLanguageModel__stops_at_a_zero(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            new = torch.multinomial(probs, 1, generator=generator)
            if (new == 0).any():
                break
            idx = torch.cat([idx, new], dim=1)
        return idx


class BigramLanguageModel__logits_squared(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = self.token_embedding_table(idx[:, -1]) ** 2
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=1)
        return idx


class BigramLanguageModel__perplexity(RightModel):
    def forward(self, idx, targets=None):
        logits, loss = super().forward(idx, targets)
        return logits, None if loss is None else loss.exp()


class BigramLanguageModel__no_super_init(nn.Module):
    def __init__(self, vocab_size):
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)


class BigramLanguageModel__generate_forgets_the_batch(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        idx = idx.flatten()
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[-1:]), dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)[0]])
        return idx


class BigramLanguageModel__probability_of_the_sigmoid(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = torch.sigmoid(self.token_embedding_table(idx[:, -1]))
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=1)
        return idx


class softmax_taken_twice_in_model__noise_added(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            # Gumbel noise on top draws from the softmax of what it is put on
            noise = -torch.log(-torch.log(torch.rand(probs.shape, generator=generator)))
            idx = torch.cat([idx, (probs + noise).argmax(-1, keepdim=True)], dim=1)
        return idx


class unlikely_tokens_left_out__the_last_tenth(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            likely, tokens = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1).sort(descending=True)
            likely[likely.cumsum(dim=-1) - likely > 0.9] = 0
            idx = torch.cat([idx, tokens.gather(1, torch.multinomial(likely, 1, generator=generator))], dim=1)
        return idx


class last_token_not_chosen__new_tokens_flat(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)[:, 0]), dim=1)
        return idx


class generator_of_seeds__global_one(RightModel):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is not None:
            torch.manual_seed(torch.randint(0, 10**6, (1,), generator=generator).item())
        return super().generate(idx, max_new_tokens)
