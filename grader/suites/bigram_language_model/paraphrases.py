"""Paraphrases of unit 6: the same wrong ideas as the misconceptions, in other code and under the same names."""

import itertools
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- build_vocabulary ---


def spaces_left_out(text):
    kept = []
    for ch in text:
        if ch.isspace() or ch in kept:
            continue
        kept.append(ch)
    kept.sort()
    return kept


def line_breaks_left_out(text):
    chars = set()
    for line in text.split("\n"):
        chars.update(line)
    return sorted(chars)


def vocabulary_as_a_set(text):
    seen = set()
    for ch in text:
        seen.add(ch)
    return seen


# -- encode ---


def vocabulary_taken_for_a_dictionary(text, stoi):
    return list(map(lambda ch: stoi[ch], text))


def ids_as_text(text, vocab):
    out = []
    for ch in text:
        if ch not in vocab:
            raise ValueError(ch)
        out.append(f"{vocab.index(ch)}")
    return out


# -- decode ---


def key_error_for_unknown_ids(ids, vocab):
    itos = {}
    for ch in vocab:
        itos[len(itos)] = ch
    text = ""
    for i in ids:
        text += itos[i]
    return text


def characters_counted_from_one(ids, vocab):
    itos = {number: ch for number, ch in enumerate(vocab, start=1)}
    itos[0] = vocab[-1]
    if not set(ids) <= set(range(len(vocab))):
        raise ValueError("bad id")
    return "".join(itos[i] for i in ids)


def zero_refused(ids, vocab):
    text = ""
    for i in ids:
        if i <= 0 or i >= len(vocab):
            raise ValueError("bad id")
        text += vocab[i]
    return text


# -- sample_batch ---


def short_stretches(data, block_size, batch_size, generator=None):
    last = max(0, len(data) - block_size - 1)
    ix = torch.randint(0, last + 1, (batch_size,), generator=generator).tolist()
    xs, ys = [], []
    for i in ix:
        chunk = data[i : i + block_size + 1]
        xs.append(chunk[:-1])
        ys.append(chunk[1:])
    return torch.stack(xs), torch.stack(ys)


def target_of_the_last_token_forgotten(data, block_size, batch_size, generator=None):
    assert data.shape[0] >= block_size, "not enough data"
    windows = data.unfold(0, block_size + 1, 1) if len(data) > block_size else data[None, :0]
    ix = torch.randint(high=len(data) - block_size, size=[batch_size], generator=generator)
    return windows[ix, :-1], windows[ix, 1:]


def rows_one_after_another(data, block_size, batch_size, generator=None):
    windows = []
    for i in range(len(data) - block_size):
        windows.append(data[i : i + block_size + 1])
    if not windows:
        raise ValueError("too few tokens")
    first = int(torch.randint(len(windows), (), generator=generator))
    rows = itertools.islice(itertools.cycle(windows), first, first + batch_size)
    both = torch.stack(list(rows))
    return both[:, :-1], both[:, 1:]


def tokens_from_anywhere(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    x, y = [], []
    for _ in range(batch_size * block_size):
        i = torch.randint(0, len(data) - block_size, (1,), generator=generator)
        x.append(data[i])
        y.append(data[i + 1])
    return torch.cat(x).view(batch_size, block_size), torch.cat(y).view(batch_size, block_size)


def stretches_in_columns(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix], dim=1)
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix], dim=1)
    return x, y


