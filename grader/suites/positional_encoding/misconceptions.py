"""Unit 5: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in the encoding and where it is added, the latter's has more
words.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

EXPONENT_DOUBLED = (
    "The hands slow down twice as fast as they should. In the formula i counts pairs; where your i goes 0, 2, 4, … it "
    "is 2i already, so do not double it again."
)
EVERY_COLUMN_ITS_OWN = (
    "A sine and the cosine beside it have different frequencies. Each pair is one hand of the clock and has one angle: "
    "both columns have the exponent of the even one."
)
SIDE_BY_SIDE = (
    "All sines stand in the left half and all cosines in the right. They belong in turn, each sine with its cosine "
    "beside it: columns 0::2 and 1::2."
)
FROM_ONE = (
    "Positions are counted from 1. The first token stands at position 0, where all sines are 0 and all cosines 1."
)
EXPONENT_WITHOUT_BRACKETS = (
    "A power binds more tightly than a division: `10000**x / d` is (10000**x) / d. Put the exponent in brackets."
)
EXCHANGED = "Sines and cosines have changed places. The even columns, 0 among them, are the sines."
ODD_ACCEPTED = (
    "An odd width raises no error. Sines and cosines come in pairs, so whoever asks for an odd one has made a mistake, "
    "and only an error tells them."
)
OTHER_NUMBER_REFUSED = (
    "The wrong number was looked at: an odd number of positions is refused. Those may be as many as they like; it is "
    "the width that sines and cosines share in pairs."
)

# What add_positions adds.
ENCODED = "sinusoidal_encoding(num_tokens, d).to(x.dtype)"

CALLS = {"add_positions": ["sinusoidal_encoding"]}

# fmt: off
ROWS = [
    # linear_as_matmul
    row("linear_as_matmul", "bias_added_to_the_weight", replace("weight + bias", "(weight + bias)"),
        "The bias is added to the weight, before the product, and so is multiplied by the row as well. It comes last: "
        "`x @ weight + bias`, without brackets."),
    row("linear_as_matmul", "bias_forgotten", replace(" + bias", ""),
        "The bias is missing. It is added to every row of the product, and moves all of them by the same."),
    row("linear_as_matmul", "bias_inside_the_sum",
        replace("x @ weight + bias", "(x[:, :, None] * weight + bias).sum(dim=1)"),
        "The bias is added once for each feature of the row, inside the sum. It belongs to the sum as a whole, and is "
        "added once."),
    row("linear_as_matmul", "bias_subtracted", replace("+ bias", "- bias"),
        "The bias is subtracted. A layer may learn a negative bias where it wants one; in the formula it is added."),
    row("linear_as_matmul", "bias_for_the_first_row",
        replace("x @ weight + bias", "torch.cat([x[:1] @ weight + bias, x[1:] @ weight])"),
        "The bias went to the first row alone. Every row goes through the same layer: (m, k) + (k,) adds it to each of "
        "them."),
    row("linear_as_matmul", "bias_as_a_column", replace("+ bias", "+ bias[:, None]"),
        "The bias was made a column, and goes down the rows. It has a number for each column of the result: as it is, "
        "(k,), torch adds it to every row."),
    row("linear_as_matmul", "cut_off_below_zero", replace("x @ weight + bias", "torch.relu(x @ weight + bias)"),
        "What is negative was cut off. That is ReLU, an activation; a linear layer has none, and it may come after "
        "it."),
    row("linear_as_matmul", "weight_transposed", replace("@ weight", "@ weight.T"),
        "The weight is taken for its transpose, (k, n), as `nn.Linear` keeps it. Here it comes as (n, k): each row of "
        "x goes with its columns, and (m, n) @ (n, k) fits as it is."),
    row("linear_as_matmul", "weight_in_front", replace("x @ weight", "weight @ x"),
        "The weight stands in front. The rows of x are what is multiplied, so x comes first: (m, n) @ (n, k) gives a "
        "row for each of them."),
    row("linear_as_matmul", "result_on_its_side", replace("x @ weight + bias", "(x @ weight + bias).T"),
        "The result lies on its side, with a row for each output. Each row of x should give a row: (m, k)."),
    row("linear_as_matmul", "first_row_alone", replace("x @", "x[0] @"),
        "Only the first row went through the layer. All of them do, at once: `x @ weight` takes each row of x."),
    row("linear_as_matmul", "rows_of_the_worked_example",
        replace("x @ weight + bias", "torch.stack([x[row] @ weight + bias for row in range(3)])"),
        "There are always three rows for this code, as in the worked example. Take as many as x has: `x.shape[0]`."),
    row("linear_as_matmul", "single_row_squeezed", replace("x @ weight + bias", "(x @ weight + bias).squeeze()"),
        "`squeeze()` removes every dimension of size one, so the result for a single row is no matrix any more."),
    row("linear_as_matmul", "bias_by_a_float32_product", replace("+ bias", "+ torch.ones(len(x), 1) @ bias[None]"),
        "A float32 tensor of your own is multiplied with the arguments, which float64 ones refuse. Make it like them "
        "(`torch.ones_like`, `dtype=x.dtype`), or let `+` stretch the bias."),
    row("linear_as_matmul", "result_without_gradients", replace("x @ weight + bias", "(x @ weight + bias).detach()"),
        "The result was put together from plain numbers, by `.item()`, `.tolist()` or `.detach()`, and no gradient "
        "finds its way back. Keep to tensors all the way."),
    row("linear_as_matmul", "bias_without_gradients", replace("+ bias", "+ bias.detach()"),
        "No gradient reaches the bias, which was cut off by `.detach()` or `.data`. It is learnt like the weight."),
    row("linear_as_matmul", "weight_without_gradients", replace("@ weight", "@ weight.detach()"),
        "No gradient reaches the weight, which was cut off by `.detach()`, `.data` or a new `nn.Parameter` made of it. "
        "What a layer learns is its weight and its bias: take both as they are."),
    row("linear_as_matmul", "bias_unsqueezed_in_place", replace("+ bias", "+ bias.unsqueeze_(0)"),
        "The caller's bias was changed: a method whose name ends in an underscore works on the tensor itself. "
        "`unsqueeze` without it gives a new view."),
    row("linear_as_matmul", "weight_transposed_in_place", replace("@ weight", "@ weight.t_().T"),
        "The caller's weight was turned round: `t_()`, with an underscore, works on the tensor itself. `.T` gives a "
        "view and leaves it alone."),

    # sinusoidal_encoding
    row("sinusoidal_encoding", "exponent_doubled", replace("two_i / d_model", "2 * two_i / d_model"), EXPONENT_DOUBLED),
    row("sinusoidal_encoding", "different_frequencies",
        replace("torch.cos(angles)", "torch.cos(positions / 10000 ** ((two_i + 1) / d_model))"),
        EVERY_COLUMN_ITS_OWN),
    row("sinusoidal_encoding", "every_column_doubled",
        replace("two_i / d_model", "2 * two_i / d_model")
        .replace("torch.cos(angles)", "torch.cos(positions / 10000 ** (2 * (two_i + 1) / d_model))"),
        "The column's number is doubled in every exponent, 2·j / d_model for column j. 2i is the number of the sine's "
        "column, and the cosine beside it has the very same angle."),
    row("sinusoidal_encoding", "halves_side_by_side", replace("torch.stack", "torch.cat").replace(".flatten(-2)", ""),
        SIDE_BY_SIDE),
    row("sinusoidal_encoding", "positions_from_one",
        replace("torch.arange(num_positions)", "torch.arange(1, num_positions + 1)"),
        FROM_ONE),
    row("sinusoidal_encoding", "sines_and_cosines_exchanged",
        replace("torch.sin(angles), torch.cos(angles)", "torch.cos(angles), torch.sin(angles)"),
        EXCHANGED),
    row("sinusoidal_encoding", "exponent_halved", replace("two_i / d_model", "two_i / 2 / d_model"),
        "The exponent is i / d_model, where i counts pairs. It is 2i / d_model, so that the slowest hand gets close to "
        "the whole 10000."),
    row("sinusoidal_encoding", "divided_by_one_less", replace("two_i / d_model", "two_i / (d_model - 1)"),
        "The exponents are divided by d_model - 1. The formula divides by d_model, so the last exponent stays below "
        "1."),
    row("sinusoidal_encoding", "exponents_up_to_one", replace("two_i / d_model", "two_i / max(d_model - 2, 1)"),
        "The exponents go from 0 to 1 itself, as some libraries have it: i / (d_model/2 - 1). In the formula here it "
        "is 2i / d_model, and the last one stays below 1."),
    row("sinusoidal_encoding", "divided_by_the_positions", replace("two_i / d_model", "two_i / num_positions"),
        "The exponents are divided by the number of positions. How fast a hand turns depends on its place among the "
        "d_model columns, not on how long the text is."),
    row("sinusoidal_encoding", "exponents_floored", replace("two_i / d_model", "two_i // d_model"),
        "All hands turn equally fast, as if every exponent were 0. Where `//` divides whole numbers, it drops what is "
        "left; `/` keeps it."),
    row("sinusoidal_encoding", "angles_floored", replace("positions /", "positions //"),
        "The angles are whole numbers: `//` drops what comes after the point. A slow hand moves too, if only a little: "
        "divide with `/`."),
    row("sinusoidal_encoding", "power_before_division",
        replace("10000 ** (two_i / d_model)", "(10000 ** two_i.double() / d_model)"),
        EXPONENT_WITHOUT_BRACKETS),
    row("sinusoidal_encoding", "power_before_both_divisions", replace("(two_i / d_model)", "two_i.double() / d_model"),
        EXPONENT_WITHOUT_BRACKETS),
    row("sinusoidal_encoding", "multiplied_by_the_powers", replace("positions /", "positions *"),
        "The positions are multiplied by the powers of 10000, and the hands spin faster and faster. Divide by them: "
        "each hand is slower than the one before."),
    row("sinusoidal_encoding", "base_of_one_thousand", replace("10000", "1000"),
        "The powers are of 1000 and not of 10000. With a zero missing, the slow hands turn too fast."),
    row("sinusoidal_encoding", "common_logarithm",
        replace("10000 ** (two_i / d_model)", "torch.exp(two_i / d_model * torch.log10(torch.tensor(10000)))"),
        "The logarithm has the wrong base: where `exp` makes the powers, 10000^x = exp(x · ln 10000), with the natural "
        "one, `math.log`."),
    row("sinusoidal_encoding", "angles_in_degrees", replace("angles = positions", "angles = positions.deg2rad()"),
        "The angles were turned from degrees into radians. They are radians already: at position 1 hand 0 has turned "
        "by 1."),
    row("sinusoidal_encoding", "whole_turns", replace("angles = positions", "angles = 2 * torch.pi * positions"),
        "The angles were multiplied by 2π. The formula has no π: hand 0 turns by 1 with each position, and is round "
        "only after more than six."),
    row("sinusoidal_encoding", "positions_as_shares",
        replace("angles = positions", "angles = positions / num_positions"),
        "The positions were divided by their number. A step from one token to the next would then be another one in "
        "each text; take 0, 1, 2, … as they are."),
    row("sinusoidal_encoding", "sines_alone", replace("torch.cos", "torch.sin"),
        "Every column is a sine. A sine alone does not tell where the hand is, for two angles share it; the odd "
        "columns are cosines."),
    row("sinusoidal_encoding", "cosines_missing", replace("torch.cos(angles)", "0 * angles"),
        "The odd columns are still zero: the cosines are missing, or stand somewhere else. Each goes beside its sine."),
    row("sinusoidal_encoding", "by_rows_instead_of_columns",
        replace("torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)",
                "torch.where(positions % 2 == 0, torch.sin(angles), torch.cos(angles)).repeat_interleave(2, dim=1)"),
        "Even positions have sines and odd positions cosines. It goes by columns: every position has both, sines in "
        "the even columns and cosines in the odd ones."),
    row("sinusoidal_encoding", "first_position_left_out", replace(".flatten(-2)", ".flatten(-2) * (positions > 0)"),
        "Position 0 was left all zeros, as if it were padding. It is a position like the others: its cosines are 1."),
    row("sinusoidal_encoding", "features_first", replace(".flatten(-2)", ".flatten(-2).T"),
        "The result lies on its side, (d_model, T). A row is a position: (T, d_model), as embeddings lie too."),
    row("sinusoidal_encoding", "batch_in_front", replace(".flatten(-2)", ".flatten(-2)[None]"),
        "A batch dimension stands in front. The same encoding serves every sequence, and torch stretches (T, d_model) "
        "over the batch by itself."),
    row("sinusoidal_encoding", "positions_of_the_worked_example",
        replace("torch.arange(num_positions)", "torch.arange(4)[:num_positions]"),
        "The encoding always has four positions, as in the worked example. num_positions says how many are wanted."),
    row("sinusoidal_encoding", "a_hundred_positions_at_most",
        replace("torch.arange(num_positions)", "torch.arange(100)[:num_positions]"),
        "The table ends after a hundred positions, and longer texts get no more. Make it as long as num_positions "
        "says."),
    row("sinusoidal_encoding", "single_position_squeezed", replace(".flatten(-2)", ".flatten(-2).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single position is no matrix any more: it is (1, "
        "d_model)."),
    row("sinusoidal_encoding", "odd_width_accepted",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        ODD_ACCEPTED),
    row("sinusoidal_encoding", "odd_width_stumbled_over",
        replace("d_model % 2", "False").replace(".flatten(-2)", ".reshape(num_positions, d_model)"),
        "An odd width ends in an error of another kind than agreed, such as torch's own where sines and cosines do not "
        "fit. Look first, and raise a ValueError that says in words what is wrong."),
    row("sinusoidal_encoding", "odd_number_of_positions_refused",
        replace("d_model % 2", "num_positions % 2").replace(".flatten(-2)", ".flatten(-2)[:, :d_model]"),
        OTHER_NUMBER_REFUSED),

    # add_positions
    row("add_positions", "exponent_doubled_in_what_is_added", replace("sinusoidal_encoding", "exponent_doubled"),
        EXPONENT_DOUBLED),
    row("add_positions", "different_frequencies_in_what_is_added",
        replace("sinusoidal_encoding", "different_frequencies"), EVERY_COLUMN_ITS_OWN),
    row("add_positions", "halves_side_by_side_in_what_is_added", replace("sinusoidal_encoding", "halves_side_by_side"),
        SIDE_BY_SIDE),
    row("add_positions", "positions_from_one_in_what_is_added", replace("sinusoidal_encoding", "positions_from_one"),
        FROM_ONE),
    row("add_positions", "sines_and_cosines_exchanged_in_what_is_added",
        replace("sinusoidal_encoding", "sines_and_cosines_exchanged"), EXCHANGED),
    row("add_positions", "odd_width_accepted_where_added", replace("sinusoidal_encoding", "odd_width_accepted"),
        ODD_ACCEPTED),
    row("add_positions", "odd_number_of_tokens_refused",
        replace("sinusoidal_encoding", "odd_number_of_positions_refused"), OTHER_NUMBER_REFUSED),
    row("add_positions", "multiplied", replace("return x +", "return x *"),
        "The embeddings were multiplied by the encoding. At position 0 every sine is 0 and would wipe out half of "
        "the token; add the encoding."),
    row("add_positions", "put_behind", replace(f"x + {ENCODED}", f"torch.cat([x, {ENCODED}.expand_as(x)], dim=-1)"),
        "The encoding stands behind the embedding, which makes twice the width. Token and position share the same "
        "features: add them."),
    row("add_positions", "encoding_alone", replace(f"x + {ENCODED}", f"{ENCODED}.expand_as(x)"),
        "The encoding came back without the embeddings. It says where a token stands, and no longer which token it "
        "is."),
    row("add_positions", "embeddings_scaled", replace("return x", "return x * d**0.5"),
        "The embeddings were multiplied by √d first. The paper does so before this step; here x is taken as it is."),
    row("add_positions", "first_position_for_all", replace(".to(x.dtype)", ".to(x.dtype)[0]"),
        "Every token got the encoding of position 0, so they still look the same at every place. Token t gets row t."),
    row("add_positions", "sequences_counted",
        replace("(num_tokens, d)", "(len(x), d)").replace(".to(x.dtype)", ".to(x.dtype)[:, None]"),
        "Each sequence got the encoding of its place in the batch. What is counted are the tokens of a sequence, dim "
        "1; that sequences share a batch means nothing."),
    row("add_positions", "rows_for_sequences", replace("(num_tokens, d)", "(len(x), d)"),
        "The encoding has as many rows as there are sequences. It needs one for each token: T is `x.shape[1]`, for "
        "the batch comes first."),
    row("add_positions", "counted_on_through_the_batch",
        replace("(num_tokens, d)", "(len(x) * num_tokens, d).reshape(x.shape)"),
        "The positions run on from one sequence into the next. Each sequence is a text of its own and begins at "
        "position 0."),
    row("add_positions", "features_counted", replace("(num_tokens, d)", "(d, num_tokens).T"),
        "The features were counted instead of the tokens. In (B, T, d) the tokens are dim 1 and the features dim 2."),
    row("add_positions", "first_sequence_alone", replace(f"x + {ENCODED}", f"torch.cat([x[:1] + {ENCODED}, x[1:]])"),
        "Only the first sequence got positions. (B, T, d) + (T, d) adds the encoding to every sequence of the batch."),
    row("add_positions", "tokens_of_the_worked_example", replace("(num_tokens, d)", "(3, d)"),
        "There are always three tokens for this code, as in the worked example. Take as many as x has, `x.shape[1]`."),
    row("add_positions", "single_one_squeezed", replace(f"x + {ENCODED}", f"(x + {ENCODED}).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single sequence, or a single token, loses its place "
        "in the shape."),
    row("add_positions", "made_float32", replace("return x", "return x.float()").replace(".to(x.dtype)", ".float()"),
        "The result is always float32. What x came as, it should leave as: make the encoding like x, `.to(x.dtype)`, "
        "and leave x alone."),
    row("add_positions", "made_float64", replace(".to(x.dtype)", ".double()"),
        "The result is always float64: the encoding was made in float64, and in a sum the wider dtype wins. Bring it "
        "to that of x, `.to(x.dtype)`."),
    row("add_positions", "flattened_by_view", replace("return x", "return x.view(-1, d).view(x.shape)"),
        "`view` needs numbers that lie in memory in the right order, and after a transpose they do not. `reshape` "
        "copies where it has to; but torch adds (T, d) to (B, T, d) without either."),
    row("add_positions", "x_detached", replace("return x", "return x.detach()"),
        "Gradients stop here: x, or the sum, was taken out of the graph, by `.detach()`, `.data` or "
        "`torch.no_grad()`. Through x the embeddings are to learn; it is the encoding that needs no gradient."),
    row("add_positions", "added_in_place", replace(f"return x + {ENCODED}", f"x += {ENCODED}\n    return x"),
        "The caller's x was changed: `+=`, and `add_`, write into the tensor itself, which the caller still holds. "
        "`x + …` makes a new one."),
]
# fmt: on
