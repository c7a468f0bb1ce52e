"""Unit 3: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in a function and in the module, the module's has more words.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

HALF = (
    "Python evaluates `/` and `*` from left to right: `/ d_k*0.5` divides by d_k and then multiplies by 0.5. A square "
    "root is a power, `d_k**0.5`."
)
UNSCALED = (
    "The scores are not scaled. The wider the queries and keys, the wilder their dot products; divided by the square "
    "root of that width they keep a variance near 1, and softmax stays gentle."
)
TWENTIETH_ROOT = (
    "The root is mistyped: the power .05 is a twentieth root, which hardly divides at all. A square root is the power "
    "0.5, or `math.sqrt`."
)
NO_ROOT = (
    "The scores are divided by the width itself. Their standard deviation is its square root, so that is what brings "
    "it to 1."
)
SCALED_LATE = (
    "The weights are divided after softmax, and no longer sum to one. It is the scores, before softmax, that are too "
    "wild."
)
THROWN_AWAY = (
    "The future is still seen: what was masked was thrown away. `masked_fill` without an underscore gives a new "
    "tensor; use what it gives."
)
ZEROS = (
    "The future's scores are set to zero (or multiplied by a mask of zeros and ones). Zero is a score like any other, "
    "exp of it is one, and so the future has weight. Minus infinity has none."
)
UPSIDE_DOWN = (
    "The mask is upside down: the past is hidden and the future is seen. Hide what stands above the diagonal, where "
    "the column comes after the row."
)
TEN_THOUSAND = (
    "What hides the future is a number such as -10,000, which other scores may reach: then the future has weight. "
    "Minus infinity, or a number as low as -1e9, is below all of them."
)
SELF_HIDDEN = (
    "The diagonal is hidden too, so a token does not see itself. The first one then sees nothing, and a softmax over "
    "nothing but minus infinities gives NaN."
)
NEXT_SEEN = (
    "The next token is still seen: the mask begins one place too late. The future begins right beside the diagonal."
)
MASKED_LATE = (
    "The future is set to zero after the softmax, and nothing more. Its scores have already taken their part: the rows "
    "do not sum to one, and they change with the future."
)
WRONG_DIM = (
    "Softmax runs over the queries: the columns sum to one, not the rows. Each token shares its own attention among "
    "what it sees, and that lies along the last dim."
)
WHOLE_TENSOR = (
    "Softmax runs over all scores at once, so that all tokens share one attention between them. Each has a whole one "
    "to give: softmax over the last dim."
)

# fmt: off
ROWS = [
    # causal_mask
    row("causal_mask", "past_marked", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The past is marked instead of the future. A row belongs to the token that asks, and what comes after it "
        "stands to the right of the diagonal."),
    row("causal_mask", "visible_marked", replace("triu(diagonal=1)", "tril()"),
        "What may be seen is marked. The mask says what to hide: True where a token must not look."),
    row("causal_mask", "diagonal_marked_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is marked too, so a token would not see itself, and the first one nothing at all. Only what "
        "comes strictly later is hidden."),
    row("causal_mask", "next_token_open", replace("diagonal=1", "diagonal=2"),
        "The next token stays open: the marks begin one place too late. The future begins right beside the diagonal."),
    row("causal_mask", "all_others_marked",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)",
                "~torch.eye(num_tokens, dtype=torch.bool)"),
        "Every token but the own one is marked. The past is to be seen; hide only what comes later."),
    row("causal_mask", "float_mask", replace("triu(diagonal=1)", "triu(diagonal=1).float()"),
        "The mask holds ones and zeros as floats. A mask answers yes or no: `.bool()` makes it one that `masked_fill` "
        "and `torch.where` take, and that cannot be multiplied by mistake."),
    row("causal_mask", "whole_number_mask", replace("triu(diagonal=1)", "triu(diagonal=1).long()"),
        "The mask holds ones and zeros as whole numbers. As such they would pick entries by their place instead of "
        "saying yes or no; make it `.bool()`."),
    row("causal_mask", "minus_infinity_mask",
        replace("torch.ones(num_tokens, num_tokens, dtype=torch.bool)",
                "torch.full((num_tokens, num_tokens), -torch.inf)"),
        "The mask already holds what is to be added to the scores, minus infinity. Here it only says where: True or "
        "False."),
    row("causal_mask", "mask_for_the_worked_example", replace("num_tokens, num_tokens", "6, 6"),
        "The mask is always made for the six tokens of the worked example. Texts have different lengths: num_tokens "
        "says which."),
    row("causal_mask", "lonely_mask_squeezed", replace("triu(diagonal=1)", "triu(diagonal=1).squeeze()"),
        "`squeeze()` drops every dimension of length one, and so the mask of a single token is no matrix any more."),
    row("causal_mask", "batch_in_front_of_the_mask", replace("triu(diagonal=1)", "triu(diagonal=1)[None]"),
        "A batch dimension stands in front. The same mask serves every text and every head, and torch stretches (T, T) "
        "over them by itself."),

    # mask_then_renormalize
    row("mask_then_renormalize", "not_renormalized", replace("past / past.sum(dim=-1, keepdim=True)", "past"),
        "The future is zero, but the rows no longer sum to one. Each token still has one attention to give: divide "
        "each row by what is left of it."),
    row("mask_then_renormalize", "masked_result_thrown_away", replace("past = ", "past = weights\n    "),
        "The future is still there: what was masked was thrown away. `masked_fill` without an underscore gives a new "
        "tensor; use what it gives."),
    row("mask_then_renormalize", "past_removed", replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "triu()"),
        "The mask is upside down: the past is zero, and the future is left. Zero is what stands above the diagonal."),
    row("mask_then_renormalize", "own_weight_removed",
        replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(-1)"),
        "The diagonal is zero too. A token sees itself, and the first one sees nothing else: its row would be zero "
        "divided by zero."),
    row("mask_then_renormalize", "next_token_weighted",
        replace("masked_fill(causal_mask(weights.shape[-1]), 0)", "tril(1)"),
        "Each row still has a weight for the next token: the mask begins one place too late, above the diagonal's "
        "neighbours."),
    row("mask_then_renormalize", "columns_renormalized", replace("dim=-1", "dim=0"),
        "The columns sum to one, not the rows. A row holds what one token gives to the others, and that is what should "
        "come to one: sum over the last dim."),
    row("mask_then_renormalize", "sums_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. "
        "Keep the sums as a column, (T, 1)."),
    row("mask_then_renormalize", "everything_renormalized_at_once", replace("sum(dim=-1, keepdim=True)", "sum()"),
        "All weights are divided by one number, the sum of the whole matrix. Each row is a share-out of its own, and "
        "wants its own sum."),
    row("mask_then_renormalize", "softmax_of_masked_weights",
        replace("past / past.sum(dim=-1, keepdim=True)", "torch.softmax(past, dim=-1)"),
        "The masked weights went through another softmax. That changes their proportions, and gives the zeros a weight "
        "again, for exp of zero is one. Divide by the sum."),
    row("mask_then_renormalize", "softmax_of_what_is_left",
        replace("), 0)", "), -torch.inf)")
        .replace("past / past.sum(dim=-1, keepdim=True)", "torch.softmax(past, dim=-1)"),
        "The weights that are left went through another softmax. They are shares already: it would level them, where a "
        "division by their sum keeps their proportions."),
    row("mask_then_renormalize", "minus_infinity_among_weights", replace("), 0)", "), -torch.inf)"),
        "The future is minus infinity, which belongs into scores, before a softmax. These are weights already, and no "
        "weight is zero."),
    row("mask_then_renormalize", "rest_shared_out_equally",
        replace("past / past.sum(dim=-1, keepdim=True)",
                "(past + (1 - past.sum(dim=-1, keepdim=True)) / torch.arange(1, len(past) + 1)[:, None]).tril()"),
        "What the future had is handed out in equal shares. Those who had more should get more of it too: divide by "
        "the sum that is left."),
    row("mask_then_renormalize", "future_shared_out_equally",
        replace("past / past.sum(dim=-1, keepdim=True)",
                "(weights + weights.triu(1).sum(-1, keepdim=True) / torch.arange(1, len(past) + 1)[:, None]).tril()"),
        "What the future had is summed and handed out in equal shares. Those who had more should get more of it too: "
        "divide by the sum that is left."),
    row("mask_then_renormalize", "past_averaged",
        replace("weights.masked_fill", "torch.ones_like(weights).masked_fill"),
        "The past counts the same for all: each weight became one over the number of tokens seen. Keep the weights, "
        "and divide them by their sum."),
    row("mask_then_renormalize", "weights_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's weights were changed. `masked_fill_` with an underscore works on the tensor itself; without it, "
        "it gives a new one."),
    row("mask_then_renormalize", "weights_masked_behind_the_gradients",
        replace("past = weights.masked_fill", "past = weights\n    past.data.masked_fill_"),
        "The caller's weights were changed, through `.data` or under `torch.no_grad()`, so that not even the gradients "
        "know. `masked_fill` without an underscore gives a new tensor."),
    row("mask_then_renormalize", "renormalized_without_gradients",
        replace("weights.masked_fill", "weights.detach().masked_fill"),
        "Gradients stop at the result, by `.detach()`, `.data` or `torch.no_grad()`. All that made the weights, "
        "queries and keys, learns only through them."),
    row("mask_then_renormalize", "sums_without_gradients", replace("keepdim=True)", "keepdim=True).detach()"),
        "The sums are cut off from the gradients, by `.detach()` or `.data`. They depend on the weights as well, and "
        "the gradient has to know."),
    row("mask_then_renormalize", "weights_of_the_worked_example", replace("weights.shape[-1]", "6"),
        "The mask is always made for the six tokens of the worked example. Read the number of tokens off the weights."),
    row("mask_then_renormalize", "lonely_weight_squeezed",
        replace("past / past.sum(dim=-1, keepdim=True)", "(past / past.sum(dim=-1, keepdim=True)).squeeze()"),
        "`squeeze()` drops every dimension of length one, and so the weights of a single token are no matrix any "
        "more."),
    row("mask_then_renormalize", "weights_meet_float32",
        replace("past.sum(dim=-1, keepdim=True)", "(past @ torch.ones(len(past), 1))"),
        "A float32 tensor of your own meets the weights in a matrix product or takes in a copy of them, which float64 "
        "weights refuse. Make it like the weights: `torch.ones_like`, or `dtype=weights.dtype`."),

    # mask_then_softmax
    row("mask_then_softmax", "half_instead_of_root", replace("**0.5", " * 0.5"), HALF),
    row("mask_then_softmax", "scaling_forgotten", replace(" / d_k**0.5", ""), UNSCALED),
    row("mask_then_softmax", "twentieth_root", replace("0.5", "0.05"), TWENTIETH_ROOT),
    row("mask_then_softmax", "divided_by_d_k_itself", replace("**0.5", ""), NO_ROOT),
    row("mask_then_softmax", "scaled_by_number_of_tokens", replace("d_k**0.5", "scores.shape[-1] ** 0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the "
        "width of queries and keys that makes it grow."),
    row("mask_then_softmax", "multiplied_by_root", replace("/ d_k", "* d_k"),
        "The scores are multiplied by √d_k, so large scores become even larger. Divide by √d_k."),
    row("mask_then_softmax", "scaled_for_the_worked_example", replace("d_k**0.5", "2**0.5"),
        "The divisor is always √2, which is right only for the width of the worked example. d_k is an argument."),
    row("mask_then_softmax", "scaled_after_softmax",
        replace("masked / d_k**0.5, dim=-1)", "masked, dim=-1) / d_k**0.5"), SCALED_LATE),
    row("mask_then_softmax", "masked_scores_thrown_away", replace("masked = ", "masked = scores\n    "), THROWN_AWAY),
    row("mask_then_softmax", "zeros_instead_of_minus_infinity", replace(", -torch.inf)", ", 0)"), ZEROS),
    row("mask_then_softmax", "minus_ten_thousand", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    row("mask_then_softmax", "past_hidden", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    row("mask_then_softmax", "diagonal_hidden_too",
        replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu().bool()"), SELF_HIDDEN),
    row("mask_then_softmax", "next_token_seen",
        replace("causal_mask(scores.shape[-1])", "torch.ones_like(scores).triu(2).bool()"), NEXT_SEEN),
    row("mask_then_softmax", "masked_after_softmax",
        replace("masked / d_k**0.5, dim=-1)", "scores / d_k**0.5, dim=-1).tril()"), MASKED_LATE),
    row("mask_then_softmax", "renormalized_after_softmax",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)",
                "mask_then_renormalize(torch.softmax(scores / d_k**0.5, dim=-1))"),
        "The future goes too late: after the softmax, or after the largest score was subtracted. In exact numbers that "
        "is the same, but where a score of the future is very large nothing is left of the others. Hide it first."),
    row("mask_then_softmax", "softmax_over_queries", replace("dim=-1", "dim=0"), WRONG_DIM),
    row("mask_then_softmax", "softmax_over_everything",
        replace("masked / d_k**0.5, dim=-1)", "(masked / d_k**0.5).flatten(), dim=0).view_as(scores)"), WHOLE_TENSOR),
    row("mask_then_softmax", "softmax_forgotten",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),
        "These are masked scores, not weights. Softmax is what makes shares of them: positive, zero for the future, "
        "and with the sum one in each row."),
    row("mask_then_softmax", "softmax_forgotten_after_adding",
        replace(".masked_fill(causal_mask(scores.shape[-1]), -torch.inf)",
                " + torch.full_like(scores, -torch.inf).triu(1)")
        .replace("torch.softmax(masked / d_k**0.5, dim=-1)", "masked / d_k**0.5"),
        "Minus infinity was added to the future's scores, and there it ends: these are no weights yet. Softmax is what "
        "makes shares of them: positive, zero for the future, and with the sum one in each row."),
    row("mask_then_softmax", "zero_times_infinity",
        replace(".masked_fill(", " + ").replace("), -torch.inf)", ") * -torch.inf"),
        "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill the masked places "
        "instead: `masked_fill`, or `torch.where`."),
    row("mask_then_softmax", "plus_infinity", replace(", -torch.inf)", ", torch.inf)"),
        "The future is set to plus infinity, which is NaN after softmax. Minus infinity is the score whose exp is "
        "zero."),
    row("mask_then_softmax", "a_thousand_subtracted",
        replace(".masked_fill(", " - 1000 * ").replace("), -torch.inf)", ")"),
        "What is added to the future's scores is negative, but not enough: a score far above the others still comes "
        "out on top. Minus infinity is below everything."),
    row("mask_then_softmax", "best_score_takes_all",
        replace("torch.softmax(masked / d_k**0.5, dim=-1)",
                "nn.functional.one_hot(masked.argmax(-1), len(scores)).to(scores.dtype)"),
        "The whole weight goes to the best score, and the others get nothing. Softmax is softer than a maximum: every "
        "token that may be seen has its share, and so the scores can learn."),
    row("mask_then_softmax", "scores_masked_in_place", replace("masked_fill", "masked_fill_"),
        "The caller's scores were changed. `masked_fill_` with an underscore works on the tensor itself; without it, "
        "it gives a new one."),
    row("mask_then_softmax", "scores_masked_behind_the_gradients",
        replace("masked = scores.masked_fill", "masked = scores\n    masked.data.masked_fill_"),
        "The caller's scores were changed, through `.data` or under `torch.no_grad()`, so that torch itself does not "
        "see it. `masked_fill` without an underscore gives a new tensor."),
    row("mask_then_softmax", "softmax_without_gradients", replace("scores.masked_fill", "scores.detach().masked_fill"),
        "Gradients stop at the weights, by `.detach()`, `.data` or `torch.no_grad()`. Queries and keys learn only "
        "through the scores."),
    row("mask_then_softmax", "scores_of_the_worked_example", replace("scores.shape[-1]", "6"),
        "The mask is always made for the six tokens of the worked example. Read the number of tokens off the scores."),
    row("mask_then_softmax", "lonely_score_squeezed", replace("dim=-1)", "dim=-1).squeeze()"),
        "`squeeze()` drops every dimension of length one, and so the scores of a single token are no matrix any more."),
    row("mask_then_softmax", "scores_meet_float32",
        replace("masked = scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf)",
                "masked, seen = torch.full(scores.shape, -torch.inf), ~causal_mask(len(scores))\n"
                "    masked[seen] = scores[seen]"),
        "A float32 tensor of your own takes in a copy of the scores or meets them in a matrix product, which float64 "
        "scores refuse. Make it like the scores: `torch.full_like`, or `dtype=scores.dtype`."),

    # attention_dropout
    row("attention_dropout", "share_of_p_kept", replace(">= p", "< p"),
        "The draws are compared the wrong way round, so that a share of p is kept. It is p that is dropped: keep where "
        "`torch.rand` is at least p."),
    row("attention_dropout", "p_taken_for_keeping", replace(">= p", "< p").replace("(1 - p)", "p"),
        "p is taken for the probability of keeping a weight, in the draws and in the division. It is the probability "
        "of dropping one."),
    row("attention_dropout", "survivors_not_scaled", replace(" / (1 - p)", ""),
        "The weights that are kept stay as they were. On average a context would then come out smaller in training "
        "than later on: divide them by 1 - p."),
    row("attention_dropout", "survivors_multiplied", replace("/ (1 - p)", "* (1 - p)"),
        "The weights that are kept are multiplied by 1 - p and grow smaller still. They have to make up for those that "
        "are gone: divide."),
    row("attention_dropout", "survivors_divided_by_p", replace("(1 - p)", "p"),
        "The weights that are kept are divided by p. A share of 1 - p is kept, and that is what makes up for the "
        "rest."),
    row("attention_dropout", "rows_renormalized", replace("(1 - p)", "(weights * keep).sum(-1, keepdim=True)"),
        "The rows are made to sum to one again. Dropout leaves that to chance: every weight that is kept is divided by "
        "the same 1 - p, and the sum is one on average only."),
    row("attention_dropout", "divided_by_the_share_kept", replace("(1 - p)", "keep.double().mean()"),
        "The weights are divided by the share that happened to be kept. It is the probability, 1 - p, that makes the "
        "average right, whatever the draw."),
    row("attention_dropout", "mask_instead_of_weights", replace("weights * keep", "keep"),
        "What came back is the mask of what to keep, scaled. Multiply the weights by it."),
    row("attention_dropout", "nothing_dropped", replace("weights * keep / (1 - p)", "weights * 1"),
        "Nothing is dropped. The function is for training itself; whether it is called at all, `forward` decides."),
    row("attention_dropout", "smallest_dropped",
        replace("torch.rand(weights.shape, generator=generator) >= p",
                "weights >= torch.quantile(weights.flatten().double(), p)"),
        "The smallest weights are dropped. Then the same ones stay every time, and what is learnt still relies on "
        "them; which ones go is for chance to say."),
    row("attention_dropout", "whole_rows", replace("weights.shape", "(*weights.shape[:-1], 1)"),
        "Whole rows are kept or dropped: there is one draw for a row. A token would then see everything or nothing; "
        "draw for each weight, with the shape of the weights."),
    row("attention_dropout", "whole_columns",
        replace("weights.shape", "(*weights.shape[:-2], 1, weights.shape[-1])[-weights.dim():]"),
        "Whole columns are kept or dropped: there is one draw for a token, and all others see it or none does. Draw "
        "for each weight, with the shape of the weights."),
    row("attention_dropout", "one_draw_for_all", replace("weights.shape", "1"),
        "There is one draw for all weights, so that all of them go or none does. Draw for each: `torch.rand` with the "
        "shape of the weights."),
    row("attention_dropout", "exact_share_dropped",
        replace("torch.rand(weights.shape, generator=generator) >= p",
                "torch.randperm(weights.numel(), generator=generator).view_as(weights) >= round(p * weights.numel())"),
        "Exactly a share of p is dropped each time. Each weight has a throw of its own, so how many are dropped is a "
        "matter of chance as well."),
    row("attention_dropout", "exact_share_of_each_row",
        replace("generator=generator) >= p",
                "generator=generator).argsort(-1).argsort(-1) >= round(p * weights.shape[-1])"),
        "Exactly a share of p is dropped of every row. Each weight has a throw of its own: a row may keep all of its "
        "weights, or none."),
    row("attention_dropout", "same_for_the_whole_batch", replace("weights.shape", "weights.shape[-2:]"),
        "All elements of a batch are dropped alike: the draws have the shape of one (T, T) matrix. Give them the whole "
        "shape of the weights."),
    row("attention_dropout", "only_square_matrices", replace("weights.shape", "len(weights), len(weights)"),
        "The draws make a square matrix, whatever shape the weights have. `torch.rand(weights.shape)` fits all of "
        "them."),
    row("attention_dropout", "normal_draws", replace("torch.rand(", "torch.randn("),
        "The draws are uniform where they should be and normal where they should not: `torch.randn` lies below p with "
        "another probability than p. `torch.rand` is the one that lies between 0 and 1."),
    row("attention_dropout", "zero_refused", replace("0 <= p", "0 < p"),
        "p = 0 is refused. It is a probability like others and means that nothing is dropped, which is how a model "
        "without dropout is made."),
    row("attention_dropout", "any_p_accepted", replace("not 0 <= p < 1", "False"),
        "A p that is no probability passes without a word, or is moved into the range in silence. Who calls with such "
        "a p has made a mistake: refuse what lies outside [0, 1) with an error."),
    row("attention_dropout", "negative_p_accepted", replace("not 0 <= p < 1", "p >= 1"),
        "A negative p passes without a word. It is no probability: refuse it with an error, as one that is too large."),
    row("attention_dropout", "one_accepted", replace("p < 1", "p <= 1"),
        "p = 1 passes. Everything would be dropped, and what is left divided by zero, so here the range of p ends "
        "before 1."),
    row("attention_dropout", "large_p_accepted", replace("not 0 <= p < 1", "p < 0"),
        "Only a negative p is refused. Of a p above 1 there is nothing left to keep, and at 1 the rest is divided by "
        "zero."),
    row("attention_dropout", "refused_with_another_error", replace("ValueError", "RuntimeError"),
        "The error has the wrong type. Callers recognise errors by their type. Here the type is ValueError or "
        "AssertionError."),
    row("attention_dropout", "ready_made_dropout",
        replace("if not", "return nn.functional.dropout(weights, p)\n    if not"),
        "This is torch's own dropout as it stands. It cannot draw from a generator that is handed in, and it lets "
        "p = 1 pass; a few lines of your own do both."),
    row("attention_dropout", "generator_ignored", replace(", generator=generator", ""),
        "The generator is taken but not used. Hand it on to the draw: `torch.rand(…, generator=generator)`."),
    row("attention_dropout", "generator_seeded_anew",
        replace("=generator)", "=generator.manual_seed(123) if generator else None)"),
        "The code sets the seed of the generator before it draws, so the state of the generator is lost. The caller "
        "decides about the state."),
    row("attention_dropout", "generator_copied",
        replace("=generator)", "=torch.Generator().manual_seed(generator.initial_seed()) if generator else None)"),
        "A second generator is made from the seed of the first, which itself stays where it was. Draw from the one "
        "that was handed in, and it moves on."),
    row("attention_dropout", "generator_of_seeds",
        replace("keep = torch.rand(weights.shape, generator=generator)",
                "if generator:\n"
                "        torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))\n"
                "    keep = torch.rand(weights.shape)"),
        "The generator draws a seed for torch's global state and is not used for the draws themselves, so the caller's "
        "own global state is lost. Hand the generator on."),
    row("attention_dropout", "always_the_same_draws", replace("=generator)", "=generator or torch.Generator())"),
        "Without a generator every call drops the same weights: a seed is set inside, or a generator made that always "
        "begins alike. None means torch's global generator as it stands."),
    row("attention_dropout", "the_same_seed_in_every_call", replace("=generator)", "=torch.Generator())"),
        "Every call drops the same weights, with a generator or without: a seed is set inside, or a generator made "
        "that always begins alike. Draw from the generator that is handed in, and without one from torch's global "
        "one."),
    row("attention_dropout", "global_state_put_back",
        replace("keep =", "with torch.random.fork_rng(devices=[]):\n        keep ="),
        "The global state is put back after the draw, so the next call drops the same weights again. Each draw should "
        "move it on."),
    row("attention_dropout", "generator_from_the_system",
        replace("keep =", "import random\n\n    if generator is None:\n"
                "        generator = torch.Generator().manual_seed(random.SystemRandom().getrandbits(62))\n    keep ="),
        "Without a generator a new one is made from the clock or the system, so torch.manual_seed cannot make a "
        "training run the same again. None means torch's global generator."),
    row("attention_dropout", "dropout_without_gradients", replace("weights * keep", "weights.detach() * keep"),
        "Gradients stop at the result, by `.detach()`, `.data` or `torch.no_grad()`. Dropout is for training: what is "
        "kept must be able to learn."),
    row("attention_dropout", "weights_dropped_in_place",
        replace("return weights * keep / (1 - p)", "weights *= keep / (1 - p)\n    return weights"),
        "The caller's weights were changed: `*=`, and assigning to some of the entries, work on the tensor itself. "
        "Write `weights = weights * …`."),
    row("attention_dropout", "weights_dropped_behind_the_gradients",
        replace("return weights * keep / (1 - p)", "weights.data *= keep / (1 - p)\n    return weights"),
        "The caller's weights were changed, through `.data` or under `torch.no_grad()`, so that not even the gradients "
        "know. Write `weights = weights * …`, which gives a new tensor."),
    row("attention_dropout", "weights_copied_into_float32",
        replace("return weights * keep / (1 - p)",
                "copy = torch.zeros(weights.shape)\n    copy[keep] = weights[keep] / (1 - p)\n    return copy"),
        "The weights are copied into a tensor of your own, which is float32 and refuses float64 weights. Make it like "
        "the weights: `torch.zeros_like`."),

    # CausalAttention: scores
    row("CausalAttention", "half_instead_of_root_in_module", replace("**0.5", " * 0.5"), HALF),
    row("CausalAttention", "scaling_forgotten_in_module", replace(" / d_out**0.5", ""), UNSCALED),
    row("CausalAttention", "twentieth_root_in_module", replace("0.5", "0.05"), TWENTIETH_ROOT),
    row("CausalAttention", "divided_by_width_itself_in_module", replace("**0.5", ""), NO_ROOT),
    row("CausalAttention", "scaled_by_number_of_tokens_in_module", replace("d_out**0.5", "num_tokens**0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the "
        "width of queries and keys, d_out, that makes it grow."),
    row("CausalAttention", "scaled_by_context_length", replace("d_out**0.5", "len(self.mask) ** 0.5"),
        "The scores are divided by the root of context_length. How long a text may be has no part in a dot product: it "
        "sums over features, so divide by the root of their number, d_out."),
    row("CausalAttention", "scaled_by_d_in", replace("d_out**0.5", "self.W_query.in_features**0.5"),
        "The scores are divided by √d_in. The dot products are between projected tokens, and their width is d_out."),
    row("CausalAttention", "scaled_for_the_worked_example_in_module", replace("d_out**0.5", "2**0.5"),
        "The divisor is a number of the notebook, √2, which is right for the worked example only. A class should use "
        "its own arguments: d_out, or the width of the keys."),
    row("CausalAttention", "scaled_after_softmax_in_module",
        replace("masked / d_out**0.5, dim=-1)", "masked, dim=-1) / d_out**0.5"), SCALED_LATE),
    row("CausalAttention", "batch_turned_round_or_float_mask",
        replace("causal_mask(context_length)", "causal_mask(context_length).float()"),
        "Every call ends in an error. In `queries @ keys.T`: `.T` turns the batch round too; `keys.transpose(-2, -1)` "
        "leaves it in front. In `masked_fill`: it takes no mask of floats, so make it `.bool()`. Elsewhere: print the "
        "shapes and dtypes of the two that meet in that line."),
    row("CausalAttention", "keys_reshaped",
        replace("transpose(-2, -1)", "reshape(len(keys), keys.shape[2], keys.shape[1])"),
        "`view` and `reshape` keep the order of the numbers and only break the rows elsewhere, so the keys are torn "
        "apart. `transpose` is what swaps two dimensions."),

    # CausalAttention: the mask
    row("CausalAttention", "masked_scores_thrown_away_in_module", replace("masked = ", "masked = scores\n        "),
        THROWN_AWAY),
    row("CausalAttention", "zeros_instead_of_minus_infinity_in_module", replace(", -torch.inf)", ", 0)"), ZEROS),
    row("CausalAttention", "minus_ten_thousand_in_module", replace(", -torch.inf)", ", -1e4)"), TEN_THOUSAND),
    row("CausalAttention", "past_hidden_in_module", replace(", -torch.inf)", ".T, -torch.inf)"), UPSIDE_DOWN),
    row("CausalAttention", "diagonal_hidden_too_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu().bool()"), SELF_HIDDEN),
    row("CausalAttention", "next_token_seen_in_module",
        replace("self.mask[:num_tokens, :num_tokens]", "torch.ones_like(scores).triu(2).bool()"), NEXT_SEEN),
    row("CausalAttention", "masked_after_softmax_in_module",
        replace("masked / d_out**0.5, dim=-1)", "scores / d_out**0.5, dim=-1).tril()"), MASKED_LATE),
    row("CausalAttention", "zero_times_infinity_in_module",
        replace(".masked_fill(", " + ").replace(", -torch.inf)", " * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, or "
        "the mask hides everything. Fill just the future's places: `masked_fill`, or `torch.where`."),
    row("CausalAttention", "mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly context_length tokens work. That is the longest allowed: take T, the number of tokens, "
        "from the inputs, and of a mask that was made for the longest the upper left corner, `self.mask[:T, :T]`."),
    row("CausalAttention", "wrong_corner_of_the_mask", replace("[:num_tokens, ", "[-num_tokens:, "),
        "The wrong corner of the mask is cut out for shorter texts: the last rows or columns hold other tokens' view. "
        "A text starts at the first token, so the upper left corner is its own."),
    row("CausalAttention", "mask_for_the_worked_example_in_module",
        replace("causal_mask(context_length)", "causal_mask(6)"),
        "The mask is made for the six tokens of the worked example, whatever context_length says. A class should use "
        "its own arguments."),
    row("CausalAttention", "mask_as_a_parameter",
        replace('self.register_buffer("mask", causal_mask(context_length), persistent=False)',
                "self.mask = nn.Parameter(causal_mask(context_length).float())")
        .replace(":num_tokens],", ":num_tokens].bool(),"),
        "The mask is an nn.Parameter, so an optimiser would change it. It is nothing to learn: keep it with "
        "`register_buffer`, or make it on the way."),
    row("CausalAttention", "past_averaged_in_module", replace("= scores.", "= (0 * scores)."),
        "The past is averaged: every token that is seen has the same weight, whatever the queries and keys are. How "
        "much one token hears of another is for their dot product to say."),
    row("CausalAttention", "only_one_token_back",
        replace(", -torch.inf)", " | torch.ones_like(scores).tril(-2).bool(), -torch.inf)"),
        "Each token sees at most the one before it. The whole past is open, as far back as the text begins."),

    # CausalAttention: softmax
    row("CausalAttention", "softmax_over_queries_in_module", replace("dim=-1", "dim=1"), WRONG_DIM),
    row("CausalAttention", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), whose texts should not know of each other. The tokens to share among lie "
        "along the last dim, -1."),
    row("CausalAttention", "softmax_over_everything_in_module",
        replace("masked / d_out**0.5, dim=-1)", "(masked / d_out**0.5).flatten(), dim=0).view_as(scores)"),
        WHOLE_TENSOR),
    row("CausalAttention", "softmax_forgotten_in_module",
        replace("torch.softmax(masked / d_out**0.5, dim=-1)", "masked / d_out**0.5"),
        "The masked scores are used as weights as they are, and minus infinity spoils every sum. Softmax makes shares "
        "of them: positive, and zero for the future."),

    # CausalAttention: the batch and the tokens
    row("CausalAttention", "one_text_without_a_batch", replace("shape[-2:]", "shape"),
        "The inputs' shape is taken for one of another number of sizes than its three, as if there were no batch or "
        "one size more. It is (B, T, d_in), and the number of tokens is the second."),
    row("CausalAttention", "batch_of_one_only",
        replace("W_query(inputs)", "W_query(inputs.reshape(1, *inputs.shape[1:]))"),
        "Batches of several texts end in an error: the batch is squeezed away, or its size is taken for the number of "
        "tokens, which is inputs.shape[1]. Leave it where it is; matrix products and softmax carry it along."),
    row("CausalAttention", "weights_of_the_first_text", replace("dim=-1)", "dim=-1)[:1].expand_as(scores)"),
        "Every text of the batch is given the weights of the first one. Each has scores of its own."),
    row("CausalAttention", "batch_as_one_long_text",
        replace("queries = self", "shape, inputs = inputs.shape, inputs.flatten(0, 1)[None]\n        queries = self")
        .replace("self.mask[:num_tokens, :num_tokens]", "causal_mask(num_tokens)")
        .replace("weights @ values", "(weights @ values).view(*shape[:2], -1)"),
        "The texts of a batch are put one behind the other as one long text, so later ones see the earlier ones. Texts "
        "of a batch never look at each other."),
    row("CausalAttention", "batch_held_to_context_length", replace("inputs.shape[1] >", "inputs.shape[0] >"),
        "More texts than context_length are refused. It limits the tokens of a text, the second dimension of the "
        "inputs; a batch may have any number of texts."),
    row("CausalAttention", "single_token_refused",
        replace("queries = self",
                "if inputs.shape[1] < 2:\n            raise ValueError('there is no past')\n        queries = self"),
        "A single token is no text here, but it should be: it sees itself, and its output is its own value."),
    row("CausalAttention", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` drops every dimension of length one: a batch of one text is no batch any more, and a text of one "
        "token no text."),
    row("CausalAttention", "view_of_the_inputs",
        replace("W_query(inputs)", "W_query(inputs.view(-1, inputs.shape[-1])).view(*inputs.shape[:2], -1)"),
        "`view` asks that the numbers lie in memory in the order of the dimensions, which a transposed tensor's do "
        "not. `reshape` copies where it must; better still, nn.Linear takes any leading dimensions."),

    # CausalAttention: dropout
    row("CausalAttention", "dropout_never_applied", replace("self.dropout(", "("),
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use what it gives."),
    row("CausalAttention", "dropout_in_eval_mode_too", replace("self.dropout(", "nn.Dropout(self.dropout.p)("),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode unless told "
        "(`training=self.training`), and an nn.Dropout made in `forward` is always in training; make it in "
        "`__init__`."),
    row("CausalAttention", "dropout_in_eval_mode_only",
        replace("self.dropout(", "nn.Dropout(self.dropout.p).train(not self.training)("),
        "Weights are dropped in eval mode and not in training: the mode is asked the wrong way round. Dropout makes "
        "training harder, and is gone where the model is used."),
    row("CausalAttention", "always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout()"),
        "Half of the weights are dropped, whatever `dropout` says: that is torch's own choice where no probability is "
        "given. Pass it on."),
    row("CausalAttention", "dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "`dropout` is taken for the probability of keeping a weight. nn.Dropout, and this course, mean that of "
        "dropping one."),
    row("CausalAttention", "dropout_before_softmax",
        replace("self.dropout(", "(").replace("masked / d_out**0.5", "self.dropout(masked / d_out**0.5)"),
        "Dropout acts on the scores, before softmax. A score of zero is no weight of zero, and minus infinity times "
        "zero is NaN. Drop the weights, after softmax."),
    row("CausalAttention", "dropout_before_the_mask",
        replace("self.dropout(", "(").replace("= scores.", "= self.dropout(scores)."),
        "In training the weights change, but none becomes zero: dropout acts before the softmax, on the scores or on "
        "what they are made of. A score of zero is no weight of zero: softmax gives it its share. Drop the weights, "
        "after softmax."),
    row("CausalAttention", "dropout_on_the_values",
        replace("self.dropout(", "(").replace("@ values", "@ self.dropout(values)"),
        "Dropout acts on the values. A dropped feature is then missing for every token that looks there; it is the "
        "single look, the weight, that is dropped."),
    row("CausalAttention", "dropout_on_the_outputs",
        replace("self.dropout(", "(").replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts on the outputs. That comes later in a transformer, too, but here it is the weights that are "
        "dropped, before they meet the values."),
    row("CausalAttention", "dropout_on_weights_and_outputs",
        replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts twice, on the weights and once more on the outputs. In this module it is for the weights alone."),
    row("CausalAttention", "dropout_on_the_inputs",
        replace("self.dropout(", "(").replace("queries =", "inputs = self.dropout(inputs)\n        queries ="),
        "Dropout acts on the inputs. Their projections then lose parts of everything; here it is the attention weights "
        "that are dropped."),
    row("CausalAttention", "rows_renormalized_after_dropout",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True) @ values"),
        "After dropout the rows are made to sum to one again. They do so on average only: what is kept is divided by "
        "1 - dropout, and nothing else."),
    row("CausalAttention", "rows_renormalized_with_care",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ values"),
        "After dropout the rows are made to sum to one again, with care for those that lost everything. They do so on "
        "average only: what is kept is divided by 1 - dropout, and nothing else."),
    row("CausalAttention", "survivors_not_scaled_in_module",
        replace("weights @ values", "weights * (1 - self.dropout.p if self.training else 1) @ values"),
        "Weights are dropped, but those that are kept stay as they were. Divided by 1 - dropout they make up for those "
        "that are gone."),
    row("CausalAttention", "dropped_once_and_for_all",
        replace("self.dropout(", "(")
        .replace("Dropout(dropout)",
                 "Dropout(dropout)\n        self.kept = self.dropout(torch.ones(4, context_length, context_length))")
        .replace("return weights",
                 "kept = self.kept[:len(weights), :num_tokens, :num_tokens] if self.training else 1\n"
                 "        return weights * kept"),
        "What to drop is drawn once, when the module is made. Draw in each call anew, so that no token can be relied "
        "on."),
    row("CausalAttention", "texts_dropped_alike",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[:1])) @ values"),
        "All texts of a batch lose the same weights: what to drop is drawn for (T, T). Draw for (B, T, T)."),
    row("CausalAttention", "whole_tokens_dropped",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[:, :1])) @ values"),
        "Whole tokens are dropped: what is drawn is one number for each, and all others see it or none does. Draw for "
        "each weight."),
    row("CausalAttention", "whole_rows_dropped",
        replace("self.dropout(", "(")
        .replace("weights @ values", "weights * self.dropout(torch.ones_like(weights[..., :1])) @ values"),
        "Whole rows of weights are dropped: a token sees all of its past or nothing. Draw for each weight; nn.Dropout "
        "does, while nn.Dropout1d and its like drop whole rows."),

    # CausalAttention: layers
    row("CausalAttention", "matrices_instead_of_layers",
        replace("nn.Linear(d_in, d_out, bias=qkv_bias)", "nn.Parameter(torch.rand(d_in, d_out))", 3)
        .replace("= self.W_", "= inputs @ self.W_", 3).replace("(inputs)", "", 3),
        "The three are matrices made by hand, as in the first version of self-attention. Here each is an nn.Linear, "
        "which brings its own weight."),
    row("CausalAttention", "layers_the_other_way_round",
        replace("nn.Linear(d_in, d_out, ", "nn.Linear(d_out, d_in, ", 3),
        "nn.Linear takes what comes in first and what goes out second: nn.Linear(d_in, d_out)."),
    row("CausalAttention", "layers_of_the_worked_example", replace("nn.Linear(d_in, d_out, ", "nn.Linear(3, 2, ", 3),
        "The layers have the sizes of the worked example, three and two. A class should use its own arguments, d_in "
        "and d_out, or it works for one notebook only."),
    row("CausalAttention", "bias_always", replace(", bias=qkv_bias", "", 3),
        "The layers always have a bias, because that is the default of nn.Linear. Pass qkv_bias on: bias=qkv_bias."),
    row("CausalAttention", "bias_never", replace("bias=qkv_bias", "bias=False", 3),
        "The layers never have a bias. The caller chooses qkv_bias, so pass it on: bias=qkv_bias."),
    row("CausalAttention", "bias_in_W_query_only",
        replace("W_key = nn.Linear(d_in, d_out, bias=qkv_bias)", "W_key = nn.Linear(d_in, d_out, bias=False)")
        .replace("W_value = nn.Linear(d_in, d_out, bias=qkv_bias)", "W_value = nn.Linear(d_in, d_out, bias=False)"),
        "Only W_query gets a bias. The q, the k and the v in qkv_bias mean all three layers."),
    row("CausalAttention", "biases_made_but_unused",
        replace("= self.W_", "= inputs @ self.W_", 3).replace("(inputs)", ".weight.T", 3),
        "Only the weights of the layers are used, and not their biases. Call the layer, W_query(inputs): it adds its "
        "bias too."),
    row("CausalAttention", "one_layer_in_use", replace("W_key(", "W_query(").replace("W_value(", "W_query("),
        "W_query is used for queries, keys and values, and the other two layers are never used. Each role has its "
        "own weights to learn."),
    row("CausalAttention", "keys_ask_the_queries", replace("queries @ keys", "keys @ queries"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    row("CausalAttention", "key_layer_unused", replace("W_key(", "W_query("),
        "W_key is made but never used: queries are compared with queries. Compare each query with the keys, inputs @ "
        "W_key."),
    row("CausalAttention", "keys_handed_over", replace("W_value(", "W_key("),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("CausalAttention", "value_layer_unused", replace("self.W_value(inputs)", "inputs"),
        "W_value is made but never used: the weights mix the inputs themselves. Mix the values, W_value(inputs)."),
    row("CausalAttention", "equal_widths_not_projected",
        replace("self.W_value(inputs)", "inputs if inputs.shape == queries.shape else self.W_value(inputs)"),
        "Where d_in and d_out are the same, the weights mix the inputs themselves. Values are what W_value makes of "
        "the inputs, whatever the widths are."),
    row("CausalAttention", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The module returns contexts and weights. The next layer needs one tensor: return only the contexts."),
    row("CausalAttention", "weights_instead_of_contexts", replace("weights @ values", "weights"),
        "The module returns the attention weights. They say how important each token is. The output is the sum of "
        "the values, each times its weight."),

    # CausalAttention: gradients, dtypes, arguments
    row("CausalAttention", "gradients_switched_off", replace("(inputs)", "(inputs).detach()", 3),
        "No gradient comes through: by `.detach()`, `.data` or `torch.no_grad()` the outputs, or those of the layers, "
        "are cut off, so that nothing below them can learn."),
    row("CausalAttention", "only_values_learn", replace("dim=-1)", "dim=-1).detach()"),
        "The weights are cut off from the gradients before they meet the values, so that only the values learn. What "
        "to look for is to be learnt as well."),
    row("CausalAttention", "inputs_made_float32", replace("(inputs)", "(inputs.float())", 3),
        "Something is made float32 on the way, the inputs or a tensor of your own, and does not fit what is float64. "
        "Let the inputs keep their dtype, and make your own tensors like them."),
    row("CausalAttention", "inputs_changed_in_place",
        replace("return weights", "inputs -= inputs.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
]
# fmt: on