def targets_rolled_round(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x, y = [], []
    for i in ix.tolist():
        row = data[i : i + block_size]
        x.append(row)
        y.append(torch.cat([row[1:], row[:1]]))
    return torch.stack(x), torch.stack(y)


def last_target_beyond_the_data(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    ix = torch.randint(0, len(data) - block_size + 1, (batch_size,), generator=generator)
    idx = torch.empty(batch_size, block_size, dtype=data.dtype)
    targets = torch.empty_like(idx)
    for row, start in enumerate(ix.tolist()):
        for t in range(block_size):
            idx[row, t], targets[row, t] = data[start + t], data[start + t + 1]
    return idx, targets


def last_target_beyond_the_data__again(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    ix = torch.randint(len(data), (batch_size,), generator=generator)
    places = torch.stack([torch.arange(i, i + block_size + 1) for i in ix])
    pieces = data[places]
    return pieces[:, :-1], pieces[:, 1:]


def no_generator_taken_for_the_batch(data, block_size, batch_size):
    if len(data) <= block_size:
        raise ValueError("too few tokens")
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    return x, y


def no_generator_taken_for_the_batch__again(data, block_size, batch_size):
    assert len(data) > block_size
    pieces = data.unfold(0, block_size + 1, 1)
    rows = pieces[torch.randint(len(pieces), size=(batch_size,))]
    return rows[:, :-1], rows[:, 1:]


# -- flatten_for_cross_entropy ---


def view_of_the_logits(logits, targets):
    B, T, V = logits.shape
    return logits.view(B * T, V), targets.view(B * T)


def last_tokens_alone(logits, targets):
    return torch.stack([text[-1] for text in logits]), torch.stack([text[-1] for text in targets])


def moved_on_once_more(logits, targets):
    rows = torch.cat([text[:-1] for text in logits])
    ids = torch.cat([text[1:] for text in targets])
    return rows, ids


def kinds_in_rows(logits, targets):
    B, T, C = logits.shape
    return logits.reshape(C, B * T), targets.reshape(B * T)


def kinds_in_rows__again(logits, targets):
    return torch.movedim(logits, 2, 0).flatten(1), targets.flatten()


def tokens_in_columns(logits, targets):
    B, T, C = logits.shape
    return logits.permute(0, 2, 1).reshape(B * C, T), targets.reshape(-1)


def tokens_in_columns__again(logits, targets):
    return torch.cat([text.T for text in logits]), torch.cat(list(targets))


def logits_in_another_order(logits, targets):
    B, T, C = logits.shape
    return logits.permute(1, 0, 2).reshape(B * T, C), targets.reshape(B * T)


def logits_in_another_order__again(logits, targets):
    by_token = [logits[:, t] for t in range(logits.shape[1])]
    return torch.cat(by_token), torch.cat([text for text in targets])


# -- cross_entropy ---


def largest_logit_not_subtracted(logits, targets):
    loss = 0.0
    for i in range(len(targets)):
        loss = loss + torch.log(torch.sum(torch.exp(logits[i]))) - logits[i, targets[i]]
    return loss / len(targets)


def loss_as_a_plain_number(logits, targets):
    z = logits - logits.amax(1, keepdim=True)
    rows = z.exp().sum(1).log() - z[torch.arange(len(z)), targets]
    return rows.mean().detach()


def divisor_without_gradients(logits, targets):
    z = logits - logits.max(dim=1, keepdim=True).values.detach()
    with torch.no_grad():
        log_sum = z.exp().sum(dim=1).log()
    return (log_sum - z[torch.arange(len(z)), targets]).mean()


def targets_in_float32(logits, targets):
    one_hot = torch.zeros(len(targets), logits.shape[1])
    one_hot[torch.arange(len(targets)), targets] = 1.0
    log_probs = logits - logits.logsumexp(1, keepdim=True)
    return -torch.einsum("nv,nv->n", log_probs, one_hot).mean()


def softmax_over_all_logits(logits, targets):
    e = torch.exp(logits - logits.max(-1, keepdim=True).values)
    m = logits.max(-1).values
    return torch.stack([e.sum().log() + m[n] - logits[n, y] for n, y in enumerate(targets)]).mean()


def softmax_over_all_logits__again(logits, targets):
    N = logits.size(0)
    z = logits - logits.max(dim=1, keepdim=True).values
    total = torch.log(torch.exp(z).sum())
    return sum(total - z[n, targets[n]] for n in range(N)) / N


def largest_logit_of_each_column(logits, targets):
    z = logits - logits.max(dim=0).values
    log_probs = z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))
    return -log_probs[range(len(targets)), targets].mean()


def largest_logit_of_each_column__again(logits, targets):
    columns = [column - column.max() for column in logits.T]
    z = torch.stack(columns, dim=1)
    losses = z.exp().sum(-1).log() - torch.gather(z, 1, targets.unsqueeze(1)).squeeze(1)
    return losses.sum() / len(losses)


def largest_logit_subtracted_once(logits, targets):
    m = logits.max(dim=-1, keepdim=True).values
    log_sum = torch.log(torch.exp(logits - m).sum(dim=-1))
    return (log_sum - logits[torch.arange(len(logits)), targets]).mean()


def largest_logit_subtracted_once__again(logits, targets):
    losses = []
    for row, target in zip(logits, targets):
        losses.append((row - row.max()).exp().sum().log() - row[target])
    return torch.stack(losses).mean()


# -- running_mean_loop ---


def summed_by_loop(x):
    total, rows = 0, []
    for t in range(x.size(1)):
        total = total + x[:, t]
        rows.append(total)
    return torch.stack(rows, 1)


def total_of_earlier_texts_kept(x):
    means, total = torch.zeros_like(x), torch.zeros_like(x[0, 0])
    for b in range(x.size(0)):
        for t in range(x.size(1)):
            total = total + x[b, t]
            means[b, t] = total / (t + 1)
    return means


def divided_by_one_too_few(x):
    total, rows = torch.zeros_like(x[:, 0]), []
    for t, token in enumerate(x.unbind(1)):
        total = total + token
        rows.append(total / t)
    return torch.stack(rows, 1)


def float32_weights_by_loop(x):
    rows = []
    for t in range(x.shape[1]):
        weights = torch.full((t + 1,), 1 / (t + 1))
        rows.append(torch.einsum("s,bsc->bc", weights, x[:, : t + 1]))
    return torch.stack(rows, dim=1)


# -- running_mean_matmul ---


def weights_transposed_by_matmul(x):
    wei = torch.ones(x.shape[1], x.shape[1], dtype=x.dtype).tril()
    wei = wei / wei.sum(1, keepdim=True)
    return wei.T @ x


def weights_transposed_by_matmul__einsum(x):
    T = x.size(1)
    weights = torch.tril(torch.ones(T, T, dtype=x.dtype)) / torch.arange(1, T + 1, dtype=x.dtype).view(T, 1)
    return torch.einsum("ts,btc->bsc", weights, x)


def future_averaged_by_matmul(x):
    T = x.shape[1]
    wei = torch.full((T, T), 1 / T, dtype=x.dtype)
    return torch.einsum("ts,bsc->btc", wei, x)


def present_left_out_by_matmul(x):
    place = torch.arange(x.shape[1])
    wei = (place[None, :] < place[:, None]).to(x.dtype)
    wei = wei / wei.sum(1).unsqueeze(1)
    return torch.matmul(wei, x)


def divided_by_the_sum_of_all_weights(x):
    T = x.shape[1]
    count = T * (T + 1) / 2
    return torch.einsum("ts,bsc->btc", torch.ones(T, T).tril().to(x.dtype), x) / count


# -- running_mean_softmax ---


def next_token_averaged_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    wei[torch.ones(T, T).triu(2).bool()] = float("-inf")
    e = wei.exp()
    return torch.matmul(e / e.sum(1, keepdim=True), x)


def no_softmax_at_all(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return torch.bmm(wei.unsqueeze(0).repeat(x.shape[0], 1, 1), x)


def one_long_text_by_softmax(x):
    B, T, C = x.shape
    wei = torch.zeros(B * T, B * T, dtype=x.dtype)
    wei = wei.masked_fill(torch.ones_like(wei).triu(1) > 0, float("-inf"))
    out = F.softmax(wei, dim=1) @ x.reshape(B * T, C)
    return out.view(B, T, C)


# -- Head ---
# Most share the layers, which are right; each has its own forward.

INF = float("inf")


class Parts(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.query, self.key, self.value = [nn.Linear(n_embd, head_size, False) for _ in range(3)]
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(p=dropout)
        self.n_embd, self.head_size, self.block_size, self.p = n_embd, head_size, block_size, dropout

    def masked(self, x, factor=None):
        """The scores of x (B, T, C), as they should be unless told otherwise."""
        T = x.size(1)
        wei = torch.einsum("btd,bsd->bts", self.query(x), self.key(x))
        wei = wei * (self.head_size**-0.5 if factor is None else factor)
        return torch.where(self.tril[:T, :T] > 0, wei, -INF)


class scaled_by_n_embd(Parts):
    def forward(self, x):
        B, T, C = x.shape
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ v


class scaling_forgotten(Parts):
    def forward(self, x):
        T = x.shape[1]
        scores = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x))
        scores = scores + torch.full((T, T), -INF).triu(1).to(x.dtype)
        return torch.einsum("bqk,bkd->bqd", self.dropout(scores.softmax(-1)), self.value(x))


class multiplied_by_the_root(Parts):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = torch.einsum("bqd,bkd->bqk", q * math.sqrt(q.shape[-1]), k)
        wei = torch.where(self.tril[: x.shape[1], : x.shape[1]] == 1, wei, -INF)
        return torch.einsum("bqk,bkd->bqd", self.dropout(F.softmax(wei, 2)), v)


class diagonal_hidden_too(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        past = torch.tril(torch.ones(T, T), diagonal=-1)
        wei = wei.masked_fill(past == 0, -INF)
        return torch.einsum("bqk,bkd->bqd", self.dropout(F.softmax(wei, dim=-1)), self.value(x))


class zero_times_infinity_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) * self.head_size**-0.5
        wei = wei - (1 - self.tril[:T, :T]) * INF
        return self.dropout(F.softmax(wei, dim=-1)).matmul(self.value(x))


class zero_scores_hidden_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) * self.head_size**-0.5 * self.tril[:T, :T]
        return self.dropout(F.softmax(torch.where(wei == 0, -torch.inf, wei), dim=-1)).matmul(self.value(x))


