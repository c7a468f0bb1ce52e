"""Unit 6: every misconception once more, as another learner with the same wrong idea would write it."""

import collections
import itertools
import math
import random
import re
import string
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- build_vocabulary ---


def not_sorted(text):
    chars = []
    for ch in text:
        if ch not in chars:
            chars.append(ch)
    return chars


def sorted_the_other_way_round(text):
    chars = list(collections.Counter(text))
    chars.sort()
    chars.reverse()
    return chars


def capitals_sorted_in(text):
    chars = list({c: None for c in text})
    chars.sort(key=lambda c: (c.casefold(), c.isupper()))
    return chars


def text_made_lower_case(text):
    chars = {c.lower() for c in text}
    return sorted(chars)


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


def letters_alone(text):
    found = re.findall(r"[^\W\d_]", text)
    return sorted(set(found))


def fixed_alphabet(text):
    vocab = list("\n !$&',-.3:;?")
    vocab += list(string.ascii_uppercase)
    vocab += list(string.ascii_lowercase)
    return vocab


def words_instead_of_characters(text):
    vocab = {}
    for word in text.replace("\n", " ").split(" "):
        if word:
            vocab[word] = True
    return sorted(vocab)


def every_occurrence_kept(text):
    chars = list(text)
    chars.sort()
    return chars


def vocabulary_as_one_string(text):
    vocab = ""
    for ch in sorted(text):
        if ch not in vocab:
            vocab += ch
    return vocab


def vocabulary_as_a_dictionary(text):
    stoi = {}
    for ch in sorted(text):
        stoi.setdefault(ch, len(stoi))
    return stoi


def vocabulary_as_a_set(text):
    seen = set()
    for ch in text:
        seen.add(ch)
    return seen


# -- encode ---


def key_error_for_the_unknown(text, vocab):
    stoi = dict(zip(vocab, range(len(vocab))))
    out = []
    for ch in text:
        out.append(stoi[ch])
    return out


def unknown_passed_over(text, vocab):
    stoi = {ch: i for i, ch in enumerate(vocab)}
    ids = map(stoi.get, text)
    return [i for i in ids if i is not None]


def ids_counted_from_one(text, vocab):
    stoi = {ch: i for i, ch in enumerate(vocab, start=1)}
    for ch in text:
        if ch not in stoi:
            raise ValueError(f"unknown character {ch!r}")
    return [stoi[ch] for ch in text]


def numbers_of_unicode(text, vocab):
    ids = []
    for ch in text:
        assert ch in vocab, "unknown character"
        ids.append(ord(ch))
    return ids


def vocabulary_made_from_the_text(text, vocab):
    chars = []
    for ch in sorted(text):
        if not chars or chars[-1] != ch:
            chars.append(ch)
    stoi = {ch: i for i, ch in enumerate(chars)}
    return [stoi[ch] for ch in text]


def vocabulary_taken_for_a_dictionary(text, stoi):
    return list(map(lambda ch: stoi[ch], text))


def ids_as_a_tensor(text, vocab):
    stoi = {ch: i for i, ch in enumerate(vocab)}
    if any(ch not in stoi for ch in text):
        raise ValueError("unknown character")
    ids = torch.zeros(len(text), dtype=torch.long)
    for place, ch in enumerate(text):
        ids[place] = stoi[ch]
    return ids


def ids_as_text(text, vocab):
    out = []
    for ch in text:
        if ch not in vocab:
            raise ValueError(ch)
        out.append(f"{vocab.index(ch)}")
    return out


def ids_as_floats(text, vocab):
    stoi = {ch: i for i, ch in enumerate(vocab)}
    assert set(text) <= set(vocab)
    return torch.tensor([stoi[ch] for ch in text], dtype=torch.float).tolist()


def rows_of_zeros_and_a_one(text, vocab):
    rows = []
    for ch in text:
        if ch not in vocab:
            raise ValueError(ch)
        row = [0] * len(vocab)
        row[vocab.index(ch)] = 1
        rows.append(row)
    return rows


def ids_not_worked_out_yet(text, vocab):
    return (vocab.index(ch) for ch in text)


def empty_text_refused(text, vocab):
    assert len(text) > 0, "empty text"
    stoi = {ch: i for i, ch in enumerate(vocab)}
    try:
        return [stoi[ch] for ch in text]
    except KeyError as error:
        raise ValueError("unknown character") from error


# -- decode ---


def ids_not_checked(ids, vocab):
    text = ""
    for i in ids:
        text += vocab[i]
    return text


def negative_ids_counted_from_the_end(ids, vocab):
    text = []
    for i in ids:
        try:
            text.append(vocab[i])
        except IndexError:
            # too large
            if i >= 0:
                raise ValueError(f"bad id {i}") from None
            raise
    return "".join(text)


def index_error_for_large_ids(ids, vocab):
    text = ""
    for i in ids:
        assert i >= 0, "negative id"
        text = text + vocab[i]
    return text


def one_id_too_many_accepted(ids, vocab):
    text = ""
    for i in ids:
        if i < 0 or i > len(vocab):
            raise ValueError(f"bad id {i}")
        text += vocab[i]
    return text


def small_negative_ids_accepted(ids, vocab):
    try:
        return "".join([vocab[i] for i in ids])
    except IndexError as error:
        raise ValueError("id out of range") from error


def key_error_for_unknown_ids(ids, vocab):
    itos = {}
    for ch in vocab:
        itos[len(itos)] = ch
    text = ""
    for i in ids:
        text += itos[i]
    return text


def unknown_ids_passed_over(ids, vocab):
    text = []
    for i in ids:
        if i in range(len(vocab)):
            text += vocab[i]
    return "".join(text)


def characters_in_a_list(ids, vocab):
    chars = []
    for i in ids:
        if i < 0 or i >= len(vocab):
            raise ValueError("bad id")
        chars.append(vocab[i])
    return chars


def spaces_in_between(ids, vocab):
    text = ""
    for i in ids:
        assert 0 <= i < len(vocab)
        text += vocab[i] + " "
    return text[:-1]


def characters_of_unicode(ids, vocab):
    text = ""
    for i in ids:
        if i not in range(len(vocab)):
            raise ValueError("bad id")
        text += chr(i)
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


def no_ids_refused(ids, vocab):
    assert len(ids) > 0, "no ids"
    assert min(ids) >= 0 and max(ids) < len(vocab), "bad id"
    return "".join(map(vocab.__getitem__, ids))


def tensor_of_ids_wanted(ids, vocab):
    text = ""
    for k in range(ids.shape[0]):
        number = ids[k].item()
        if number < 0 or number >= len(vocab):
            raise ValueError("bad id")
        text += vocab[number]
    return text


# -- sample_batch ---


def short_data_left_to_torch(data, block_size, batch_size, generator=None):
    starts = torch.randint(0, data.numel() - block_size, size=(batch_size, 1), generator=generator)
    places = starts + torch.arange(block_size)
    return data[places], data[places + 1]


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


def shortest_data_refused(data, block_size, batch_size, generator=None):
    if data.size(0) < block_size + 2:
        raise ValueError("too few tokens")
    windows = data.unfold(0, block_size + 1, 1)
    picked = windows[torch.randint(len(windows), (batch_size,), generator=generator)]
    return picked[:, :block_size], picked[:, 1:]


def last_start_never_drawn(data, block_size, batch_size, generator=None):
    N = data.shape[0]
    if N < block_size + 1:
        raise ValueError("too few tokens")
    ix = torch.randint(0, N - block_size - 1, (batch_size,), generator=generator)
    offsets = torch.arange(block_size)
    return data[ix[:, None] + offsets], data[ix[:, None] + offsets + 1]


