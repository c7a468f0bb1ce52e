"""Paraphrases of the capstone: the same wrong ideas as the misconceptions, in other code and under the same names."""

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- SmallGPT ----------------------------------------------------------------------------------------------------
# The base class is right; each wrong answer overrides a part of it.


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, bias=False):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.q = nn.Linear(width, width, bias=bias)
        self.k = nn.Linear(width, width, bias=bias)
        self.v = nn.Linear(width, width, bias=bias)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (layer(x).view(B, T, self.heads, C // self.heads).transpose(1, 2) for layer in (self.q, self.k, self.v))
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Layer(nn.Module):
    def __init__(self, width, attention, network, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.network, self.drop = attention, network, nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.ln_1(x)))
        return x + self.drop(self.network(self.ln_2(x)))


def network(width, times=4):
    return nn.Sequential(nn.Linear(width, times * width), nn.ReLU(), nn.Linear(times * width, width))


class GPT(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.context_length, self.emb_dim = context_length, emb_dim
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = nn.Sequential(*self.layers(emb_dim, num_heads, num_blocks, dropout))
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def layers(self, width, heads, count, dropout):
        return [Layer(width, Attention(width, heads, dropout), network(width), dropout) for _ in range(count)]

    def embedded(self, idx):
        T = idx.size(1)
        return self.token_embedding(idx) + self.position_embedding.weight[torch.arange(T)]

    def forward(self, idx):
        return self.output(self.final_norm(self.blocks(self.embedded(idx))))


class more_dropped_than_allowed(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout)
        self.drop = nn.Dropout(dropout)

    def forward(self, idx):
        x = self.embedded(idx)
        for block in self.blocks:
            x = self.drop(block(x))
        return self.output(self.final_norm(x))


class names_of_gpt2(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, emb_dim)
        self.wpe = nn.Embedding(context_length, emb_dim)
        self.h = nn.ModuleList(
            Layer(emb_dim, Attention(emb_dim, num_heads, dropout), network(emb_dim), dropout) for _ in range(num_blocks)
        )
        self.ln_f = nn.LayerNorm(emb_dim)
        self.lm_head = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class names_of_the_book(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, emb_dim)
        self.pos_emb = nn.Embedding(context_length, emb_dim)
        self.trf_blocks = nn.Sequential(
            *[
                Layer(emb_dim, Attention(emb_dim, num_heads, dropout), network(emb_dim), dropout)
                for _ in range(num_blocks)
            ]
        )
        self.final_norm = nn.LayerNorm(emb_dim)
        self.out_head = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, in_idx):
        x = self.tok_emb(in_idx) + self.pos_emb(torch.arange(in_idx.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


class norm_under_another_name(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.ln_final = self.final_norm
        del self.final_norm

    def forward(self, idx):
        return self.output(self.ln_final(self.blocks(self.embedded(idx))))


class bias_of_the_output(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, *others):
        super().__init__(vocab_size, context_length, emb_dim, *others)
        self.output = nn.Linear(emb_dim, vocab_size)


class output_tied_to_the_tokens(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.token_embedding.weight = self.output.weight


class one_block_used_again(GPT):
    def layers(self, width, heads, count, dropout):
        [one] = super().layers(width, heads, 1, dropout)
        return [one for _ in range(count)]


class attention_shared_by_the_blocks(GPT):
    def layers(self, width, heads, count, dropout):
        attention = Attention(width, heads, dropout)
        return [Layer(width, attention, network(width), dropout) for _ in range(count)]


class feed_forward_shared_by_the_blocks(GPT):
    def layers(self, width, heads, count, dropout):
        shared = network(width)
        return [Layer(width, Attention(width, heads, dropout), shared, dropout) for _ in range(count)]


class blocks_in_a_plain_list(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout)
        del self.blocks
        self.blocks = []
        for layer in self.layers(emb_dim, num_heads, num_blocks, dropout):
            self.blocks.append(layer)

    def forward(self, idx):
        x = self.embedded(idx)
        for block in self.blocks:
            x = block(x)
        return self.output(self.final_norm(x))


class bias_for_queries_keys_and_values(GPT):
    def layers(self, width, heads, count, dropout):
        return [Layer(width, Attention(width, heads, dropout, True), network(width), dropout) for _ in range(count)]


class one_head_only(GPT):
    def layers(self, width, heads, count, dropout):
        return super().layers(width, 1, count, dropout)


class two_heads_only(GPT):
    def layers(self, width, heads, count, dropout):
        return super().layers(width, 2, count, dropout)


class four_heads_only(GPT):
    def layers(self, width, heads, count, dropout):
        assert width % 4 == 0
        return super().layers(width, 4, count, dropout)


class two_blocks_only(GPT):
    def layers(self, width, heads, count, dropout):
        return super().layers(width, heads, 2, dropout)


class narrow_feed_forward(GPT):
    def layers(self, width, heads, count, dropout):
        return [Layer(width, Attention(width, heads, dropout), network(width, 1), dropout) for _ in range(count)]


class no_positions(GPT):
    def embedded(self, idx):
        assert idx.shape[1] <= self.context_length
        return F.embedding(idx, self.token_embedding.weight)


class positions_of_the_whole_context(GPT):
    def embedded(self, idx):
        return self.token_embedding(idx) + self.position_embedding.weight


class positions_from_one_beyond_the_table(GPT):
    def embedded(self, idx):
        return self.token_embedding(idx) + self.position_embedding(torch.arange(1, idx.shape[1] + 1))


class positions_from_the_end(GPT):
    def embedded(self, idx):
        T = idx.shape[1]
        return self.token_embedding(idx) + self.position_embedding(torch.arange(T - 1, -1, -1))


class last_positions_taken(GPT):
    def embedded(self, idx):
        return self.token_embedding(idx) + self.position_embedding.weight[-idx.shape[1] :]


class one_position_for_all(GPT):
    def embedded(self, idx):
        assert idx.shape[1] <= self.context_length
        return self.token_embedding(idx) + self.position_embedding.weight[0]


class positions_after_the_blocks(GPT):
    def forward(self, idx):
        x = self.blocks(self.token_embedding(idx))
        x = x + self.position_embedding(torch.arange(idx.shape[1]))
        return self.output(self.final_norm(x))


class tokens_times_positions(GPT):
    def embedded(self, idx):
        rows = self.position_embedding.weight[: idx.shape[1]]
        return torch.einsum("btc,tc->btc", self.token_embedding(idx), rows)


class tokens_scaled(GPT):
    def embedded(self, idx):
        return super().embedded(idx) + (self.emb_dim**0.5 - 1) * self.token_embedding(idx)


class norm_before_the_blocks(GPT):
    def forward(self, idx):
        x = self.final_norm(self.embedded(idx))
        for block in self.blocks:
            x = block(x)
        return self.output(x)


class no_final_norm(GPT):
    def forward(self, idx):
        x = self.blocks(self.embedded(idx))
        return F.linear(x, self.output.weight)


class blocks_not_used(GPT):
    def forward(self, idx):
        return self.output(self.final_norm(self.embedded(idx)))


class softmax_in_the_model(GPT):
    def forward(self, idx):
        e = super().forward(idx).exp()
        return e / e.sum(-1, keepdim=True)


class logarithms_in_the_model(GPT):
    def forward(self, idx):
        logits = super().forward(idx)
        return logits - logits.logsumexp(-1, keepdim=True)


class activation_before_the_output(GPT):
    def forward(self, idx):
        return self.output(self.final_norm(self.blocks(self.embedded(idx))).clamp(min=0))


class logits_of_the_last_token_only(GPT):
    def forward(self, idx):
        return super().forward(idx)[:, -1, :]


class flat_logits(GPT):
    def forward(self, idx):
        logits = super().forward(idx)
        B, T, V = logits.shape
        return logits.view(B * T, V)


class logits_with_a_loss(GPT):
    def forward(self, idx, targets=None):
        logits = super().forward(idx)
        loss = None if targets is None else F.cross_entropy(logits.mT, targets)
        return logits, loss


class features_instead_of_logits(GPT):
    def forward(self, idx):
        return self.final_norm(self.blocks(self.embedded(idx)))


class mask_missing(GPT):
    def forward(self, idx):
        x = self.embedded(idx)
        for block in self.blocks:
            attention, n = block.attention, block.ln_1(x)
            B, T, C = n.shape
            split = lambda layer: layer(n).view(B, T, attention.heads, -1).transpose(1, 2)  # noqa: B023
            q, k, v = split(attention.q), split(attention.k), split(attention.v)
            weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
            x = x + block.drop(attention.proj((weights @ v).transpose(1, 2).reshape(B, T, C)))
            x = x + block.drop(block.network(block.ln_2(x)))
        return self.output(self.final_norm(x))


class long_texts_accepted(GPT):
    def embedded(self, idx):
        places = torch.arange(idx.shape[1]).clamp(max=self.context_length - 1)
        return self.token_embedding(idx) + self.position_embedding(places)


class long_texts_accepted__cut(GPT):
    def forward(self, idx):
        if idx.shape[1] > self.context_length:
            idx = idx[:, : self.context_length]
        return super().forward(idx)


class lonely_text_squeezed(GPT):
    def forward(self, idx):
        return torch.squeeze(super().forward(idx))


class blocks_drop_nothing(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, 0.0)
        self.drop = nn.Dropout(dropout)

    def embedded(self, idx):
        return self.drop(super().embedded(idx))


class blocks_drop_nothing__never(GPT):
    def __init__(self, vocab_size, context_length, emb_dim, num_heads, num_blocks, dropout=0.0):
        super().__init__(vocab_size, context_length, emb_dim, num_heads, num_blocks, 0.0)


class dropout_always_a_tenth(GPT):
    def layers(self, width, heads, count, dropout):
        return super().layers(width, heads, count, 0.1)


class dropped_in_eval_mode_too(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.p = sizes[-1]

    def embedded(self, idx):
        return F.dropout(super().embedded(idx), self.p)


class logits_detached(GPT):
    @torch.no_grad()
    def forward(self, idx):
        return super().forward(idx)


class embeddings_detached(GPT):
    def embedded(self, idx):
        with torch.no_grad():
            return super().embedded(idx)


class positions_do_not_learn(GPT):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.position_embedding.weight.requires_grad = False


# -- generate_text -----------------------------------------------------------------------------------------------


def drawn(logits, generator=None):
    """(B, V) to (B, 1)."""
    e = torch.exp(logits - logits.amax(-1, keepdim=True))
    return (e / e.sum(-1, keepdim=True)).multinomial(num_samples=1, generator=generator)


def new_tokens_alone(model, idx, max_new_tokens, context_length, generator=None):
    new = []
    for _ in range(max_new_tokens):
        one = drawn(model(idx[:, -context_length:])[:, -1], generator)
        new.append(one)
        idx = torch.hstack([idx, one])
    return torch.cat(new, dim=1) if new else idx[:, :0]


def text_cut_to_the_context(model, idx, max_new_tokens, context_length, generator=None):
    while max_new_tokens > 0:
        if idx.shape[1] > context_length:
            idx = idx[:, -context_length:]
        idx = torch.hstack([idx, drawn(model(idx)[:, -1], generator)])
        max_new_tokens -= 1
    return idx


def new_tokens_thrown_away(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        new = drawn(model(idx[:, -context_length:])[:, -1, :], generator)
        torch.hstack([idx, new])
    return idx


def newest_token_alone(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = drawn(model(idx[:, -context_length:])[:, -1, :], generator)
    return idx


def text_not_cut(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx)[:, -1, :], generator)])
    return idx


def first_tokens_taken(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        window = idx if idx.shape[1] <= context_length else idx[:, :context_length]
        idx = torch.hstack([idx, drawn(model(window)[:, -1, :], generator)])
    return idx


def one_token_more_taken(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        start = max(0, idx.shape[1] - context_length - 1)
        idx = torch.hstack([idx, drawn(model(idx[:, start:])[:, -1, :], generator)])
    return idx


def one_token_less_taken(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        start = max(0, idx.shape[1] + 1 - context_length)
        idx = torch.hstack([idx, drawn(model(idx[:, start:])[:, -1, :], generator)])
    return idx


def last_token_alone_taken(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, [-1]])[:, 0], generator)])
    return idx


def prompt_only_looked_at(model, idx, max_new_tokens, context_length, generator=None):
    logits = model(idx[:, -context_length:])[:, -1]
    new = [drawn(logits, generator) for _ in range(max_new_tokens)]
    return torch.cat([idx, *new], dim=1)


def likeliest_token_taken(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        best = model(idx[:, -context_length:])[:, -1].max(dim=-1, keepdim=True).indices
        idx = torch.hstack([idx, best])
    return idx


def first_token_gone_on_from(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_length:]).select(1, 0)
        idx = torch.hstack([idx, drawn(logits, generator)])
    return idx


def all_tokens_gone_on_from(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_length:])
        idx = torch.hstack([idx, drawn(logits.sum(1) / logits.shape[1], generator)])
    return idx


def softmax_forgotten(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        new = model(idx[:, -context_length:])[:, -1].multinomial(1, generator=generator)
        idx = torch.hstack([idx, new])
    return idx


def softmax_taken_twice(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx[:, -context_length:])[:, -1], dim=-1)
        idx = torch.hstack([idx, drawn(probabilities, generator)])
    return idx


def softmax_over_the_texts(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        new = nn.Softmax(dim=0)(model(idx[:, -context_length:])[:, -1]).multinomial(1, generator=generator)
        idx = torch.hstack([idx, new])
    return idx


def likely_made_likelier(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_length:])[:, -1] / 0.5
        idx = torch.hstack([idx, drawn(logits, generator)])
    return idx


def unlikely_tokens_left_out(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        likely, tokens = F.softmax(model(idx[:, -context_length:])[:, -1], dim=-1).sort(descending=True)
        likely[likely.cumsum(dim=-1) - likely > 0.9] = 0  # top-p
        idx = torch.cat([idx, tokens.gather(1, torch.multinomial(likely, 1, generator=generator))], dim=1)
    return idx


def last_token_not_chosen(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        probabilities = F.softmax(model(idx[:, -context_length:]), dim=-1)
        idx = torch.cat((idx, torch.multinomial(probabilities, num_samples=1, generator=generator)), dim=1)
    return idx


def new_tokens_as_new_texts(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = torch.vstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    return idx


def first_text_alone(model, idx, max_new_tokens, context_length, generator=None):
    text = idx[0].unsqueeze(0)
    for _ in range(max_new_tokens):
        text = torch.hstack([text, drawn(model(text[:, -context_length:])[:, -1], generator)])
    return text


def lonely_prompt_squeezed(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    return torch.squeeze(idx)


def ids_made_floats(model, idx, max_new_tokens, context_length, generator=None):
    text = torch.zeros(len(idx), idx.shape[1] + max_new_tokens)
    text[:, : idx.shape[1]] = idx
    for end in range(idx.shape[1], text.shape[1]):
        logits = model(text[:, max(0, end - context_length) : end].long())[:, -1]
        text[:, end] = drawn(logits, generator)[:, 0]
    return text


def at_least_one_token(model, idx, max_new_tokens, context_length, generator=None):
    while True:
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
        max_new_tokens -= 1
        if max_new_tokens <= 0:
            return idx


def one_token_too_few(model, idx, max_new_tokens, context_length, generator=None):
    while max_new_tokens > 1:
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
        max_new_tokens -= 1
    return idx


def generator_ignored(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1])])
    return idx


def no_generator_taken(model, idx, max_new_tokens, context_length):
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1])])
    return idx


def generator_seeded_anew(model, idx, max_new_tokens, context_length, generator=None):
    if generator is not None:
        generator.manual_seed(42)
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    return idx


def always_the_same_tokens(model, idx, max_new_tokens, context_length, generator=None):
    if generator is None:
        torch.manual_seed(0)
    for _ in range(max_new_tokens):
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    return idx


def left_in_eval_mode(model, idx, max_new_tokens, context_length, generator=None):
    model.train(False)
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    return idx


def left_in_training_mode(model, idx, max_new_tokens, context_length, generator=None):
    for _ in range(max_new_tokens):
        model.eval()
        idx = torch.hstack([idx, drawn(model(idx[:, -context_length:])[:, -1], generator)])
    model.train()
    return idx


def idx_changed_in_place(model, idx, max_new_tokens, context_length, generator=None):
    text = idx
    for _ in range(max_new_tokens):
        text = torch.hstack([text, drawn(model(text[:, -context_length:])[:, -1], generator)])
    idx.copy_(text[:, -idx.shape[1] :])
    return text