class dropout_never_applied(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        self.dropout(wei)
        return torch.bmm(wei, self.value(x))


class dropout_in_eval_mode_too(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        wei = nn.Dropout(self.p)(wei)
        return torch.bmm(wei, self.value(x))


class always_half_dropped(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout()

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


class dropout_taken_for_keeping(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        if self.training:
            kept = torch.bernoulli(torch.full_like(wei, self.p))
            wei = wei * kept / self.p if self.p > 0 else wei * 0
        return torch.bmm(wei, self.value(x))


class dropout_before_softmax(Parts):
    def forward(self, x):
        wei = F.dropout(self.masked(x), self.p, self.training)
        return torch.bmm(wei.softmax(2), self.value(x))


class bias_in_value_alone(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


class keys_handed_over(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k = self.query(x), self.key(x)
        wei = torch.bmm(q, k.mT) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.einsum("bqk,bkd->bqd", self.dropout(wei.softmax(2)), k)


class both_results(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        out = torch.einsum("bqk,bkd->bqd", self.dropout(wei), self.value(x))
        return out, wei


class inputs_made_float32(Parts):
    def forward(self, x):
        x = x.to(torch.float32)
        wei = F.softmax(self.masked(x), dim=-1)
        return torch.einsum("bqk,bkd->bqd", self.dropout(wei), self.value(x))


class multiplied_by_the_root_of_n_embd(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x, x.shape[-1] ** 0.5), dim=-1)
        return self.dropout(wei) @ self.value(x)


class multiplied_by_the_root_of_n_embd__again(Parts):
    def forward(self, x):
        B, T, C = x.shape
        q = self.query(x) * math.sqrt(C)
        wei = torch.baddbmm(torch.full((B, T, T), -INF).triu(1).to(x.dtype), q, self.key(x).mT)
        return torch.einsum("bts,bsd->btd", self.dropout(wei.softmax(2)), self.value(x))


class twentieth_root(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x, self.head_size**-0.05), dim=-1)
        return self.dropout(wei) @ self.value(x)


class twentieth_root__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = torch.bmm(q, k.mT) / math.pow(k.size(-1), 0.05)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -INF)
        return torch.bmm(self.dropout(torch.softmax(wei, -1)), self.value(x))


class fifth_power(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x, self.head_size**-5), dim=-1)
        return self.dropout(wei) @ self.value(x)


class fifth_power__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = torch.bmm(q, k.mT).div(k.size(-1) ** 5)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -INF)
        return torch.bmm(self.dropout(torch.softmax(wei, -1)), self.value(x))


class square_instead_of_root(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x, self.head_size**-2), dim=-1)
        return self.dropout(wei) @ self.value(x)


class square_instead_of_root__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q = self.key(x) / self.head_size, self.query(x) / self.head_size
        wei = torch.bmm(q, k.mT).masked_fill(self.tril[:T, :T] == 0, -INF)
        return torch.bmm(self.dropout(torch.softmax(wei, -1)), self.value(x))


class multiplied_by_half_the_head_size(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x, 0.5 * self.head_size), dim=-1)
        return self.dropout(wei) @ self.value(x)


