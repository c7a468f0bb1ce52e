"""The value of each slip of the quizzes' numbers and shapes, and of each number that only an explanation shows.

By item and column, as a function of the row's other columns.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, log, log2, log10, sin, sqrt, tanh
from typing import Any

Row = dict[str, Any]


def _share(of: float, *others: float) -> float:
    """The weight that softmax gives to the first score."""
    return exp(of) / (exp(of) + sum(map(exp, others)))


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _sum(a: list[float], b: list[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _square_deviations(x: list[float]) -> float:
    return sum((one - sum(x) / len(x)) ** 2 for one in x)


def _ratio(r: Row, layers: int, width: int) -> float:
    return (r["second_layers"] / r["first_layers"]) ** layers * (r["second_width"] / r["first_width"]) ** width


def _pairs(n: int) -> int:
    """The number of the n · n pairs that a causal mask leaves open."""
    return n * (n + 1) // 2


SLIPS: dict[str, dict[str, Callable[[Row], Any]]] = {
    # -- unit 1
    "lead_for_a_ratio": {"linear": lambda r: r["ratio"], "base_ten": lambda r: log10(r["ratio"])},
    "two_large_scores": {
        "by_sum": lambda r: r["first"] / (r["first"] + r["second"]),
        "other": lambda r: _share(r["second"] - r["first"], 0),
    },
    "context_from_scores": {"third": lambda r: r["x3"], "unnormalised": lambda r: log(r["n"]) * r["x3"]},
    "swapped_factors": {"tokens": lambda r: [r["T"], r["T"]], "unchanged": lambda r: [r["T"], r["d"]]},
    # -- unit 2
    "scaled_by_hand": {
        "halved": lambda r: r["score"] / r["d_k"] * 0.5,
        "whole": lambda r: r["score"] / r["d_k"],
        "by_tokens": lambda r: r["score"] / sqrt(r["T_k"]),
    },
    "variance_after_scaling": {
        "deviation": lambda r: r["s_q"] * r["s_k"],
        "unscaled": lambda r: r["d_k"] * (r["s_q"] * r["s_k"]) ** 2,
        "root": lambda r: sqrt(r["d_k"]) * (r["s_q"] * r["s_k"]) ** 2,
    },
    "shape_of_contexts": {
        "weights": lambda r: [r["B"], r["T_q"], r["T_k"]],
        "like_queries": lambda r: [r["B"], r["T_q"], r["d_k"]],
        "like_values": lambda r: [r["B"], r["T_k"], r["d_v"]],
    },
    # -- unit 3
    "the_second_row": {
        "kept": lambda r: r["w1"],
        "third_too": lambda r: r["w1"] / (r["w1"] + r["w2"] + r["w3"]),
        "second_softmax": lambda r: _share(r["w1"], r["w2"]),
    },
    "the_second_of_three": {
        "unscaled": lambda r: _share(r["s1"], r["s2"]),
        "zero": lambda r: _share(r["s1"] / sqrt(r["d_k"]), r["s2"] / sqrt(r["d_k"]), 0),
        "seen": lambda r: _share(*(r[name] / sqrt(r["d_k"]) for name in ("s1", "s2", "s3"))),
    },
    "shape_of_weights": {
        "longest": lambda r: [r["B"], r["context_length"], r["context_length"]],
        "single": lambda r: [r["T"], r["T"]],
        "outputs": lambda r: [r["B"], r["T"], r["d_out"]],
    },
    "sum_of_the_survivors": {
        "renormalised": lambda _: 1,
        "unscaled": lambda r: r["w1"] + r["w3"],
        "shrunk": lambda r: (r["w1"] + r["w3"]) * (1 - r["p"]),
    },
    # -- unit 4
    "shape_of_transposed_keys": {
        "head_dim": lambda r: r["d_out"] / r["H"],
        "not_transposed": lambda r: [r["B"], r["H"], r["T"], r["d_out"] // r["H"]],
        "not_grouped": lambda r: [r["B"], r["T"], r["d_out"] // r["H"], r["H"]],
    },
    "heads_side_by_side": {
        "below": lambda r: [r["B"], r["k"] * r["T"], r["head_dim"]],
        "summed": lambda r: [r["B"], r["T"], r["head_dim"]],
        "stacked": lambda r: [r["k"], r["B"], r["T"], r["head_dim"]],
    },
    "weights_left_open": {
        "one_head": lambda r: _pairs(r["T"]),
        "unmasked": lambda r: r["H"] * r["T"] ** 2,
        "without_diagonal": lambda r: r["H"] * _pairs(r["T"] - 1),
    },
    "reshape_alone": {
        "group": lambda r: r["h"] * r["T"] + r["t"],
        "token": lambda r: (r["h"] * r["T"] + r["t"]) * r["head_dim"] // r["d_out"],
        "feature": lambda r: (r["h"] * r["T"] + r["t"]) * r["head_dim"] % r["d_out"],
        "transposed": lambda r: 10 * r["t"] + r["h"] * r["head_dim"],
    },
    "from_wrapper_to_module": {"the_same": lambda r: r["d_out"], "shared_again": lambda r: r["d_out"] / r["H"]},
    # -- unit 5
    "score_with_positions": {
        "words_only": lambda r: _dot(r["first_word"], r["second_word"]),
        "two_products": lambda r: _dot(r["first_word"], r["second_word"]) + _dot(r["first_place"], r["second_place"]),
    },
    "shape_of_the_sum": {
        "concatenated": lambda r: [r["B"], r["T"], 2 * r["d"]],
        "whole_table": lambda r: [r["B"], r["L"], r["d"]],
        "no_batch": lambda r: [r["T"], r["d"]],
    },
    "two_tables": {
        "of_positions": lambda r: r["L"] * r["d"],
        "tokens_only": lambda r: r["V"] * r["d"],
        "one_for_each_pair": lambda r: r["V"] * r["L"] * r["d"],
    },
    "one_entry": {
        "i": lambda r: r["feature"] // 2,
        "divisor": lambda r: 10_000 ** ((r["feature"] - 1) / r["d"]),
        "sine": lambda r: sin(r["pos"] / 10_000 ** ((r["feature"] - 1) / r["d"])),
        "feature_for_i": lambda r: cos(r["pos"] / 10_000 ** (2 * r["feature"] / r["d"])),
        "own_frequency": lambda r: cos(r["pos"] / 10_000 ** (r["feature"] / r["d"])),
    },
    # -- unit 6
    "trained_table": {
        "ratio": lambda r: r["e"] / r["a"],
        "difference": lambda r: (r["e"] - r["a"]) / (r["e"] + r["a"] + r["o"]),
        "base_two": lambda r: log2(r["e"] / r["a"]),
    },
    "batch_loss": {
        "each_chunk": lambda r: r["total"] / r["B"],
        "each_position": lambda r: r["total"] / r["T"],
        "one_fewer": lambda r: r["total"] / (r["B"] * (r["T"] - 1)),
    },
    "edges": {
        "without_self": lambda r: r["B"] * _pairs(r["T"] - 1),
        "without_mask": lambda r: r["B"] * r["T"] ** 2,
        "one_graph": lambda r: _pairs(r["B"] * r["T"]),
    },
    "one_raised_score": {
        "mean": lambda r: sum(r["x"][:3]) / 3,
        "with_future": lambda r: _dot(r["x"], [1, 1, r["k"], 1]) / (3 + r["k"]),
        "undivided": lambda r: _dot(r["x"][:3], [1, 1, r["k"]]),
    },
    "logits_in_a_later_call": {
        "one_too_many": lambda r: [r["B"], r["T"] + r["call"], r["V"]],
        "prompt_alone": lambda r: [r["B"], r["T"], r["V"]],
        "last_alone": lambda r: [r["B"], r["V"]],
    },
    # -- unit 7
    "normalised_feature": {
        "mean": lambda r: sum(r["x"]) / len(r["x"]),
        "variance": lambda r: _square_deviations(r["x"]) / len(r["x"]),
        "unbiased": lambda r: (r["x"][-1] - r["mean"]) / sqrt(_square_deviations(r["x"]) / (len(r["x"]) - 1)),
        "without_root": lambda r: (r["x"][-1] - r["mean"]) / r["variance"],
        "uncentred": lambda r: r["x"][-1] / sqrt(r["variance"]),
    },
    "shape_of_the_means": {
        "batch_norm": lambda r: [1, 1, r["C"]],
        "each_sequence": lambda r: [r["B"], 1, 1],
        "dropped": lambda r: [r["B"], r["T"]],
    },
    "a_larger_model": {
        "linear": lambda r: _ratio(r, layers=1, width=1),
        "only_layers": lambda r: _ratio(r, layers=1, width=0),
        "only_width": lambda r: _ratio(r, layers=0, width=2),
    },
    "slope_of_the_stack": {
        "product": lambda r: r["slope"] ** r["steps"],
        "sum": lambda r: 1 + r["slope"] * r["steps"],
    },
    "feed_forward_parameters": {
        "hidden": lambda r: 4 * r["C"],
        "without_biases": lambda r: 8 * r["C"] ** 2,
        "without_expansion": lambda r: 2 * (r["C"] ** 2 + r["C"]),
        "equal_biases": lambda r: 8 * r["C"] ** 2 + 2 * 4 * r["C"],
    },
    # -- unit 8
    "fading_echo": {
        "h_1": lambda r: tanh(r["x_1"]),
        "second_state": lambda r: tanh(tanh(r["x_1"]) * r["W_h"]),
        "one_tanh": lambda r: tanh(r["x_1"]) * r["W_h"] ** 2,
        "no_tanh": lambda r: r["x_1"] * r["W_h"] ** 2,
    },
    "context_and_padding": {
        "sum": lambda r: 1 + r["k"],
        "score_of_zero": lambda r: (r["first"] + r["k"] * r["second"] + r["third"]) / (2 + r["k"]),
        "average": lambda r: (r["first"] + r["second"]) / 2,
        "exchanged": lambda r: (r["k"] * r["first"] + r["second"]) / (1 + r["k"]),
    },
    "shape_of_cross_attention": {
        "exchanged": lambda r: [r["B"], r["T_k"], r["T_q"]],
        "within_decoder": lambda r: [r["B"], r["T_q"], r["T_q"]],
        "within_encoder": lambda r: [r["B"], r["T_k"], r["T_k"]],
        "output": lambda r: [r["B"], r["T_q"], r["d_out"]],
    },
    # -- practice, unit 1
    "dot_by_hand": {
        "signs_lost": lambda r: sum(abs(x * y) for x, y in zip(r["a"], r["b"], strict=True)),
        "sums_first": lambda r: sum(r["a"]) * sum(r["b"]),
    },
    "shape_of_the_scores": {
        "features": lambda r: [r["d"]],
        "all_pairs": lambda r: [r["T"], r["T"]],
        "products": lambda r: [r["T"], r["d"]],
    },
    "sum_with_keepdim": {"last": lambda r: [r["T"], 1], "dropped": lambda r: [r["d"]]},
    "mix_of_three": {
        "mean": lambda r: (r["x1"] + r["x2"] + r["x3"]) / 3,
        "largest": lambda r: max((r[f"w{i}"], r[f"x{i}"]) for i in (1, 2, 3))[1],
    },
    # -- practice, unit 2
    "shape_of_a_weight": {"swapped": lambda r: [r["d_in"], r["d_out"]], "bias": lambda r: [r["d_out"]]},
    "shape_of_turned_keys": {
        "first_two": lambda r: [r["T"], r["B"], r["d_k"]],
        "reversed": lambda r: [r["d_k"], r["T"], r["B"]],
    },
    "parameters_with_bias": {
        "without_biases": lambda r: 3 * r["d_in"] * r["d_out"],
        "one_layer": lambda r: (r["d_in"] + 1) * r["d_out"],
    },
    "second_entry_of_a_query": {
        "by_row": lambda r: _dot(r["x"], r["row_1"]),
        "first": lambda r: _dot(r["x"], [r["row_0"][0], r["row_1"][0]]),
    },
    # -- practice, unit 3
    "hidden_in_one_row": {"seen": lambda r: r["i"] + 1, "with_itself": lambda r: r["T"] - r["i"]},
    "a_cut_mask": {"rows_only": lambda r: [r["T"], r["L"]], "whole": lambda r: [r["L"], r["L"]]},
    "kept_on_average": {"dropped": lambda r: r["n"] * r["p"], "scaled": lambda r: round(r["n"] / (1 - r["p"]), 2)},
    # -- practice, unit 4
    "shape_after_unrolling": {
        "grouped": lambda r: [r["B"], r["H"], r["T"], r["d_out"] // r["H"]],
        "swapped": lambda r: [r["B"], r["T"], r["d_out"] // r["H"], r["H"]],
    },
    "shape_of_all_scores": {
        "one_matrix": lambda r: [r["B"], r["T"], r["T"]],
        "features": lambda r: [r["B"], r["H"], r["head_dim"], r["head_dim"]],
    },
    "where_a_head_begins": {
        "by_heads": lambda r: r["h"] * r["H"],
        "from_one": lambda r: (r["h"] - 1) * r["d_out"] / r["H"],
    },
    "parameters_of_the_module": {
        "no_projection": lambda r: 3 * r["d_in"] * r["d_out"],
        "no_bias": lambda r: (3 * r["d_in"] + r["d_out"]) * r["d_out"],
    },
    # -- practice, unit 5
    "column_of_the_cosine": {"sine": lambda r: 2 * r["i"], "half": lambda r: r["d"] / 2 + r["i"]},
    "shape_of_the_angles": {"all_columns": lambda r: [r["T"], r["d"]], "hands_only": lambda r: [r["d"] // 2]},
    "squared_length": {"every_column": lambda r: r["d"], "one_circle": lambda r: 1},  # noqa: ARG005
    "weight_plus_bias": {
        "no_bias": lambda r: _dot(r["x"], r["w"]),
        "bias_first": lambda r: _dot(r["x"], [w + r["b"] for w in r["w"]]),
    },
    # -- practice, unit 6
    "size_of_a_vocabulary": {
        "length": lambda r: len(r["text"]),
        "without_space": lambda r: len(set(r["text"]) - {" "}),
    },
    "id_of_a_letter": {
        "as_it_appears": lambda r: list(dict.fromkeys(r["text"])).index(r["letter"]),
        "from_one": lambda r: sorted(set(r["text"])).index(r["letter"]) + 1,
    },
    "possible_starts": {"one_more": lambda r: r["N"] - r["T"] + 1, "one_fewer": lambda r: r["N"] - r["T"] - 1},
    "flat_logits": {
        "features_merged": lambda r: [r["B"], r["T"] * r["V"]],
        "like_targets": lambda r: [r["B"] * r["T"]],
    },
    "loss_of_one_character": {"base_ten": lambda r: -log10(r["p"]), "distance": lambda r: 1 - r["p"]},
    # -- practice, unit 7
    "parameters_of_two_norms": {"one_norm": lambda r: 2 * r["C"], "one_number_each": lambda r: 4},  # noqa: ARG005
    "shape_of_the_hidden_layer": {
        "unchanged": lambda r: [r["B"], r["T"], r["C"]],
        "flat": lambda r: [r["B"] * r["T"], 4 * r["C"]],
    },
    "parameters_of_four_layers": {
        "three_layers": lambda r: 3 * (r["C"] + 1) * r["C"],
        "without_biases": lambda r: 4 * r["C"] ** 2,
    },
    # -- practice, capstone
    "parameters_of_a_small_gpt": {
        "shared_matrix": lambda r: (r["V"] + r["L"] + 2) * r["C"] + r["N"] * r["block"],
        "no_positions": lambda r: 2 * (r["V"] + 1) * r["C"] + r["N"] * r["block"],
    },
    "a_larger_vocabulary": {
        "only_the_table": lambda r: (r["W"] - r["V"]) * r["C"],
        "with_a_bias": lambda r: (r["W"] - r["V"]) * (2 * r["C"] + 1),
    },
    "shape_of_the_position_rows": {
        "whole_table": lambda r: [r["L"], r["C"]],
        "for_each_text": lambda r: [r["B"], r["T"], r["C"]],
    },
    "the_last_call": {
        "with_the_last": lambda r: [r["B"], r["T"] + r["N"]],
        "as_at_first": lambda r: [r["B"], r["T"]],
    },
    # -- practice, unit 8
    "shape_of_all_states": {"last_state": lambda r: [r["h"]], "like_inputs": lambda r: [r["T"], r["d"]]},
    "parameters_of_an_rnn": {
        "without_memory": lambda r: (r["d"] + 1) * r["h"],
        "without_bias": lambda r: (r["d"] + r["h"]) * r["h"],
    },
    "one_additive_score": {
        "no_tanh": lambda r: r["v"] * _dot([r["s"], r["h"]], [r["w_d"], r["w_e"]]),
        "v_inside": lambda r: tanh(r["v"] * _dot([r["s"], r["h"]], [r["w_d"], r["w_e"]])),
    },
    "shape_of_the_keys": {
        "of_queries": lambda r: [r["B"], r["T_q"], r["d_out"]],
        "not_projected": lambda r: [r["B"], r["T_k"], r["d_context"]],
    },
}