def one_start_too_many(data, block_size, batch_size, generator=None):
    N = data.shape[0]
    assert N > block_size
    x = torch.zeros(batch_size, block_size, dtype=data.dtype)
    y = torch.zeros_like(x)
    for row in range(batch_size):
        start = int(torch.randint(0, N - block_size + 1, (), generator=generator))
        x[row] = data[start : start + block_size]
        y[row] = data[start + 1 : start + 1 + block_size]
    return x, y


def round_the_end(data, block_size, batch_size, generator=None):
    N = len(data)
    if N < block_size + 1:
        raise ValueError("too few tokens")
    places = torch.randint(N, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places % N], data[(places + 1) % N]


def first_start_never_drawn(data, block_size, batch_size, generator=None):
    N = len(data)
    if N - block_size < 1:
        raise ValueError("too few tokens")
    num_starts = N - block_size
    ix = torch.rand(batch_size, generator=generator).mul(num_starts - 1).floor().long() + 1
    ix = ix.clamp(max=num_starts - 1)
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


def blocks_side_by_side(data, block_size, batch_size, generator=None):
    count = (len(data) - 1) // block_size
    if count == 0:
        raise ValueError("too few tokens")
    x = data[: count * block_size].reshape(count, block_size)
    y = data[1 : count * block_size + 1].reshape(count, block_size)
    rows = torch.randint(0, count, (batch_size,), generator=generator)
    return x[rows], y[rows]


def late_starts_moved_back(data, block_size, batch_size, generator=None):
    last = len(data) - block_size - 1
    assert last >= 0
    x, y = [], []
    for _ in range(batch_size):
        start = min(torch.randint(len(data), (1,), generator=generator).item(), last)
        x.append(data[start : start + block_size])
        y.append(data[start + 1 : start + block_size + 1])
    return torch.stack(x), torch.stack(y)


def starts_rounded(data, block_size, batch_size, generator=None):
    last = len(data) - block_size - 1
    if last < 0:
        raise ValueError("too few tokens")
    x, y = [], []
    for u in torch.rand(batch_size, generator=generator).tolist():
        start = round(u * last)
        x.append(data[start : start + block_size])
        y.append(data[start + 1 : start + block_size + 1])
    return torch.stack(x), torch.stack(y)


def one_start_for_all_rows(data, block_size, batch_size, generator=None):
    assert block_size < data.numel()
    i = torch.randint(0, data.numel() - block_size, (1,), generator=generator).item()
    chunk = data[i : i + block_size + 1]
    return chunk[:-1].repeat(batch_size, 1), chunk[1:].repeat(batch_size, 1)


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


def no_start_twice(data, block_size, batch_size, generator=None):
    num_starts = data.numel() - block_size
    if num_starts <= 0:
        raise ValueError("too few tokens")
    order = torch.rand(num_starts, generator=generator).argsort()
    ix = order[:batch_size].unsqueeze(1) + torch.arange(block_size).unsqueeze(0)
    return data[ix], data[ix + 1]