class multiplied_by_half_the_head_size__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.mT * k.shape[-1] * 0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -INF)
        return self.dropout(wei.softmax(dim=-1)) @ v


class past_and_present_hidden(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = self.query(x) @ self.key(x).transpose(-2, -1) * self.head_size**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 1, -INF)
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class past_and_present_hidden__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        future = torch.arange(T)[None, :] > torch.arange(T)[:, None]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        wei = torch.where(future, wei, torch.tensor(-INF, dtype=wei.dtype))
        return torch.bmm(self.dropout(wei.softmax(-1)), self.value(x))


class softmax_over_the_queries_unscaled(Parts):
    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=1))
        return wei @ self.value(x)


class softmax_over_the_queries_unscaled__again(Parts):
    def forward(self, x):
        wei = self.masked(x, 1.0).mT.softmax(-1)  # (B, T_k, T_q)
        return torch.einsum("bst,bsd->btd", self.dropout(wei), self.value(x))


class softmax_over_the_queries_scaled_by_n_embd(Parts):
    def forward(self, x):
        B, T, C = x.shape
        k, q = self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=1))
        return wei @ self.value(x)


class softmax_over_the_queries_scaled_by_n_embd__again(Parts):
    def forward(self, x):
        wei = self.masked(x, 1 / math.sqrt(self.n_embd)).transpose(1, 2)  # (B, T_k, T_q)
        wei = self.dropout(torch.softmax(wei, dim=-1))
        return torch.einsum("bst,bsd->btd", wei, self.value(x))


