"""Misconceptions of the capstone: wrong answers that learners give, each with a sentence that helps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grader.testing.misconceptions import misconception, replace, row

# Code that several rows replace.
SUM = "self.token_embedding(idx) + self.position_embedding(positions)"
POSITIONS = "torch.arange(idx.shape[1], device=idx.device)"
BLOCKS = "stack_blocks(make_block, num_blocks)"
MULTI_HEAD = "MultiHeadAttention(emb_dim, emb_dim, context_length, dropout, num_heads)"
OUTPUT = "nn.Linear(emb_dim, vocab_size, bias=False)"
WINDOW = "idx[:, -context_length:]"
TOKEN = "torch.multinomial(probabilities, 1, generator=generator)"
LOOP = "for _ in range(max_new_tokens):"
BELOW, COUNTED = "(probabilities.cumsum(-1) < ", ").sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)"

# Replaced by substitutes if a student's answer to them is wrong.
PARTS = ["MultiHeadAttention", "LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks"]
CALLS = {"SmallGPT": PARTS}

# fmt: off
ROWS = [
    # SmallGPT: the parts
    row("SmallGPT", "names_of_the_book",
        replace("self.token_embedding", "self.tok_emb", times=2)
        .replace("self.position_embedding", "self.pos_emb", times=2)
        .replace("self.blocks", "self.trf_blocks", times=2)
        .replace("self.output", "self.out_head", times=2),
        "The parts have the names of a well-known book: tok_emb, pos_emb, trf_blocks and out_head. Other code looks "
        "for them by name, so use the names of the rules."),
    row("SmallGPT", "names_of_gpt2",
        replace("self.token_embedding", "self.wte", times=2)
        .replace("self.position_embedding", "self.wpe", times=2)
        .replace("self.blocks", "self.h", times=2)
        .replace("self.final_norm", "self.ln_f", times=2)
        .replace("self.output", "self.lm_head", times=2),
        "The parts have the names of GPT-2's own code: wte, wpe, h, ln_f and lm_head. Other code looks for them by "
        "name, so use the names of the rules."),
    row("SmallGPT", "norm_under_another_name", replace("self.final_norm", "self.norm", times=2),
        "The last norm has another name. Other code looks for it by name, so call it final_norm."),
    row("SmallGPT", "tokens_as_a_parameter",
        replace("nn.Embedding(vocab_size, emb_dim)", "nn.Parameter(torch.randn(vocab_size, emb_dim))")
        .replace("self.token_embedding(idx)", "self.token_embedding[idx]"),
        "token_embedding is a plain nn.Parameter. It would work, but the rule asks for an nn.Embedding, the module "
        "that looks up rows by their ids."),
    row("SmallGPT", "positions_as_a_parameter",
        replace("nn.Embedding(context_length, emb_dim)", "nn.Parameter(torch.zeros(context_length, emb_dim))")
        .replace("self.position_embedding(positions)", "self.position_embedding[positions]"),
        "position_embedding is a plain nn.Parameter. It would work, but the rule asks for an nn.Embedding, the "
        "module that looks up rows by their positions."),
    row("SmallGPT", "positions_of_the_vocabulary",
        replace("nn.Embedding(context_length, emb_dim)", "nn.Embedding(vocab_size, emb_dim)"),
        "position_embedding has a row for each token of the vocabulary. It needs one for each position: "
        "context_length rows."),
    row("SmallGPT", "tokens_of_the_context",
        replace("nn.Embedding(vocab_size, emb_dim)", "nn.Embedding(context_length, emb_dim)"),
        "token_embedding has a row for each position. It needs one for each token of the vocabulary: vocab_size "
        "rows, and position_embedding has context_length rows."),
    row("SmallGPT", "tables_exchanged",
        replace("nn.Embedding(vocab_size, emb_dim)", "nn.Embedding(other, emb_dim)")
        .replace("nn.Embedding(context_length, emb_dim)", "nn.Embedding(vocab_size, emb_dim)")
        .replace("nn.Embedding(other, emb_dim)", "nn.Embedding(context_length, emb_dim)"),
        "The sizes of the two tables are swapped. token_embedding has a row for each of the vocab_size tokens, and "
        "position_embedding a row for each of the context_length positions."),
    row("SmallGPT", "bias_of_the_output", replace(", bias=False", ""),
        "The output layer has a bias. The rule asks for none, as in GPT-2: `bias=False`."),
    row("SmallGPT", "output_of_the_wrong_width", replace(OUTPUT, "nn.Linear(emb_dim, emb_dim, bias=False)"),
        "The output layer gives emb_dim numbers for each token. It should give a score for each of the vocab_size "
        "tokens that may come next."),
    row("SmallGPT", "output_tied_to_the_tokens",
        replace(OUTPUT, f"{OUTPUT}\n        self.output.weight = self.token_embedding.weight"),
        "The output layer shares its matrix with the token embedding, as in GPT-2. Here each has its own."),
    row("SmallGPT", "one_block_used_again",
        replace(BLOCKS, "nn.Sequential(*[make_block()] * num_blocks)"),
        "The same block is used num_blocks times, so all of them share their weights. Make a new block in each call."),
    row("SmallGPT", "attention_shared_by_the_blocks",
        replace("\n        def make_block", f"\n        attention = {MULTI_HEAD}\n\n        def make_block")
        .replace(f"            attention = {MULTI_HEAD}\n", ""),
        "The attention is made once, outside make_block, so all blocks share its weights. Make it inside, anew in "
        "each call."),
    row("SmallGPT", "feed_forward_shared_by_the_blocks",
        replace("\n        def make_block", "\n        feed_forward = FeedForward(emb_dim)\n\n        def make_block")
        .replace("attention, FeedForward(emb_dim)", "attention, feed_forward"),
        "The feed-forward is made once, outside make_block, so all blocks share its weights. Make it inside, anew in "
        "each call."),
    row("SmallGPT", "one_block_only", replace(BLOCKS, "make_block()"),
        "There is only one block. The model has num_blocks of them, one after the other."),
    row("SmallGPT", "blocks_in_a_plain_list",
        replace(BLOCKS, "[make_block() for _ in range(num_blocks)]")
        .replace("x = self.final_norm(self.blocks(x))",
                 "for block in self.blocks:\n            x = block(x)\n        x = self.final_norm(x)"),
        "The blocks are in a plain Python list, so the model does not find their parameters and they would never "
        "learn. Use stack_blocks, nn.Sequential or nn.ModuleList."),
    row("SmallGPT", "bias_for_queries_keys_and_values", replace("dropout, num_heads)", "dropout, num_heads, True)"),
        "Queries, keys and values have a bias, as in GPT-2. The rule asks for none, which is the default of "
        "MultiHeadAttention."),
    row("SmallGPT", "narrow_feed_forward", replace("FeedForward(emb_dim)", "FeedForward(emb_dim, 1)"),
        "The hidden layer of the feed-forward is as wide as a token. It should have 4 · emb_dim numbers, the default "
        "of FeedForward."),
    row("SmallGPT", "one_head_only", replace("dropout, num_heads)", "dropout, 1)"),
        "The attention has one head, whatever num_heads is. Give num_heads to MultiHeadAttention."),
    row("SmallGPT", "two_heads_only", replace("dropout, num_heads)", "dropout, 2)"),
        "The attention has two heads, whatever num_heads is. Give num_heads to MultiHeadAttention."),
    row("SmallGPT", "four_heads_only", replace("dropout, num_heads)", "dropout, 4)"),
        "The attention has four heads, as in the text, whatever num_heads is. Give num_heads to MultiHeadAttention."),
    row("SmallGPT", "two_blocks_only", replace("(make_block, num_blocks)", "(make_block, 2)"),
        "There are two blocks, as in the text, whatever num_blocks is. Give num_blocks to stack_blocks."),
    row("SmallGPT", "heads_and_blocks_exchanged",
        replace("dropout, num_heads)", "dropout, num_blocks)")
        .replace("(make_block, num_blocks)", "(make_block, num_heads)"),
        "num_heads and num_blocks are swapped: num_heads divides the features in attention, and num_blocks blocks "
        "are stacked."),
    row("SmallGPT", "no_feed_forward",
        replace("attention, FeedForward(emb_dim)", "attention, nn.Identity()"),
        "The blocks have no feed-forward. Each block has two modules: attention and FeedForward(emb_dim)."),
    # SmallGPT: the logits
    row("SmallGPT", "no_positions", replace(SUM, "self.token_embedding(idx)"),
        "The positions are missing: only the tokens go into the blocks, so the model hardly knows their order. Add "
        "the position embedding before the blocks."),
    row("SmallGPT", "waves_for_positions",
        replace("self.position_embedding(positions)",
                "torch.sin(positions[:, None] / 10000 ** (torch.arange(self.output.in_features)"
                " / self.output.in_features))"),
        "The positions are waves, as in unit 5, which are not learned. Here each position has a row of "
        "position_embedding."),
    row("SmallGPT", "positions_of_the_whole_context",
        replace(POSITIONS, "torch.arange(self.position_embedding.num_embeddings, device=idx.device)"),
        "The rows of all context_length positions are added. A text of T tokens needs only the rows 0 to T - 1: "
        "shorter texts end in an error or get too many rows."),
    row("SmallGPT", "positions_from_one",
        replace(POSITIONS, f"{POSITIONS}.add(1).clamp(max=self.position_embedding.num_embeddings - 1)"),
        "The positions are counted from one. The first token has position 0, and a text of context_length tokens "
        "needs the rows 0 to context_length - 1."),
    row("SmallGPT", "positions_from_one_beyond_the_table", replace(POSITIONS, f"{POSITIONS} + 1"),
        "The positions are counted from one, so a text of context_length tokens needs a row that does not exist. The "
        "first token has position 0."),
    row("SmallGPT", "positions_from_the_end",
        replace(POSITIONS, f"{POSITIONS}.flip(0)"),
        "The positions are counted from the end, so the last token has position 0. Count from the beginning: "
        "`torch.arange(T)`."),
    row("SmallGPT", "last_positions_taken",
        replace(POSITIONS, f"{POSITIONS}.add(self.position_embedding.num_embeddings - idx.shape[1])"),
        "A shorter text gets the last rows of position_embedding. The first token of each text has position 0: "
        "`torch.arange(T)`."),
    row("SmallGPT", "positions_of_the_texts",
        replace(POSITIONS, "torch.arange(idx.shape[0], device=idx.device)[:, None]"),
        "The position is the number of the text in the batch: `idx.shape[0]` is the number of texts. Take the number "
        "of tokens, the second size."),
    row("SmallGPT", "one_position_for_all", replace(POSITIONS, "torch.zeros_like(idx[0])"),
        "All tokens get the same row of position_embedding. Each token needs the row of its own position: "
        "`torch.arange(T)`."),
    row("SmallGPT", "ids_as_positions",
        replace("self.position_embedding(positions)",
                "self.position_embedding(idx.clamp(max=self.position_embedding.num_embeddings - 1))"),
        "The position embedding looks up the ids of the tokens, and not their positions. The rows that it needs are "
        "0 to T - 1, whatever the tokens are."),
    row("SmallGPT", "positions_after_the_blocks",
        replace(SUM, "self.token_embedding(idx)")
        .replace("self.blocks(x)", "self.blocks(x) + self.position_embedding(positions)"),
        "The positions are added after the blocks. Attention inside the blocks needs them: add them before."),
    row("SmallGPT", "tokens_times_positions", replace(" + self.position", " * self.position"),
        "The rows of tokens and positions are multiplied. Add them."),
    row("SmallGPT", "tokens_scaled",
        replace("x = self.token_embedding(idx)", "x = self.token_embedding(idx) * self.output.in_features**0.5"),
        "The token embeddings are multiplied by the root of emb_dim, as in the Transformer of 2017. GPT-2 adds the "
        "rows without change."),
    row("SmallGPT", "norm_before_the_blocks",
        replace("self.final_norm(self.blocks(x))", "self.blocks(self.final_norm(x))"),
        "The final norm is applied before the blocks. It belongs after them: nothing else normalises what the last "
        "block gives."),
    row("SmallGPT", "no_final_norm", replace("self.final_norm(self.blocks(x))", "self.blocks(x)"),
        "The final norm is not used. In pre-norm nothing has normalised the output of the last block: apply "
        "final_norm before the output layer."),
    row("SmallGPT", "blocks_not_used", replace("self.blocks(x)", "x"),
        "The blocks are made but not used. Without them no token gets information from another one."),
    row("SmallGPT", "softmax_in_the_model",
        replace("return self.output(x)", "return torch.softmax(self.output(x), dim=-1)"),
        "The model returns probabilities: there is a softmax after the output layer. Return the logits. The loss and "
        "generate_text do the softmax themselves."),
    row("SmallGPT", "logarithms_in_the_model",
        replace("return self.output(x)", "return torch.log_softmax(self.output(x), dim=-1)"),
        "The model returns logarithms of probabilities: there is a log-softmax after the output layer. Return the "
        "logits themselves."),
    row("SmallGPT", "activation_before_the_output",
        replace("self.output(x)", "self.output(torch.relu(x))"),
        "There is an activation between the final norm and the output layer. Nothing is between them."),
    row("SmallGPT", "logits_of_the_last_token_only",
        replace("return self.output(x)", "return self.output(x[:, -1])"),
        "Only the logits of the last token are returned. The loss needs those of all tokens: (B, T, V)."),
    row("SmallGPT", "flat_logits", replace("return self.output(x)", "return self.output(x).flatten(0, 1)"),
        "The logits are flat, (B · T, V). Return (B, T, V): the caller can flatten them for the loss."),
    row("SmallGPT", "logits_with_a_loss", replace("return self.output(x)", "return self.output(x), None"),
        "The model returns two results, as the bigram model of unit 6. Here it returns only the logits."),
    row("SmallGPT", "features_instead_of_logits", replace("return self.output(x)", "return x"),
        "The output layer is not used: the model returns features, (B, T, emb_dim). Apply output to them."),
    row("SmallGPT", "tokens_averaged",
        replace("self.output(x)", "self.output(x.mean(dim=1, keepdim=True).expand_as(x))"),
        "The tokens of a text are averaged before the output layer, so all have the same logits, which depend on "
        "later tokens. Each token has its own logits."),
    row("SmallGPT", "first_text_for_all",
        replace("self.token_embedding(idx)", "self.token_embedding(idx[:1].expand_as(idx))"),
        "All texts get the logits of the first one. Each text of the batch is computed separately."),
    row("SmallGPT", "long_texts_accepted",
        replace("positions =", "idx = idx[:, -self.position_embedding.num_embeddings :]\n        positions ="),
        "A text with more than context_length tokens has logits: it is cut, or positions are used twice. The model "
        "should raise an error, and generate_text cuts the text before the call."),
    row("SmallGPT", "lonely_text_squeezed", replace("return self.output(x)", "return self.output(x).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single text, or texts of one token, lose a dimension. "
        "Logits are always (B, T, V)."),
    row("SmallGPT", "texts_of_full_length_only",
        replace("positions =",
                "assert idx.shape[1] == self.position_embedding.num_embeddings\n        positions ="),
        "Only texts of exactly context_length tokens are accepted. Shorter ones, down to one token, should work too."),
    # SmallGPT: dropout
    row("SmallGPT", "blocks_drop_nothing",
        replace("FeedForward(emb_dim), emb_dim, dropout)", "FeedForward(emb_dim), emb_dim, 0.0)"),
        "In training the blocks drop nothing. Give dropout to each block, and not only to the attention or to the "
        "sum of the embeddings: a block drops numbers of what its two modules give."),
    row("SmallGPT", "dropout_always_a_tenth",
        replace("context_length, dropout, num_heads", "context_length, 0.1, num_heads")
        .replace("emb_dim, dropout)", "emb_dim, 0.1)"),
        "dropout is always 0.1 and ignores the argument. Give the argument to the attention and to the block."),
    row("SmallGPT", "more_dropped_than_allowed",
        replace("return self.output(x)", "return self.output(nn.functional.dropout(x, self.rate, self.training))")
        .replace("self.final_norm =", "self.rate = dropout\n        self.final_norm ="),
        "In training more numbers are dropped than `dropout` says. Perhaps some are dropped in another place too, such "
        "as after the final norm, between the blocks or inside the feed-forward: drop only what the rule allows."),
    row("SmallGPT", "dropped_in_eval_mode_too",
        replace("self.blocks(x)", "self.blocks(nn.functional.dropout(x, self.rate))")
        .replace("self.final_norm =", "self.rate = dropout\n        self.final_norm ="),
        "Numbers are dropped in eval mode too. `nn.functional.dropout` drops always unless you pass "
        "`training=self.training`; an nn.Dropout that is made in `__init__` knows the mode."),
    # SmallGPT: gradients
    row("SmallGPT", "logits_detached", replace("return self.output(x)", "return self.output(x).detach()"),
        "The logits are cut off from the gradients, for example by `.detach()`, `.data` or `torch.no_grad()`. So no "
        "part of the model could learn."),
    row("SmallGPT", "embeddings_detached",
        replace("x = self.final_norm", "x = x.detach()\n        x = self.final_norm"),
        "The sum of the embeddings is cut off from the gradients, so the two tables could not learn."),
    row("SmallGPT", "blocks_without_gradients",
        replace("x = self.final_norm(self.blocks(x))",
                "with torch.no_grad():\n            more = self.blocks(x) - x\n        x = self.final_norm(x + more)"),
        "The blocks run without gradients, for example because of `.detach()` or `torch.no_grad()`. Then they could "
        "not learn."),
    row("SmallGPT", "positions_do_not_learn",
        replace("nn.Embedding(context_length, emb_dim)", "nn.Embedding(context_length, emb_dim).requires_grad_(False)"),
        "The position embedding requires no gradients, so its random rows never change. GPT-2 learns its positions."),
    # generate_text: the text
    row("generate_text", "texts_averaged",
        replace("torch.softmax(logits[:, -1], dim=-1)",
                "torch.softmax(logits[:, -1], dim=-1).mean(0, keepdim=True).expand(len(idx), -1)"),
        "The probabilities of all texts are averaged, so each text gets the tokens of the others. Draw from its own."),
    row("generate_text", "new_tokens_alone",
        replace("return idx", "return idx[:, idx.shape[1] - max_new_tokens :]"),
        "Only the new tokens are returned. The text begins with its prompt: `torch.cat` joins them."),
    row("generate_text", "text_cut_to_the_context",
        replace(f"model({WINDOW})", "model(idx)").replace(LOOP, f"{LOOP}\n            idx = {WINDOW}"),
        "The text itself is cut to the last context_length tokens, and the beginning is lost. Cut only what the "
        "model gets, and give it another name."),
    row("generate_text", "ids_made_floats", replace("return idx", "return idx.float()"),
        "The ids are floats, perhaps from a `torch.zeros` tensor. Only integers can be looked up: use the dtype of "
        "idx, or `torch.cat`."),
    row("generate_text", "new_tokens_thrown_away", replace("idx = torch.cat", "torch.cat"),
        "The result is only the prompt: drawn tokens are not kept. `torch.cat` changes none of its arguments, so "
        "assign the longer text that it returns."),
    row("generate_text", "newest_token_alone", replace("idx = torch.cat([idx, new], dim=1)", "idx = new"),
        "Only the newest token is kept: it replaces the text at every step. The result should be the whole prompt "
        "and then all new tokens."),
    row("generate_text", "new_tokens_in_front", replace("[idx, new]", "[new, idx]"),
        "The new tokens are put before the prompt. Put them at the end. `torch.cat` keeps the order of its list."),
    row("generate_text", "new_tokens_as_new_texts", replace("dim=1)", "dim=0)"),
        "The new tokens are put below the texts, as new rows of the batch. They belong at the end of their own text, "
        "along dim 1."),
    row("generate_text", "returned_in_the_loop", replace("    return idx", "            return idx"),
        "There is only one new token, as with a `return` inside the loop. Move the return out of the loop."),
    row("generate_text", "one_token_too_few", replace("range(max_new_tokens)", "range(1, max_new_tokens)"),
        "There is one new token too few. A loop from 1 to max_new_tokens leaves out one step: count from 0."),
    row("generate_text", "length_of_the_whole_text",
        replace("range(max_new_tokens)", "range(max_new_tokens - idx.shape[1])"),
        "max_new_tokens is used as the length of the whole text. It is only the number of new tokens, without the "
        "prompt."),
    row("generate_text", "at_least_one_token", replace("range(max_new_tokens)", "range(max(1, max_new_tokens))"),
        "At least one token is drawn, even if none is asked for. Check max_new_tokens before the first draw, as a "
        "`for` loop does."),
    row("generate_text", "first_text_alone", replace(LOOP, f"idx = idx[:1]\n        {LOOP}"),
        "Only the first text is continued. The function takes a batch, and continues each of its texts."),
    row("generate_text", "lonely_prompt_squeezed", replace("return idx", "return idx.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a prompt of one text, or of one token, loses its shape."),
    row("generate_text", "prompt_of_one_token_refused",
        replace(LOOP, f"assert idx.shape[1] > 1\n        {LOOP}"),
        "A prompt of a single token raises an error. It is the usual start of a new text."),
    row("generate_text", "texts_cut_instead_of_tokens", replace(WINDOW, "idx[-context_length:]"),
        "The last context_length texts are taken, and not the last tokens: the first index of idx is the text, and the "
        "second one the token."),
    # generate_text: what the model gets
    row("generate_text", "text_not_cut", replace(WINDOW, "idx"),
        "The model gets the whole text. Your GPT has only context_length positions: give it the last tokens only."),
    row("generate_text", "first_tokens_taken", replace(WINDOW, "idx[:, :context_length]"),
        "The model gets the first context_length tokens, so after some steps it does not see the newest ones. Take "
        "the last tokens, with a minus."),
    row("generate_text", "one_token_less_taken", replace(WINDOW, "idx[:, -context_length + 1 :]"),
        "The model gets one token less than it could: the last context_length - 1. Take context_length tokens."),
    row("generate_text", "one_token_more_taken", replace(WINDOW, "idx[:, -context_length - 1 :]"),
        "The model gets one token more than context_length. It has no position for it."),
    row("generate_text", "last_token_alone_taken", replace(WINDOW, "idx[:, -1:]"),
        "The model gets only the last token, which is enough for a bigram model. Attention needs the tokens before "
        "it: give it the last context_length tokens."),
    row("generate_text", "newest_token_left_out_of_the_context",
        replace(WINDOW, "idx[:, -context_length - 1 : -1] if idx.shape[1] > context_length else idx"),
        "In a long text the model does not get the newest token. The last context_length tokens include it."),
    row("generate_text", "cut_in_steps_of_the_context",
        replace(WINDOW, "idx[:, (idx.shape[1] - 1) // context_length * context_length :]"),
        "The text is cut into pieces of context_length tokens, and the model gets the last piece. Then it sometimes "
        "gets a single token. Take the last context_length tokens at every step."),
    row("generate_text", "prompt_only_looked_at",
        replace(LOOP, f"prompt = idx\n        {LOOP}").replace(WINDOW, "prompt[:, -context_length:]"),
        "All new tokens are drawn from the prompt's last token. But each new token changes the next probabilities: "
        "put it at the end of the text before you call the model again."),
    # generate_text: the draw
    row("generate_text", "likeliest_token_taken", replace(TOKEN, "probabilities.argmax(dim=-1, keepdim=True)"),
        "The most likely token is always taken, and nothing is drawn. Such a text soon repeats itself: draw with "
        "`torch.multinomial`."),
    row("generate_text", "first_token_gone_on_from", replace("logits[:, -1]", "logits[:, 0]"),
        "The draw uses the logits of the first token. The next token there is already known. Use the logits of the "
        "last token."),
    row("generate_text", "token_before_the_last_gone_on_from", replace("logits[:, -1]", "logits[:, -2]"),
        "The draw uses the logits of the token before the last. The next token there is the last token itself. Use "
        "the logits of the last token."),
    row("generate_text", "all_tokens_gone_on_from", replace("logits[:, -1]", "logits.mean(dim=1)"),
        "The logits of all tokens of a text are averaged. Use only those of the last token."),
    row("generate_text", "last_token_not_chosen", replace("logits[:, -1], dim", "logits, dim"),
        "The function ends in an error. If it comes from the draw: that takes a matrix, so choose the last token's "
        "logits first, (B, T, V) to (B, V). If it comes from `cat`: the new tokens are (B, 1)."),
    row("generate_text", "pair_expected", replace("logits = model", "logits, _ = model"),
        "The function expects two results of the model, as in unit 6. Here the model returns only the logits."),
    row("generate_text", "softmax_over_the_texts", replace("dim=-1", "dim=0"),
        "Softmax runs over the texts (dim=0), so the probabilities of one text depend on the others. They should sum "
        "to one over the V kinds: dim=-1."),
    row("generate_text", "softmax_over_the_tokens", replace("logits[:, -1], dim=-1)", "logits, dim=1)[:, -1]"),
        "Softmax runs over the tokens of the text (dim=1), before the last one is chosen. The probabilities should "
        "sum to one over the V kinds: dim=-1."),
    row("generate_text", "softmax_forgotten", replace("torch.softmax(logits[:, -1], dim=-1)", "logits[:, -1]"),
        "The logits are used for the draw directly. They are not probabilities, and some are negative: apply softmax "
        "first."),
    row("generate_text", "softmax_taken_twice", replace("dim=-1)", "dim=-1).softmax(dim=-1)"),
        "Softmax is applied twice, to the logits and to the probabilities. The second one makes them nearly equal, "
        "so unlikely tokens are drawn far too often."),
    row("generate_text", "likely_made_likelier", replace("logits[:, -1]", "2 * logits[:, -1]"),
        "The likely tokens are drawn too often: probabilities were squared, or logits multiplied, or divided by a "
        "temperature below one. Draw with the softmax of the unchanged logits."),
    row("generate_text", "unlikely_tokens_left_out",
        replace("logits[:, -1]", "logits[:, -1].masked_fill("
                "logits[:, -1] < logits[:, -1].topk(min(10, logits.shape[-1])).values[:, -1:], -torch.inf)"),
        "The least likely tokens are never drawn, as with top-k or top-p. Draw with the softmax of all logits: then "
        "they are drawn too, but rarely."),
    row("generate_text", "all_equally_likely",
        replace("torch.softmax(logits[:, -1], dim=-1)", "torch.ones_like(logits[:, -1])"),
        "All tokens are equally likely, whatever the logits are. Draw with the probabilities from the softmax of the "
        "logits."),
    row("generate_text", "first_text_gone_on_from", replace("dim=-1)", "dim=-1)[:1].expand(len(idx), -1)"),
        "Every text uses the probabilities of the first text. Each text has its own last token."),
    row("generate_text", "one_throw_for_all_texts",
        replace(TOKEN, f"{BELOW}torch.rand(1, 1, generator=generator){COUNTED}"),
        "One random number decides for all texts, so texts with the same prompt continue in the same way. Draw each "
        "text independently, as `torch.multinomial` does for each row."),
    row("generate_text", "one_throw_for_all_steps",
        replace(LOOP, f"throws = torch.rand(len(idx), 1, generator=generator)\n        {LOOP}")
        .replace(TOKEN, f"{BELOW}throws{COUNTED}"),
        "The same random number decides at every step: the state is set again each time, or the number is drawn only "
        "once. Draw each new token independently."),
    # generate_text: generators
    row("generate_text", "generator_ignored", replace(", generator=generator", ""),
        "The generator is not used. Pass it on to the draw, as `generator=generator`."),
    row("generate_text", "no_generator_taken",
        replace("    generator: torch.Generator | None = None,\n", "").replace(", generator=generator", ""),
        "A call with a generator ends in an error, because the function does not take one. Keep the argument of the "
        "stub, and pass it on to the draw."),
    row("generate_text", "generator_seeded_anew",
        replace(LOOP, f"generator = generator.manual_seed(123) if generator else None\n        {LOOP}"),
        "The code sets the seed of the generator before it draws, so the state of the generator is lost. The caller "
        "decides about the state."),
    row("generate_text", "generator_copied",
        replace(LOOP, "generator = torch.Generator().manual_seed(generator.initial_seed()) if generator else None\n"
                      f"        {LOOP}"),
        "The code makes a second generator from the seed of the first, so the first does not advance. Draw from the "
        "generator that was passed in."),
    row("generate_text", "always_the_same_tokens",
        replace(LOOP, f"generator = generator or torch.Generator()\n        {LOOP}"),
        "Without a generator every call draws the same, as if the code set a seed or made a generator with a fixed "
        "start. None means torch's global generator in its current state."),
    row("generate_text", "global_state_put_back",
        replace(LOOP, f"state = torch.get_rng_state()\n        {LOOP}")
        .replace("return idx", "torch.set_rng_state(state)\n    return idx"),
        "The code restores the global state after the draw, so the next call draws the same again. Each draw should "
        "advance the state."),
    # generate_text: what is left as it was
    row("generate_text", "left_in_eval_mode",
        replace("with torch.no_grad():", "model.eval()\n    with torch.no_grad():"),
        "The function calls `model.eval()` and leaves the model in eval mode. A caller who goes on with training "
        "would train without dropout: restore the mode, or leave it to the caller."),
    row("generate_text", "left_in_training_mode",
        replace("with torch.no_grad():", "model.eval()\n    with torch.no_grad():")
        .replace("return idx", "model.train()\n    return idx"),
        "The function always ends with `model.train()`, so a model in eval mode is in training mode after it. "
        "Remember `model.training` before, and restore that."),
    row("generate_text", "idx_changed_in_place",
        replace(LOOP, f"prompt = idx\n        {LOOP}")
        .replace("return idx", "prompt[:] = idx[:, -prompt.shape[1] :]\n    return idx"),
        "The caller's idx was changed. Methods with an underscore and `idx[…] = …` change the tensor itself; "
        "`torch.cat` makes a new one."),
]
# fmt: on


class Unmasked(nn.Module):
    """Attention with several heads in which each token sees all others."""

    def __init__(self, emb_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(emb_dim, emb_dim, bias=False) for _ in range(3))
        self.out_proj = nn.Linear(emb_dim, emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        layers = self.W_query, self.W_key, self.W_value
        # (B, T, C) -> (B, T, H, head_dim) -> (B, H, T, head_dim)
        queries, keys, values = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for layer in layers)
        attended = nn.functional.scaled_dot_product_attention(queries, keys, values)  # (B, H, T, head_dim)
        return self.out_proj(attended.transpose(1, 2).flatten(-2))


class UnmaskedBlock(nn.Module):
    """A pre-norm block with this attention."""

    def __init__(self, emb_dim: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.attention = Unmasked(emb_dim, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(emb_dim, 4 * emb_dim), nn.ReLU(), nn.Linear(4 * emb_dim, emb_dim))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


@misconception(
    "SmallGPT",
    "Tokens see later ones: the attention of the blocks has no causal mask. Then the model reads the token that it "
    "should predict.",
)
class mask_missing(nn.Module):
    def __init__(
        self, vocab_size: int, context_length: int, emb_dim: int, num_heads: int, num_blocks: int, dropout: float
    ) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, emb_dim)
        self.position_embedding = nn.Embedding(context_length, emb_dim)
        self.blocks = nn.Sequential(*(UnmaskedBlock(emb_dim, num_heads, dropout) for _ in range(num_blocks)))
        self.final_norm = nn.LayerNorm(emb_dim)
        self.output = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, idx: Tensor) -> Tensor:
        x = self.token_embedding(idx) + self.position_embedding(torch.arange(idx.shape[1]))
        return self.output(self.final_norm(self.blocks(x)))