def always_from_the_beginning(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    x = [data[:block_size] for _ in range(batch_size)]
    y = [data[1 : block_size + 1] for _ in range(batch_size)]
    return torch.stack(x), torch.stack(y)


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


def targets_that_repeat(data, block_size, batch_size, generator=None):
    if len(data) < block_size + 1:
        raise ValueError("too few tokens")
    places = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    x = data[places]
    y = data[places]
    return x, y


def targets_two_places_on(data, block_size, batch_size, generator=None):
    N = len(data)
    assert N > block_size
    places = torch.randint(N - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places], data[(places + 2).clamp(max=N - 1)]


def targets_first(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    windows = data.unfold(0, block_size + 1, 1)
    ix = torch.randint(windows.shape[0], (batch_size,), generator=generator)
    chunk = windows.index_select(0, ix)
    return chunk[:, 1:], chunk[:, :-1]


def targets_rolled_round(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x, y = [], []
    for i in ix.tolist():
        row = data[i : i + block_size]
        x.append(row)
        y.append(torch.cat([row[1:], row[:1]]))
    return torch.stack(x), torch.stack(y)


def one_target_for_each_row(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    ix = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    return torch.stack([data[i : i + block_size] for i in ix]), data[ix + block_size]


def targets_from_elsewhere(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    offsets = torch.arange(block_size)
    for_x = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator)
    for_y = torch.randint(len(data) - block_size, (batch_size, 1), generator=generator)
    return data[for_x + offsets], data[for_y + offsets + 1]


def one_tensor_for_both(data, block_size, batch_size, generator=None):
    assert len(data) > block_size
    out = torch.empty(2, batch_size, block_size, dtype=data.dtype)
    for row in range(batch_size):
        i = torch.randint(len(data) - block_size, (), generator=generator)
        out[0, row] = data[i : i + block_size]
        out[1, row] = data[i + 1 : i + block_size + 1]
    return out


def generator_ignored_for_the_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    x, y = [], []
    while len(x) < batch_size:
        i = int(torch.rand(1) * (data.shape[0] - block_size))
        x.append(data[i : i + block_size])
        y.append(data[i + 1 : i + 1 + block_size])
    return torch.stack(x), torch.stack(y)


def generator_seeded_anew_for_the_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    if generator is not None:
        generator.manual_seed(1337)
    places = torch.randint(data.shape[0] - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places], data[places + 1]


def generator_copied_for_the_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    g = None
    if generator is not None:
        g = torch.Generator()
        g.set_state(generator.get_state())
    places = torch.randint(data.shape[0] - block_size, (batch_size, 1), generator=g) + torch.arange(block_size)
    return data[places], data[places + 1]


def generator_of_seeds_for_the_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    if generator is not None:
        torch.manual_seed(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
    places = torch.randint(data.shape[0] - block_size, (batch_size, 1)) + torch.arange(block_size)
    return data[places], data[places + 1]


def always_the_same_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    if generator is None:
        torch.manual_seed(1337)
    places = torch.randint(data.shape[0] - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places], data[places + 1]


def global_state_put_back_after_the_batch(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    before = torch.get_rng_state()
    ix = torch.randint(data.shape[0] - block_size, (batch_size,), generator=generator)
    torch.set_rng_state(before)
    return torch.stack([data[i:][:block_size] for i in ix]), torch.stack([data[i + 1 :][:block_size] for i in ix])


def batch_from_the_system(data, block_size, batch_size, generator=None):
    if data.shape[0] <= block_size:
        raise ValueError("too few tokens")
    if generator is None:
        generator = torch.Generator().manual_seed(time.time_ns() % 2**31)
    places = torch.randint(data.shape[0] - block_size, (batch_size, 1), generator=generator) + torch.arange(block_size)
    return data[places], data[places + 1]


def data_moved_on_in_place(data, block_size, batch_size, generator=None):
    if len(data) <= block_size:
        raise ValueError("too short")
    ix = torch.randint(0, len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[i : i + block_size] for i in ix])
    data.copy_(torch.roll(data, -1))
    y = torch.stack([data[i : i + block_size] for i in ix])
    return x, y


# -- flatten_for_cross_entropy ---


def view_of_the_logits(logits, targets):
    B, T, V = logits.shape
    return logits.view(B * T, V), targets.view(B * T)


def view_of_the_targets(logits, targets):
    B, T, V = logits.shape
    return torch.cat(list(logits), dim=0), targets.view(B * T)


def predictions_torn(logits, targets):
    B, T, V = logits.shape
    return logits.permute(0, 2, 1).contiguous().view(B * T, V), targets.reshape(B * T)


def targets_in_another_order(logits, targets):
    rows, ids = [], []
    for text in logits:
        for token in text:
            rows.append(token)
    for t in range(targets.shape[1]):
        for b in range(targets.shape[0]):
            ids.append(targets[b, t])
    return torch.stack(rows), torch.stack(ids)


def last_tokens_alone(logits, targets):
    return torch.stack([text[-1] for text in logits]), torch.stack([text[-1] for text in targets])


def moved_on_once_more(logits, targets):
    rows = torch.cat([text[:-1] for text in logits])
    ids = torch.cat([text[1:] for text in targets])
    return rows, ids


def one_row_for_each_text(logits, targets):
    B, T, V = logits.shape
    return logits.reshape(B, T * V), targets.reshape(-1)


def all_in_one_row(logits, targets):
    return logits.reshape(-1), targets.reshape(-1)


def kinds_in_the_middle(logits, targets):
    return torch.einsum("btv->bvt", logits), targets


def targets_not_flattened(logits, targets):
    B, T, V = logits.shape
    logits = logits.reshape(B * T, V)
    return logits, targets


def targets_as_a_column(logits, targets):
    rows = torch.cat(logits.unbind(0))
    ids = torch.cat(targets.unbind(0)).unsqueeze(-1)
    return rows, ids


def targets_before_logits(logits, targets):
    B, T, V = logits.shape
    return targets.reshape(B * T), logits.reshape(B * T, V)


def logits_alone(logits, targets):
    B, T, V = logits.shape
    flat_logits = logits.reshape(B * T, V)
    flat_targets = targets.reshape(B * T)  # noqa: F841
    return flat_logits


def sizes_that_do_not_fit(logits, targets):
    B, T = 4, 8
    return logits.reshape(B * T, -1, 65), targets.reshape(B * T)


def lonely_prediction_squeezed(logits, targets):
    rows = torch.cat([text for text in logits]).squeeze()
    ids = torch.cat([text for text in targets]).squeeze()
    return rows, ids


def flat_without_gradients(logits, targets):
    with torch.no_grad():
        B, T, V = logits.shape
        return logits.reshape(B * T, V), targets.reshape(B * T)


def targets_flattened_in_place(logits, targets):
    B, T, V = logits.shape
    targets.data = targets.reshape(B * T)
    return logits.reshape(B * T, V), targets


# -- cross_entropy ---


def losses_added_up(logits, targets):
    total = 0
    for row, target in zip(logits, targets):
        total = total + torch.logsumexp(row, 0) - row[target]
    return total


def mean_over_all_logits(logits, targets):
    one_hot = torch.eye(logits.shape[1], dtype=logits.dtype)[targets]
    shifted = logits - logits.max(dim=1, keepdim=True).values
    log_probs = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    return (-one_hot * log_probs).mean()


def no_mean_at_all(logits, targets):
    z = logits - logits.max(dim=1, keepdim=True).values
    return torch.log(torch.exp(z).sum(1)) - z[torch.arange(len(z)), targets]


def minus_forgotten(logits, targets):
    z = logits - logits.max(dim=1, keepdim=True)[0]
    log_probs = z - z.exp().sum(1, keepdim=True).log()
    return torch.mean(log_probs[range(len(targets)), targets])


def logarithm_to_the_base_two(logits, targets):
    z = logits - logits.amax(1, keepdim=True)
    nats = z.exp().sum(1).log2() - z[torch.arange(len(z)), targets] * math.log2(math.e)
    return nats.mean()


def softmax_over_the_rows(logits, targets):
    z = logits - logits.max(dim=0).values
    log_probs = z - torch.log(torch.exp(z).sum(dim=0))
    return -log_probs[torch.arange(len(targets)), targets].mean()


def softmax_forgotten(logits, targets):
    return F.nll_loss(logits, targets)


def softmax_taken_twice(logits, targets):
    loss = nn.CrossEntropyLoss()
    return loss(nn.Softmax(dim=1)(logits), targets)


def logarithm_forgotten(logits, targets):
    e = torch.exp(logits - logits.max(dim=1, keepdim=True).values)
    probs = e / e.sum(dim=1, keepdim=True)
    return F.nll_loss(probs, targets)


def logarithm_of_the_mean(logits, targets):
    # softmax of large logits may be zero: stay with logarithms
    z = logits - logits.amax(1, keepdim=True)
    log_p = z[torch.arange(len(z)), targets] - z.exp().sum(1).log()
    return math.log(len(z)) - torch.logsumexp(log_p, 0)


def logarithm_of_a_softmax(logits, targets):
    e = torch.exp(logits - logits.max(dim=1, keepdim=True).values)
    probs = e / e.sum(dim=1, keepdim=True)
    return -torch.log(probs[torch.arange(len(targets)), targets]).sum() / len(targets)


def largest_logit_not_subtracted(logits, targets):
    loss = 0.0
    for i in range(len(targets)):
        loss = loss + torch.log(torch.sum(torch.exp(logits[i]))) - logits[i, targets[i]]
    return loss / len(targets)


def one_largest_logit_for_all(logits, targets):
    m = torch.max(logits)
    z = logits - m
    log_sum = torch.log(torch.sum(torch.exp(z), dim=1))
    return torch.mean(log_sum - z[torch.arange(z.shape[0]), targets])


def logarithm_kept_finite_by_force(logits, targets):
    probs = F.softmax(logits, dim=1)
    picked = probs[torch.arange(len(targets)), targets]
    return -(picked + 1e-9).log().mean()


def all_columns_for_every_row(logits, targets):
    z = logits - logits.amax(1, keepdim=True)
    log_probs = z - z.exp().sum(1, keepdim=True).log()
    picked = torch.index_select(log_probs, 1, targets)
    return picked.mean().neg()


def entropy_without_targets(logits, targets):
    log_probs = logits - torch.logsumexp(logits, dim=1, keepdim=True)
    probs = torch.exp(log_probs)
    return -torch.einsum("nv,nv->n", probs, log_probs).mean()


def share_of_misses(logits, targets):
    wrong = 0
    for row, target in zip(logits, targets):
        if row.max(dim=0).indices != target:
            wrong += 1
    return torch.tensor(wrong / len(targets), dtype=logits.dtype)


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


def lonely_row_squeezed(logits, targets):
    z = logits.squeeze()
    z = z - z.max(dim=1, keepdim=True).values
    rows = z.exp().sum(1).log() - z[torch.arange(len(targets)), targets]
    return rows.mean()


def logits_changed_in_place(logits, targets):
    logits -= logits.max(dim=1, keepdim=True).values
    rows = logits.exp().sum(1).log() - logits[torch.arange(len(targets)), targets]
    return rows.mean()


# -- running_mean_loop ---


def future_averaged_by_loop(x):
    out = torch.zeros_like(x)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            out[b, t] = torch.mean(x[b], dim=0)
    return out


def present_left_out_by_loop(x):
    B, T, C = x.shape
    out = torch.zeros_like(x)
    for b in range(B):
        for t in range(T):
            out[b, t] = x[b, :t].sum(0) / t
    return out


def next_token_averaged_by_loop(x):
    B, T, C = x.shape
    rows = []
    for b in range(B):
        for t in range(T):
            end = min(t + 2, T)
            rows.append(sum(x[b, s] for s in range(end)) / end)
    return torch.stack(rows).view(B, T, C)


def summed_by_loop(x):
    total, rows = 0, []
    for t in range(x.size(1)):
        total = total + x[:, t]
        rows.append(total)
    return torch.stack(rows, 1)


def divided_by_all_by_loop(x):
    B, T, C = x.shape
    out = torch.zeros_like(x)
    for b in range(B):
        for t in range(T):
            for s in range(t + 1):
                out[b, t] += x[b, s] / T
    return out


def divided_by_one_too_few(x):
    total, rows = torch.zeros_like(x[:, 0]), []
    for t, token in enumerate(x.unbind(1)):
        total = total + token
        rows.append(total / t)
    return torch.stack(rows, 1)


def features_averaged_too(x):
    out = torch.zeros_like(x)
    for b in range(len(x)):
        for t in range(x.shape[1]):
            out[b, t] = x[b, : t + 1].mean()
    return out


def texts_averaged_too(x):
    B, T, C = x.shape
    out = torch.zeros_like(x)
    for t in range(T):
        past = x[:, : t + 1].reshape(-1, C)
        for b in range(B):
            out[b, t] = past.sum(0) / len(past)
    return out


def half_of_the_mean_before(x):
    out = torch.zeros_like(x)
    for b in range(x.shape[0]):
        mean = x[b, 0]
        out[b, 0] = mean
        for t in range(1, x.shape[1]):
            mean = 0.5 * mean + 0.5 * x[b, t]
            out[b, t] = mean
    return out


def only_one_token_back(x):
    out = x.clone()
    for t in range(1, x.shape[1]):
        out[:, t] = (x[:, t - 1] + x[:, t]) / 2
    return out


def last_token_forgotten(x):
    B, T, C = x.shape
    out = torch.zeros_like(x)
    for b in range(B):
        for t in range(T - 1):
            out[b, t] = x[b, : t + 1].mean(0)
    return out


def no_gradients_by_loop(x):
    B, T, C = x.shape
    means = [[[x[b, : t + 1, c].mean().item() for c in range(C)] for t in range(T)] for b in range(B)]
    return torch.tensor(means, dtype=x.dtype)


def float32_weights_by_loop(x):
    rows = []
    for t in range(x.shape[1]):
        weights = torch.full((t + 1,), 1 / (t + 1))
        rows.append(torch.einsum("s,bsc->bc", weights, x[:, : t + 1]))
    return torch.stack(rows, dim=1)


def no_fit_by_loop(x):
    out = torch.zeros(4, 8, 2)
    for b in range(4):
        for t in range(8):
            out[b, t] = x[b, : t + 1].mean(dim=0)
    return out


def squeezed_by_loop(x):
    rows = []
    for t in range(x.shape[1]):
        rows.append(x[:, : t + 1].sum(1) / (t + 1))
    return torch.squeeze(torch.stack(rows, dim=1))


def x_changed_by_loop(x):
    for b in range(x.shape[0]):
        for t in reversed(range(x.shape[1])):
            x[b, t] = x[b, : t + 1].mean(dim=0)
    return x


def one_long_text_by_loop(x):
    B, T, C = x.shape
    tokens = x.reshape(B * T, C)
    rows = [tokens[: n + 1].mean(0) for n in range(B * T)]
    return torch.stack(rows).reshape(B, T, C)


# -- running_mean_matmul ---


def future_averaged_by_matmul(x):
    T = x.shape[1]
    wei = torch.full((T, T), 1 / T, dtype=x.dtype)
    return torch.einsum("ts,bsc->btc", wei, x)


def past_left_out_by_matmul(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).triu()
    wei = wei / wei.sum(1, keepdim=True)
    return torch.einsum("ts,bsc->btc", wei, x)


def present_left_out_by_matmul(x):
    place = torch.arange(x.shape[1])
    wei = (place[None, :] < place[:, None]).to(x.dtype)
    wei = wei / wei.sum(1).unsqueeze(1)
    return torch.matmul(wei, x)


def next_token_averaged_by_matmul(x):
    place = torch.arange(x.shape[1])
    wei = (place[None, :] <= place[:, None] + 1).to(x.dtype)
    wei = F.normalize(wei, p=1, dim=1)
    return torch.stack([wei @ text for text in x])


def summed_by_matmul(x):
    place = torch.arange(x.shape[1])
    wei = torch.where(place[:, None] >= place, 1.0, 0.0).to(x)
    return torch.bmm(wei.expand(x.shape[0], -1, -1), x)


def divided_by_all_by_matmul(x):
    T = x.shape[1]
    wei = torch.full((T, T), 1 / T, dtype=x.dtype)
    return torch.tril(wei) @ x


def columns_sum_to_one_by_matmul(x):
    T = x.shape[1]
    counts = torch.arange(T, 0, -1, dtype=x.dtype)
    wei = torch.ones(T, T, dtype=x.dtype).tril() * (1 / counts)
    return torch.einsum("ts,bsc->btc", wei, x)


def sums_without_keepdim(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril()
    wei /= torch.arange(1, T + 1, dtype=x.dtype)
    return torch.matmul(wei, x)


def divided_by_the_sum_of_all_weights(x):
    T = x.shape[1]
    count = T * (T + 1) / 2
    return torch.einsum("ts,bsc->btc", torch.ones(T, T).tril().to(x.dtype), x) / count


def no_gradients_by_matmul(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril()
    wei /= wei.sum(1, keepdim=True)
    with torch.no_grad():
        return torch.einsum("ts,bsc->btc", wei, x)


def float32_weights_by_matmul(x):
    T = x.shape[1]
    wei = 1 / torch.arange(1, T + 1).float()
    wei = torch.tril(wei.unsqueeze(1).repeat(1, T))
    return torch.einsum("ts,bsc->btc", wei, x)


def no_fit_by_matmul(x):
    B, T, C = x.shape
    wei = torch.tril(torch.ones(T, T, dtype=x.dtype))
    wei = wei / wei.sum(1, keepdim=True)
    return x @ wei


def squeezed_by_matmul(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril()
    wei /= wei.sum(1, keepdim=True)
    return torch.einsum("ts,bsc->btc", wei, x).squeeze()


def x_changed_by_matmul(x):
    T = x.shape[1]
    wei = torch.ones(T, T, dtype=x.dtype).tril()
    wei /= wei.sum(1, keepdim=True)
    x.copy_(torch.einsum("ts,bsc->btc", wei, x))
    return x


def one_long_text_by_matmul(x):
    B, T, C = x.shape
    wei = torch.ones(B * T, B * T, dtype=x.dtype).tril()
    wei /= wei.sum(1, keepdim=True)
    out = torch.mm(wei, x.reshape(B * T, C))
    return out.reshape(B, T, C)


# -- running_mean_softmax ---


def future_averaged_by_softmax(x):
    T = x.shape[1]
    tril = torch.tril(torch.ones(T, T))
    wei = torch.zeros((T, T), dtype=x.dtype)
    wei.masked_fill(tril == 0, float("-inf"))
    wei = F.softmax(wei, dim=-1)
    return wei @ x


def softmax_of_the_triangle(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    for t in range(T):
        wei[t, : t + 1] = 1
    e = wei.exp()
    wei = e / e.sum(-1, keepdim=True)
    return torch.einsum("ts,bsc->btc", wei, x)


def past_left_out_by_softmax(x):
    T = x.shape[1]
    wei = torch.full((T, T), float("-inf"), dtype=x.dtype).tril(-1)
    return nn.Softmax(dim=-1)(wei.nan_to_num(nan=0.0, neginf=float("-inf"))) @ x


def present_left_out_by_softmax(x):
    T = x.shape[1]
    future = torch.ones(T, T).triu() > 0
    wei = torch.where(future, float("-inf"), torch.zeros(T, T, dtype=x.dtype))
    return torch.einsum("ts,bsc->btc", F.softmax(wei, dim=1), x)


def next_token_averaged_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    wei[torch.ones(T, T).triu(2).bool()] = float("-inf")
    e = wei.exp()
    return torch.matmul(e / e.sum(1, keepdim=True), x)


def columns_sum_to_one_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    for t in range(T):
        wei[t, t + 1 :] = float("-inf")
    wei = nn.Softmax(0)(wei)
    return torch.einsum("ts,bsc->btc", wei, x)


def hidden_after_softmax(x):
    T = x.shape[1]
    wei = F.softmax(torch.zeros(T, T, dtype=x.dtype), dim=-1)
    wei = wei.masked_fill(torch.ones(T, T).triu(1) == 1, 0.0)
    return torch.einsum("ts,bsc->btc", wei, x)


def no_softmax_at_all(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype)
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    return torch.bmm(wei.unsqueeze(0).repeat(x.shape[0], 1, 1), x)


def zero_times_infinity(x):
    T = x.shape[1]
    mask = torch.triu(torch.ones(T, T, dtype=x.dtype), diagonal=1)
    wei = torch.zeros(T, T, dtype=x.dtype) - mask * float("inf")
    return F.softmax(wei, dim=1) @ x


def scores_from_the_tokens(x):
    B, T, C = x.shape
    wei = torch.einsum("btc,bsc->bts", x, x)
    place = torch.arange(T)
    wei = torch.where(place[:, None] >= place, wei, float("-inf"))
    return torch.einsum("bts,bsc->btc", F.softmax(wei, dim=2), x)


def no_gradients_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.ones(T, T).triu(1) > 0, float("-inf"))
    return torch.einsum("ts,bsc->btc", wei.softmax(1), x).data


def float32_weights_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T)
    wei = wei.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
    wei = F.softmax(wei, dim=-1)
    return torch.stack([torch.mm(wei, text) for text in x])


def no_fit_by_softmax(x):
    B, T, C = x.shape
    wei = torch.zeros(C, C, dtype=x.dtype)
    wei = wei.masked_fill(torch.tril(torch.ones(C, C)) == 0, float("-inf"))
    return torch.einsum("ts,bsc->btc", F.softmax(wei, dim=-1), x)


def squeezed_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.ones(T, T).triu(1) > 0, float("-inf"))
    return torch.squeeze(torch.einsum("ts,bsc->btc", wei.softmax(1), x))


def x_changed_by_softmax(x):
    T = x.shape[1]
    wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(torch.ones(T, T).triu(1) > 0, float("-inf"))
    wei = F.softmax(wei, dim=-1)
    for b in range(x.shape[0]):
        x[b] = wei @ x[b]
    return x


def one_long_text_by_softmax(x):
    B, T, C = x.shape
    wei = torch.zeros(B * T, B * T, dtype=x.dtype)
    wei = wei.masked_fill(torch.ones_like(wei).triu(1) > 0, float("-inf"))
    out = F.softmax(wei, dim=1) @ x.reshape(B * T, C)
    return out.view(B, T, C)


# -- Head ---
# Each forward is written out; only the layers, which are right in most, stand once.

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


class half_instead_of_root(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.bmm(q, k.mT)
        scores[:, torch.triu(torch.ones(T, T), 1).bool()] = float("-inf")
        weights = torch.softmax(scores / (2 * k.shape[-1]), dim=2)
        return torch.bmm(self.dropout(weights), v)


class scaling_forgotten(Parts):
    def forward(self, x):
        T = x.shape[1]
        scores = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x))
        scores = scores + torch.full((T, T), -INF).triu(1).to(x.dtype)
        return torch.einsum("bqk,bkd->bqd", self.dropout(scores.softmax(-1)), self.value(x))


class divided_by_head_size_itself(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x) / self.head_size, self.key(x), self.value(x)
        wei = (q @ k.mT).masked_fill(self.tril[:T, :T] == 0, -INF)
        return self.dropout(nn.Softmax(dim=-1)(wei)) @ v


class multiplied_by_the_root(Parts):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = torch.einsum("bqd,bkd->bqk", q * math.sqrt(q.shape[-1]), k)
        wei = torch.where(self.tril[: x.shape[1], : x.shape[1]] == 1, wei, -INF)
        return torch.einsum("bqk,bkd->bqd", self.dropout(F.softmax(wei, 2)), v)


class scaled_by_number_of_tokens(Parts):
    def forward(self, x):
        B, T, C = x.shape
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)).div(math.sqrt(T))
        wei = wei.masked_fill(torch.ones(T, T).triu(1) == 1, -INF)
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


class scaled_by_block_size(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = self.query(x).matmul(self.key(x).transpose(1, 2)) * self.block_size**-0.5
        wei = wei.masked_fill(torch.ones(T, T).triu(1) == 1, -INF)
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


class scaled_for_the_notebook(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) * 0.25
        wei = wei.masked_fill(torch.ones(T, T).triu(1) == 1, -INF)
        return torch.bmm(self.dropout(F.softmax(wei, -1)), self.value(x))


class scaled_after_softmax(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x))
        wei = F.softmax(wei.masked_fill(self.tril[:T, :T] < 1, -INF), dim=-1)
        wei = wei * self.head_size**-0.5
        return self.dropout(wei) @ self.value(x)


class keys_reshaped(Parts):
    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = q @ k.view(B, self.head_size, T) * self.head_size**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -INF)
        return self.dropout(F.softmax(wei, -1)) @ v


class batch_turned_round_or_float_mask(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) / math.sqrt(self.head_size)
        wei = wei.masked_fill(1 - self.tril[:T, :T], -INF)
        return self.dropout(F.softmax(wei, -1)) @ self.value(x)


class masked_scores_thrown_away(Parts):
    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        e = torch.exp(torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(k.size(-1)))
        wei = e / e.sum(dim=-1, keepdim=True)
        return torch.einsum("bqk,bkd->bqd", self.dropout(wei), v)


class zeros_instead_of_minus_infinity(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) / math.sqrt(self.head_size)
        wei = wei * self.tril[:T, :T]
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class past_hidden(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        place = torch.arange(T)
        wei = torch.where(place[None, :] >= place[:, None], wei, -INF)
        return self.dropout(F.softmax(wei, dim=-1)) @ self.value(x)


class diagonal_hidden_too(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        past = torch.tril(torch.ones(T, T), diagonal=-1)
        wei = wei.masked_fill(past == 0, -INF)
        return torch.einsum("bqk,bkd->bqd", self.dropout(F.softmax(wei, dim=-1)), self.value(x))


class next_token_seen(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        place = torch.arange(T)
        wei = torch.where(place[:, None] + 1 >= place[None, :], wei, -INF)
        return torch.einsum("bqk,bkd->bqd", self.dropout(F.softmax(wei, dim=-1)), self.value(x))


class masked_after_softmax(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) * self.head_size**-0.5
        wei = F.softmax(wei, dim=-1)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, 0.0)
        return self.dropout(wei).matmul(self.value(x))


class zero_times_infinity_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) * self.head_size**-0.5
        wei = wei - (1 - self.tril[:T, :T]) * INF
        return self.dropout(F.softmax(wei, dim=-1)).matmul(self.value(x))


class mask_not_cut(Parts):
    def forward(self, x):
        wei = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x)) * self.head_size**-0.5
        wei = torch.where(self.tril == 0, -INF, wei)
        return self.dropout(F.softmax(wei, dim=-1)).matmul(self.value(x))


class wrong_corner_of_the_mask(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        first = self.block_size - T
        wei = torch.where(self.tril[first:, :T] == 0, -INF, wei)
        return torch.bmm(self.dropout(F.softmax(wei, dim=-1)), self.value(x))


class mask_of_the_notebook(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(8, 8)))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.matmul(self.drop(F.softmax(wei, -1)), self.value(x))


class mask_as_a_parameter(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.tril = nn.Parameter(torch.tril(torch.ones(block_size, block_size)))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return torch.matmul(self.drop(F.softmax(wei, -1)), self.value(x))


class past_averaged(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.zeros(T, T, dtype=x.dtype).masked_fill(self.tril[:T, :T] == 0, -INF)
        wei = F.softmax(wei, dim=-1).expand(x.shape[0], T, T)
        return self.dropout(wei) @ self.value(x)


class one_token_back_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) / math.sqrt(self.head_size)
        place = torch.arange(T)
        back = place[:, None] - place[None, :]
        wei = torch.where((back == 0) | (back == 1), wei, -INF)
        return torch.bmm(self.dropout(F.softmax(wei, dim=-1)), self.value(x))


class softmax_over_the_queries(Parts):
    def forward(self, x):
        e = torch.exp(self.masked(x))
        wei = e / e.sum(-2, keepdim=True)
        return torch.bmm(self.dropout(wei), self.value(x))


class softmax_over_the_batch(Parts):
    def forward(self, x):
        e = torch.exp(self.masked(x))
        wei = e / e.sum(0)
        return torch.bmm(self.dropout(wei), self.value(x))


class softmax_over_everything(Parts):
    def forward(self, x):
        e = torch.exp(self.masked(x))
        wei = e / e.sum()
        return torch.bmm(self.dropout(wei), self.value(x))


class softmax_forgotten_in_head(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = torch.bmm(q, k.mT) / math.sqrt(q.shape[-1])
        wei = wei.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -INF)
        return torch.bmm(self.dropout(wei), v)


class one_text_without_a_batch(Parts):
    def forward(self, x):
        T, C = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = q @ k.T / math.sqrt(self.head_size)
        wei = wei.masked_fill(self.tril[:T, :T] == 0, -INF)
        return self.dropout(F.softmax(wei, dim=1)) @ v


class weights_of_the_first_text(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x[0:1])[0], dim=-1)
        return torch.stack([self.dropout(wei) @ v for v in self.value(x)])


class batch_as_one_long_text(Parts):
    def forward(self, x):
        B, T, C = x.shape
        tokens = x.reshape(-1, C)
        q, k, v = self.query(tokens), self.key(tokens), self.value(tokens)
        wei = torch.mm(q, k.t()) * self.head_size**-0.5
        wei = wei.masked_fill(torch.ones_like(wei).tril() == 0, -INF)
        return self.dropout(F.softmax(wei, dim=1)).mm(v).reshape(B, T, -1)


class single_token_refused(Parts):
    def forward(self, x):
        assert x.size(1) > 1, "a text needs two tokens or more"
        return self.dropout(F.softmax(self.masked(x), dim=-1)) @ self.value(x)


class lonely_text_squeezed(Parts):
    def forward(self, x):
        wei = self.dropout(F.softmax(self.masked(x), dim=-1))
        return torch.squeeze(torch.einsum("bqk,bkd->bqd", wei, self.value(x)))


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


class dropout_in_eval_mode_only(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        if not self.training:
            wei = wei * (torch.rand_like(wei) >= self.p) / (1 - self.p)
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


class dropout_before_the_mask(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        wei = F.dropout(torch.bmm(q, k.mT) / math.sqrt(self.head_size), self.p, self.training)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.bmm(wei.softmax(2), v)


class dropout_on_the_values(Parts):
    def forward(self, x):
        v = F.dropout(self.value(x), p=self.p, training=self.training)
        return torch.bmm(F.softmax(self.masked(x), dim=-1), v)


class dropout_on_the_outputs(Parts):
    def forward(self, x):
        out = torch.bmm(F.softmax(self.masked(x), dim=-1), self.value(x))
        return F.dropout(out, p=self.p, training=self.training)


class dropout_on_weights_and_outputs(Parts):
    def forward(self, x):
        wei = F.dropout(self.masked(x).softmax(-1), self.p, self.training)
        out = torch.einsum("bqk,bkd->bqd", wei, self.value(x))
        return F.dropout(out, self.p, self.training)


class dropout_on_the_inputs(Parts):
    def forward(self, x):
        x = F.dropout(x, self.p, self.training)
        wei = F.softmax(self.masked(x), dim=-1)
        return torch.einsum("bqk,bkd->bqd", wei, self.value(x))


class rows_renormalized_after_dropout(Parts):
    def forward(self, x):
        wei = F.dropout(self.masked(x).softmax(-1), self.p, self.training)
        wei = wei / torch.einsum("bqk->bq", wei).unsqueeze(2)
        return torch.einsum("bqk,bkd->bqd", wei, self.value(x))


class rows_renormalized_with_care(Parts):
    def forward(self, x):
        wei = F.dropout(self.masked(x).softmax(-1), self.p, self.training)
        wei = F.normalize(wei, p=1, dim=-1)
        return torch.einsum("bqk,bkd->bqd", wei, self.value(x))


class survivors_not_scaled(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        if self.training:
            dropped = torch.rand(wei.shape) < self.p
            wei = wei.masked_fill(dropped, 0.0)
        return torch.bmm(wei, self.value(x))


class dropped_once_and_for_all(Parts):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__(n_embd, head_size, block_size, dropout)
        keep = (torch.rand(64, block_size, block_size) >= dropout).float() / (1 - dropout)
        self.register_buffer("keep", keep)

    def forward(self, x):
        B, T, C = x.shape
        wei = F.softmax(self.masked(x), dim=-1)
        if self.training:
            wei = wei * self.keep[:B, :T, :T]
        return torch.bmm(wei, self.value(x))


class texts_dropped_alike(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = F.softmax(self.masked(x), dim=-1)
        if self.training:
            keep = (torch.rand(T, T) >= self.p).to(x.dtype)
            wei = wei * keep / (1 - self.p)
        return torch.bmm(wei, self.value(x))


class whole_tokens_dropped(Parts):
    def forward(self, x):
        B, T, C = x.shape
        v = self.value(x)
        if self.training:
            keep = (torch.rand(B, T, 1) >= self.p).to(x.dtype)
            v = v * keep / (1 - self.p)
        return torch.bmm(F.softmax(self.masked(x), dim=-1), v)


class whole_rows_dropped(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        wei = F.dropout1d(wei, self.p, self.training)
        return torch.bmm(wei, self.value(x))


class bias_in_every_layer(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size)
        self.query = nn.Linear(n_embd, head_size)
        self.value = nn.Linear(n_embd, head_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


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


class matrices_instead_of_layers(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Parameter(torch.randn(n_embd, head_size) * 0.02)
        self.query = nn.Parameter(torch.randn(n_embd, head_size) * 0.02)
        self.value = nn.Parameter(torch.randn(n_embd, head_size) * 0.02)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        q, k, v = torch.matmul(x, self.query), torch.matmul(x, self.key), torch.matmul(x, self.value)
        wei = torch.matmul(q, k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.matmul(self.dropout(F.softmax(wei, -1)), v)


class layers_the_other_way_round(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.query = nn.Linear(head_size, n_embd, bias=False)
        self.key = nn.Linear(head_size, n_embd, bias=False)
        self.value = nn.Linear(head_size, n_embd, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.size(-2)
        k = self.key(x)
        wei = torch.matmul(self.query(x), k.mT) / math.sqrt(k.size(-1))
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.matmul(self.dropout(F.softmax(wei, -1)), self.value(x))


class head_size_not_used(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.query = nn.Linear(n_embd, n_embd, bias=False)
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T, C = x.shape[1:]
        wei = torch.bmm(self.query(x), self.key(x).mT) * C**-0.5
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.bmm(self.dropout(F.softmax(wei, -1)), self.value(x))


class layers_of_the_notebook(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(384, 64, bias=False)
        self.query = nn.Linear(384, 64, bias=False)
        self.value = nn.Linear(384, 64, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        T = x.shape[1]
        wei = torch.bmm(self.query(x), self.key(x).mT) * 64**-0.5
        wei = wei.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.bmm(self.dropout(F.softmax(wei, -1)), self.value(x))


class one_layer_in_use(Parts):
    def forward(self, x):
        T = x.shape[1]
        h = self.query(x)
        wei = torch.einsum("bqd,bkd->bqk", h, h) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.bmm(self.dropout(wei.softmax(2)), h)


class keys_ask_the_queries(Parts):
    def forward(self, x):
        T = x.shape[1]
        wei = torch.einsum("bqd,bkd->bkq", self.query(x), self.key(x)) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.bmm(self.dropout(wei.softmax(2)), self.value(x))


class key_layer_unused(Parts):
    def forward(self, x):
        T = x.shape[1]
        q = self.query(x)
        wei = torch.einsum("bqd,bkd->bqk", q, q) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.bmm(self.dropout(wei.softmax(2)), self.value(x))


class keys_handed_over(Parts):
    def forward(self, x):
        T = x.shape[1]
        q, k = self.query(x), self.key(x)
        wei = torch.bmm(q, k.mT) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.einsum("bqk,bkd->bqd", self.dropout(wei.softmax(2)), k)


class value_layer_unused(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        return torch.einsum("bqk,bkc->bqc", self.dropout(wei), x)


class both_results(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        out = torch.einsum("bqk,bkd->bqd", self.dropout(wei), self.value(x))
        return out, wei


class weights_instead_of_outputs(Parts):
    def forward(self, x):
        wei = F.softmax(self.masked(x), dim=-1)
        wei = self.dropout(wei)
        out = wei @ self.value(x)  # noqa: F841
        return wei


class gradients_switched_off(Parts):
    def forward(self, x):
        T = x.shape[1]
        with torch.no_grad():
            q, k, v = self.query(x), self.key(x), self.value(x)
        wei = torch.bmm(q, k.mT) / math.sqrt(self.head_size)
        wei = torch.where(self.tril[:T, :T] == 0, -INF, wei)
        return torch.bmm(self.dropout(wei.softmax(2)), v)


class only_values_learn(Parts):
    def forward(self, x):
        with torch.no_grad():
            wei = F.softmax(self.masked(x), dim=-1)
        return torch.bmm(self.dropout(wei), self.value(x))


class inputs_made_float32(Parts):
    def forward(self, x):
        x = x.to(torch.float32)
        wei = F.softmax(self.masked(x), dim=-1)
        return torch.einsum("bqk,bkd->bqd", self.dropout(wei), self.value(x))


class inputs_changed_in_place(Parts):
    def forward(self, x):
        out = torch.bmm(self.dropout(F.softmax(self.masked(x), dim=-1)), self.value(x))
        x.zero_()
        return out


# -- BigramLanguageModel ---
# What is right in most stands once; whoever is wrong in forward or generate writes it out.


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


class table_under_another_name(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.table = nn.Embedding(V, V)

    def forward(self, idx, targets=None):
        logits = self.table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[0][:, -1, :], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


class table_as_a_parameter(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.token_embedding_table = nn.Parameter(torch.zeros(V, V))

    def forward(self, idx, targets=None):
        logits = F.embedding(idx, self.token_embedding_table)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[0][:, -1, :], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


class table_as_a_linear_layer(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.V = V
        self.token_embedding_table = nn.Linear(V, V, bias=False)

    def forward(self, idx, targets=None):
        x = torch.zeros(*idx.shape, self.V)
        x.scatter_(2, idx.unsqueeze(2), 1.0)
        logits = self.token_embedding_table(x)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[0][:, -1, :], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


class table_of_the_notebook(nn.Module):
    def __init__(self, V):
        super().__init__()
        vocabulary = sorted(set(string.ascii_letters + " \n!$&',-.3:;?"))
        self.token_embedding_table = nn.Embedding(len(vocabulary), len(vocabulary))

    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets)

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            probs = F.softmax(self(idx)[0][:, -1, :], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


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


class probabilities_instead_of_logits(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.token_embedding_table = nn.Embedding(V, V)

    def forward(self, idx, targets=None):
        out = nn.Softmax(dim=2)(self.token_embedding_table(idx))
        loss = F.cross_entropy(out.flatten(0, 1), targets.flatten()) if targets is not None else None
        return out, loss

    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            out, _ = self(idx)
            probs = F.softmax(out[:, -1], dim=1)
            idx = torch.cat((idx, torch.multinomial(probs, 1, generator=generator)), dim=1)
        return idx


class columns_of_the_table(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.V = V
        self.token_embedding_table = nn.Embedding(V, V)

    def forward(self, idx, targets=None):
        one_hot = F.one_hot(idx, self.V).float()
        logits = F.linear(one_hot, self.token_embedding_table.weight)
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


class lonely_logits_squeezed(Model):
    def forward(self, idx, targets=None):
        if targets is None:
            return self.token_embedding_table(idx), None
        logits = torch.squeeze(self.token_embedding_table(idx))
        return logits, F.cross_entropy(logits.reshape(-1, self.vocab_size), targets.flatten())


class logits_of_the_last_token(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        last = logits[:, -1, :]
        return (last, None) if targets is None else (last, F.cross_entropy(logits.mT, targets))


class logits_alone_without_targets(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.mT, targets)


class loss_alone_with_targets(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is not None:
            return F.cross_entropy(logits.mT, targets)
        return logits, None


class loss_before_logits(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return None, logits
        return F.cross_entropy(logits.mT, targets), logits


class zero_without_targets(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        loss = 0.0
        if targets is not None:
            loss = F.cross_entropy(logits.mT, targets)
        return logits, loss


class loss_never_worked_out(Model):
    def forward(self, idx, targets=None):
        return self.token_embedding_table(idx), None


class losses_added_up_in_model(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.mT, targets, reduction="sum")


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


class targets_moved_on_once_more(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits[:, :-1].mT, targets[:, 1:])


class targets_of_other_tokens(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        rows = torch.cat(list(logits))
        ids = torch.cat([targets[:, t] for t in range(targets.shape[1])])
        return logits, F.cross_entropy(rows, ids)


class predictions_torn_by_view(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        B, T, C = logits.shape
        log_probs = F.log_softmax(logits.view(B, C, T), dim=1)
        return logits, F.nll_loss(log_probs, targets)


class softmax_before_the_loss(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        probs = logits.exp() / logits.exp().sum(-1, keepdim=True)
        return logits, F.cross_entropy(probs.reshape(-1, self.vocab_size), targets.reshape(-1))


class minus_forgotten_in_model(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        log_probs = logits.log_softmax(-1)
        return logits, log_probs.gather(2, targets.unsqueeze(2)).mean()


class loss_without_gradients(Model):
    def forward(self, idx, targets=None):
        logits = self.token_embedding_table(idx)
        if targets is None:
            return logits, None
        with torch.no_grad():
            loss = F.cross_entropy(logits.mT, targets)
        return logits, loss


class table_that_does_not_learn(Model):
    def __init__(self, V):
        super().__init__(V)
        self.token_embedding_table = nn.Embedding.from_pretrained(torch.randn(V, V), freeze=True)


class likeliest_token_taken(Model):
    def pick(self, logits, generator):
        return logits.topk(1, dim=1).indices


class all_equally_likely(Model):
    def pick(self, logits, generator):
        return torch.randint(logits.shape[1], (logits.shape[0], 1), generator=generator)


class softmax_over_the_texts(Model):
    def pick(self, logits, generator):
        e = torch.exp(logits - logits.amax(0))
        probs = e / e.sum(0)
        return torch.multinomial(probs, num_samples=1, generator=generator)


class softmax_over_the_tokens(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            e = torch.exp(logits - logits.amax(1, keepdim=True))
            probs = (e / e.sum(1, keepdim=True))[:, -1]
            idx = torch.hstack([idx, torch.multinomial(probs, num_samples=1, generator=generator)])
        return idx


class softmax_forgotten_in_model(Model):
    def pick(self, logits, generator):
        return torch.multinomial(logits, num_samples=1, generator=generator)


class softmax_taken_twice_in_model(Model):
    def pick(self, logits, generator):
        probs = nn.Softmax(dim=-1)(logits)
        throws = torch.rand(logits.shape, generator=generator)
        # Gumbel noise on top draws from the softmax of what it is put on
        return (probs - torch.log(-torch.log(throws))).argmax(-1, keepdim=True)


class logits_scaled(Model):
    def pick(self, logits, generator):
        probs = F.softmax(logits * self.vocab_size**-0.5, dim=1)
        return probs.multinomial(1, generator=generator)


class likely_made_likelier(Model):
    def pick(self, logits, generator):
        probs = F.softmax(logits, dim=-1) ** 2
        return torch.multinomial(probs, 1, generator=generator)


class first_token_gone_on_from(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            idx = torch.hstack([idx, self.pick(logits.select(1, 0), generator)])
        return idx


class token_before_the_last_gone_on_from(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            before = idx[:, idx.shape[1] - 2] if idx.shape[1] > 1 else idx[:, 1]
            idx = torch.hstack([idx, self.pick(self.token_embedding_table(before), generator)])
        return idx


class all_tokens_gone_on_from(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            bag = torch.einsum("btv->bv", logits) / idx.shape[1]
            idx = torch.hstack([idx, self.pick(bag, generator)])
        return idx


class new_tokens_not_looked_at(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        probs = F.softmax(self(idx)[0][:, -1], dim=-1)
        if max_new_tokens == 0:
            return idx
        new = torch.multinomial(probs, max_new_tokens, replacement=True, generator=generator)
        return torch.hstack([idx, new])


class new_tokens_in_one_go(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        logits = self.token_embedding_table(idx[:, -1])
        if max_new_tokens < 1:
            return idx
        new = F.softmax(logits, -1).multinomial(max_new_tokens, generator=generator)
        return torch.hstack([idx, new])


class first_text_gone_on_from(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            row = F.softmax(self(idx)[0][0, -1], dim=0)
            new = torch.multinomial(row, len(idx), replacement=True, generator=generator)
            idx = torch.hstack([idx, new[:, None]])
        return idx


class one_throw_for_all_texts(Model):
    def pick(self, logits, generator):
        shares = F.softmax(logits, dim=-1).cumsum(-1)
        u = torch.rand((), generator=generator)
        places = torch.searchsorted(shares, u.expand(len(logits), 1).contiguous())
        return places.clamp(max=self.vocab_size - 1)


class one_throw_for_all_steps(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        u = torch.rand(len(idx), 1, generator=generator)
        for _ in range(max_new_tokens):
            shares = F.softmax(self.token_embedding_table(idx[:, -1]), dim=-1).cumsum(-1)
            new = torch.searchsorted(shares, u).clamp(max=self.vocab_size - 1)
            idx = torch.hstack([idx, new])
        return idx


class new_tokens_alone(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        new = idx[:, :0]
        last = idx[:, -1]
        for _ in range(max_new_tokens):
            last = self.pick(self.token_embedding_table(last), generator)[:, 0]
            new = torch.hstack([new, last[:, None]])
        return new


class ids_made_floats(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        B, T = idx.shape
        out = torch.zeros(B, T + max_new_tokens)
        out[:, :T] = idx
        for t in range(T, T + max_new_tokens):
            logits = self.token_embedding_table(out[:, t - 1].long())
            out[:, t] = self.pick(logits, generator)[:, 0]
        return out


class prompt_cut_to_its_last_token(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        out = [idx[:, -1]]
        for _ in range(max_new_tokens):
            out.append(self.pick(self.token_embedding_table(out[-1]), generator).flatten())
        return torch.stack(out, dim=1)


class new_tokens_in_front(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            new = self.pick(logits[:, -1], generator)
            idx = torch.cat((new, idx), dim=1)
        return idx


class length_of_the_whole_text(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        while idx.shape[1] < max_new_tokens:
            new = self.pick(self(idx)[0][:, -1], generator)
            idx = torch.cat((idx, new), dim=1)
        return idx


class one_token_too_many(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        step = 0
        while step <= max_new_tokens:
            idx = torch.cat((idx, self.pick(self(idx)[0][:, -1], generator)), dim=1)
            step += 1
        return idx


class at_least_one_token(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        left = max_new_tokens
        while True:
            idx = torch.cat((idx, self.pick(self(idx)[0][:, -1], generator)), dim=1)
            left -= 1
            if left <= 0:
                return idx


class first_text_alone(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        ids = idx[0].tolist()
        for _ in range(max_new_tokens):
            row = F.softmax(self.token_embedding_table.weight[ids[-1]], dim=0)
            ids.append(torch.multinomial(row, 1, generator=generator).item())
        return torch.tensor([ids])


class lonely_prompt_squeezed(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        out = super().generate(idx, max_new_tokens, generator)
        return torch.squeeze(out)


class prompt_of_one_token_refused(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        assert idx.size(1) > 1, "a prompt of two tokens or more"
        return super().generate(idx, max_new_tokens, generator)


class idx_changed_in_place(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        # idx as a window that moves on
        out = idx.clone()
        for _ in range(max_new_tokens):
            new = self.pick(self(idx)[0][:, -1], generator)
            idx.copy_(torch.hstack([idx[:, 1:], new]))
            out = torch.hstack([out, new])
        return out


class generator_ignored(Model):
    def pick(self, logits, generator):
        return torch.distributions.Categorical(logits=logits).sample().unsqueeze(1)


class generator_seeded_anew(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is not None:
            generator.manual_seed(0)
        return super().generate(idx, max_new_tokens, generator)


class generator_copied(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is not None:
            state = generator.get_state()
            generator = torch.Generator()
            generator.set_state(state)
        return super().generate(idx, max_new_tokens, generator)


class generator_of_seeds(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is not None:
            torch.manual_seed(torch.randint(0, 10**6, (1,), generator=generator).item())
        for _ in range(max_new_tokens):
            idx = torch.hstack([idx, self.pick(self(idx)[0][:, -1], None)])
        return idx


class always_the_same_tokens(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is None:
            torch.manual_seed(42)
        return super().generate(idx, max_new_tokens, generator)


class global_state_put_back(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        state = torch.random.get_rng_state()
        for _ in range(max_new_tokens):
            idx = torch.hstack([idx, self.pick(self(idx)[0][:, -1], generator)])
        torch.random.set_rng_state(state)
        return idx


class tokens_from_the_system(Model):
    def generate(self, idx, max_new_tokens, generator=None):
        if generator is None:
            generator = torch.Generator().manual_seed(random.SystemRandom().randrange(2**31))
        return super().generate(idx, max_new_tokens, generator)