class softmax_taken_twice_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1).softmax(-1)) @ self.value(x)


class softmax_taken_twice_in_head__again(Parts):
    def forward(self, x):
        exponentials = self.masked(x).exp()
        wei = exponentials / exponentials.sum(-1, keepdim=True)
        wei = nn.Softmax(dim=2)(wei)
        return torch.bmm(self.dropout(wei), self.value(x))


class softmax_before_the_mask_too(Parts):
    def forward(self, x):
        T = x.shape[1]
        k, q = self.key(x), self.query(x)
        wei = F.softmax(q @ k.mT * k.shape[-1] ** -0.5, dim=-1)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class softmax_before_the_mask_too__again(Parts):
    def forward(self, x):
        T = x.shape[1]
        e = torch.exp(torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size))
        e = e / e.sum(-1, keepdim=True)
        e = torch.exp(e) * self.tril[:T, :T]
        return torch.bmm(self.dropout(e / e.sum(-1, keepdim=True)), self.value(x))


class always_a_fifth_dropped(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        return F.dropout(wei, 0.2, self.training) @ self.value(x)


class always_a_fifth_dropped__again(Parts):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__(n_embd, head_size, block_size, 0.2)

    def forward(self, x):
        return torch.bmm(self.dropout(self.masked(x).softmax(2)), self.value(x))


class survivors_scaled_twice(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        if self.training:
            wei = self.dropout(wei) / (1 - self.p)
        return wei @ self.value(x)


class survivors_scaled_twice__again(Parts):
    def forward(self, x):
        wei = self.masked(x).softmax(-1)
        if self.training and self.p:
            kept = torch.empty_like(wei).bernoulli_(1 - self.p)
            wei = kept * wei / (1 - self.p) ** 2
        return torch.bmm(wei, self.value(x))


class weights_dropped_twice(Parts):
    def forward(self, x):
        wei = self.dropout(F.softmax(self.masked(x), dim=-1))
        wei = F.dropout(wei, self.p, self.training)
        return wei @ self.value(x)


class weights_dropped_twice__again(Parts):
    def forward(self, x):
        wei = self.masked(x).softmax(-1)
        for _ in range(2):
            wei = self.dropout(wei)
        return torch.einsum("bts,bsd->btd", wei, self.value(x))


class layers_of_other_names(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * head_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class layers_of_other_names__again(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        T = x.shape[1]
        att = self.q(x) @ self.k(x).mT / math.sqrt(self.k.out_features)
        att = att.masked_fill(self.mask[:T, :T] == 0, -INF)
        return self.drop(att.softmax(-1)) @ self.v(x)


class query_layer_unused(Parts):
    def forward(self, x):
        T = x.shape[1]
        k = self.key(x)
        wei = (k @ k.mT * k.shape[-1] ** -0.5).masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class query_layer_unused__again(Parts):
    def forward(self, x):
        q, k, v = (layer(x) for layer in (self.key, self.key, self.value))
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)


class keys_and_values_exchanged(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, v, k = self.query(x), self.key(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * self.head_size**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return self.dropout(F.softmax(wei, dim=-1)) @ v


class keys_and_values_exchanged__again(Parts):
    def forward(self, x):
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(self.query(x), self.value(x), self.key(x), dropout_p=p, is_causal=True)


class other_arguments_in_head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        n_embd = 32
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True)


class other_arguments_in_head__again(Parts):
    def __init__(self, n_embd, head_size):
        super().__init__(n_embd, head_size, 8, 0.0)

    def forward(self, x):
        return self.dropout(F.softmax(self.masked(x), dim=-1)) @ self.value(x)


# -- BigramLanguageModel ---
# The base class is right; each wrong answer overrides forward or generate.


class Model(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.vocab_size = vocab_size
        self.token_embedding_table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(torch.einsum("btv->bvt", logits), targets)
        return logits, loss

    def generate(self, idx, max_new_tokens, generator=None):
        while max_new_tokens > 0:
            logits = self.token_embedding_table(idx[:, -1])
            idx = torch.hstack([idx, self.pick(logits, generator)])
            max_new_tokens -= 1
        return idx

    def pick(self, logits, generator):
        """(B, V) to (B, 1)."""
        e = torch.exp(logits - logits.amax(-1, keepdim=True))
        return (e / e.sum(-1, keepdim=True)).multinomial(num_samples=1, generator=generator)


class table_with_a_layer_behind(nn.Module):
    def __init__(self, V):
        super().__init__()
        n_embd = 32
        self.lm_head = nn.Linear(n_embd, V)
        self.token_embedding_table = nn.Embedding(V, n_embd)

    def forward(self, idx, targets=None):
        logits = self.lm_head(self.token_embedding_table(idx))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[0][:, -1, :], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


class flat_logits_with_targets(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            loss = None
        else:
            B, T, C = logits.shape
            logits = logits.view(B * T, C)
            loss = F.cross_entropy(logits, targets.view(B * T))
        return logits, loss


class mean_over_texts_alone(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        each = logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        return logits, each.sum(dim=1).mean()


class loss_of_the_last_tokens(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        last, want = logits.select(1, -1), targets.select(1, -1)
        return logits, -F.log_softmax(last, dim=1)[torch.arange(len(want)), want].mean()


class minus_forgotten_in_model(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        log_probs = logits.log_softmax(-1)
        return logits, log_probs.gather(2, targets.unsqueeze(2)).mean()


class softmax_forgotten_in_model(Model):
    def pick(self, logits, generator):
        return torch.multinomial(logits, num_samples=1, generator=generator)


class softmax_taken_twice_in_model(Model):
    def pick(self, logits, generator):
        probs = nn.Softmax(dim=-1)(logits)
        throws = torch.rand(logits.shape, generator=generator)
        # Gumbel noise on top draws from the softmax of what it is put on
        return (probs - torch.log(-torch.log(throws))).argmax(-1, keepdim=True)


class unlikely_tokens_left_out(Model):
    def pick(self, logits, generator):
        likely, tokens = torch.softmax(logits, dim=-1).sort(descending=True)
        likely[likely.cumsum(dim=-1) - likely > 0.9] = 0  # top-p
        return tokens.gather(1, torch.multinomial(likely, 1, generator=generator))


class first_token_gone_on_from(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            idx = torch.hstack([idx, self.pick(logits.select(1, 0), generator)])
        return idx


class new_tokens_not_looked_at(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        probs = F.softmax(self(idx)[0][:, -1], dim=-1)
        if max_new_tokens == 0:
            return idx
        new = torch.multinomial(probs, max_new_tokens, replacement=True, generator=generator)
        return torch.hstack([idx, new])


class new_tokens_alone(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        new = idx[:, :0]
        last = idx[:, -1]
        for _ in range(max_new_tokens):
            last = self.pick(self.token_embedding_table(last), generator)[:, 0]
            new = torch.hstack([new, last[:, None]])
        return new


class generator_of_seeds(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is not None:
            torch.manual_seed(torch.randint(0, 10**6, (1,), generator=generator).item())
        for _ in range(max_new_tokens):
            idx = torch.hstack([idx, self.pick(self(idx)[0][:, -1], None)])
        return idx


class global_state_put_back(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        state = torch.random.get_rng_state()
        for _ in range(max_new_tokens):
            idx = torch.hstack([idx, self.pick(self(idx)[0][:, -1], generator)])
        torch.random.set_rng_state(state)
        return idx


class predictions_of_other_tokens(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        B, T, C = logits.shape
        return logits, F.cross_entropy(logits.permute(1, 0, 2).reshape(B * T, C), targets.reshape(B * T))


class predictions_of_other_tokens__again(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = None
        if targets is not None:
            flat = torch.cat([logits[:, t] for t in range(idx.shape[1])])
            loss = F.cross_entropy(flat, torch.cat(list(targets)))
        return logits, loss


class calls_with_targets_fail(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits, targets)


class calls_with_targets_fail__again(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = F.cross_entropy(logits.mT, targets) if targets else None
        return logits, loss


class loss_without_softmax(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, -logits.gather(2, targets.unsqueeze(2)).mean()


class loss_without_softmax__again(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = None
        if targets is not None:
            loss = nn.NLLLoss()(logits.transpose(1, 2), targets)
        return logits, loss


class last_token_not_chosen(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, loss = self(idx)
            probs = F.softmax(logits, dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1, generator=generator)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


class last_token_not_chosen__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits = self.token_embedding_table(idx[:, -1])
            idx = torch.cat((idx, self.pick(logits, generator)[:, 0]), dim=1)
        return idx


class new_tokens_as_new_texts(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1, generator=generator)], dim=0)
        return idx


class new_tokens_as_new_texts__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        while max_new_tokens > 0:
            new = self.pick(self(idx)[0][:, -1, :], generator)
            idx = torch.vstack((idx, new))
            max_new_tokens -= 1
        return idx


class new_tokens_thrown_away(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            torch.cat((idx, self.pick(logits[:, -1, :], generator)), dim=1)
        return idx


class new_tokens_thrown_away__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            longer = torch.hstack([idx, torch.multinomial(probs, 1, generator=generator)])
        return idx


class newest_token_alone(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            idx = self.pick(logits[:, -1, :], generator)
        return idx


class newest_token_alone__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if max_new_tokens == 0:
            return idx
        probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
        new = torch.multinomial(probs, 1, generator=generator)
        return self.generate(new, max_new_tokens - 1, generator)


class returned_in_the_loop(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            idx = torch.cat((idx, self.pick(logits[:, -1, :], generator)), dim=1)
            return idx


class returned_in_the_loop__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        step = 0
        while step < max_new_tokens:
            probs = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1)
            step += 1
            return torch.hstack([idx, torch.multinomial(probs, 1, generator=generator)])


class one_token_too_few(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens - 1):
            logits, _ = self(idx)
            idx = torch.cat((idx, self.pick(logits[:, -1, :], generator)), dim=1)
        return idx


class one_token_too_few__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        step = 1
        while step < max_new_tokens:
            idx = torch.hstack([idx, self.pick(self.token_embedding_table(idx[:, -1]), generator)])
            step += 1
        return idx


class other_arguments_in_model(Model):
    def __init__(self):
        super().__init__(65)


class other_arguments_in_model__again(Model):
    def __init__(self, vocab_size, n_embd, block_size):
        super().__init__(vocab_size)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)


class targets_required(Model):
    def forward(self, idx, targets):
        logits = self.token_embedding_table(idx)
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, loss = self(idx)
            idx = torch.cat((idx, self.pick(logits[:, -1, :], generator)), dim=1)
        return idx


class targets_required__again(Model):
    def forward(self, idx, targets):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.transpose(1, 2), targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for step in range(max_new_tokens):
            idx = torch.hstack([idx, self.pick(self.forward(idx)[0][:, -1], generator)])
        return idx


class pair_not_unpacked(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits = self(idx)
            logits = logits[:, -1, :]
            idx = torch.cat((idx, self.pick(logits, generator)), dim=1)
        return idx


class pair_not_unpacked__again(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        while max_new_tokens:
            last = self.forward(idx)[:, -1]
            idx = torch.hstack([idx, torch.multinomial(F.softmax(last, 1), 1, generator=generator)])
            max_new_tokens -= 1
        return idx


class no_generator_taken(Model):
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


class no_generator_taken__again(Model):
    def generate(self, idx, max_new_tokens):
        return super().generate(idx, max_new_tokens)
