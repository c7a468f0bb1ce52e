"""running_mean_loop: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import torch

from grader.suites.bigram_language_model.shared import (
    ANY_LENGTH,
    CHANGED,
    DIVIDED_BY_ALL,
    EITHER_DTYPE,
    FUTURE_TOO,
    GRADIENTS,
    LEFT_ALONE,
    LENGTHS,
    MEAN,
    PRESENT_LEFT_OUT,
    SUMMED,
    averaging,
    expect_means,
)
from grader.testing.draws import numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.suite import IN_BOTH_DTYPES, Example, contract, kept_arguments, right_gradients, right_results

test_contract = contract(
    averaging("running_mean_loop"),
    right_results("means_by_loop", *MEAN, ask=averaging("running_mean_loop", expect_means)),
    right_results("any_length_by_loop", *ANY_LENGTH, *LENGTHS),
    right_results("either_dtype_by_loop", *EITHER_DTYPE, *IN_BOTH_DTYPES),
    right_gradients("gradients_of_the_loop", *GRADIENTS),
    kept_arguments("the_loop_leaves_x_alone", *LEFT_ALONE, "x was changed."),
    example=Example({"x": numbers(3, 4, 2)}),
)


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("future_averaged_by_loop", replace("[: token + 1]", ""), FUTURE_TOO),
    mistake("present_left_out_by_loop", replace("token + 1]", "token]"), PRESENT_LEFT_OUT),
    mistake("next_token_averaged_by_loop", replace("token + 1]", "token + 2]"),
        "The next token is averaged too: one position too far. A model should predict the next token, so it must not "
        "see it."),
    mistake("summed_by_loop", replace("mean(dim=0)", "sum(dim=0)"), SUMMED),
    mistake("divided_by_all_by_loop", replace("mean(dim=0)", "sum(dim=0) / len(text)"), DIVIDED_BY_ALL),
    mistake("divided_by_one_too_few", replace("mean(dim=0)", "sum(dim=0) / token"),
        "The sum of t + 1 tokens is divided by t. Tokens are counted from 0, so token t is the last of t + 1 tokens."),
    mistake("features_averaged_too", replace("mean(dim=0)", "mean().expand(x.shape[2])"),
        "The mean runs over the features too, so all features of a token become equal. Average only over the tokens: "
        "`mean(dim=0)` of a text's past."),
    mistake("texts_averaged_too", replace("text[: token + 1].mean(dim=0)", "x[:, : token + 1].mean(dim=(0, 1))"),
        "The mean runs over the texts of the batch too. The texts are independent: average the tokens of each text "
        "separately."),
    mistake("last_token_forgotten", replace("mean(dim=0)", "mean(dim=0) * (token + 1 < len(text))"),
        "The loop stops before the last token, and its mean stays zero. `range(T)` goes through all T tokens."),
    mistake("no_gradients_by_loop", replace("in x]", "in x.detach()]"),
        "Gradients stop at the means, for example because of `.detach()`, `.item()`, or numbers taken out of the "
        "tensor. The layers that made the tokens learn only through them."),
    mistake("x_changed_by_loop",
        replace("return torch", "x[:] = torch").replace("x],\n    )", "x],\n    )\n    return x"), CHANGED),
    mistake("total_of_earlier_texts_kept",
        replace("text[: token + 1].mean(dim=0)",
                "(text[: token + 1].sum(dim=0) + x[:number].sum(dim=(0, 1))) / (token + 1)")
        .replace("for text in x]", "for number, text in enumerate(x)]"),
        "The running total keeps the tokens of the texts before, so only the first text is right. Set it to zero "
        "before each text."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def maximum(x):
        return x.cummax(dim=1).values

    def of_the_means(x):
        out = x.clone()
        for t in range(1, x.shape[1]):
            out[:, t] = out[:, : t + 1].clone().mean(1)
        return out

    def last_text_alone(x):
        out = torch.zeros_like(x)
        for t in range(x.shape[1]):
            out[-1, t] = x[-1, : t + 1].mean(0)
        return out

    def future(x):
        return torch.stack([x[:, t:].mean(1) for t in range(x.shape[1])], dim=1)

    def dimensions_exchanged(x):
        return torch.stack([x[:, : t + 1].mean(1) for t in range(x.shape[1])], dim=0)

    def over_features(x):
        return x.cumsum(2) / torch.arange(1, x.shape[2] + 1).to(x)

    def list_of_means(x):
        return [x[:, : t + 1].mean(1) for t in range(x.shape[1])]

    def indices_left_over(x):
        out = []
        for text in x:
            for t in range(len(text)):
                mean = text[: t + 1].mean(0)
            out.append(mean)
        return torch.stack(out)

    def divided_by_t_plus_two(x):
        return torch.stack([x[:, : t + 1].sum(1) / (t + 2) for t in range(x.shape[1])], dim=1)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    from torch import Tensor

    def by_hand(x):
        texts = []
        for text in x:
            total, means = torch.zeros_like(text[0]), []
            for token, features in enumerate(text):
                total = total + features
                means.append(total / (token + 1))
            texts.append(torch.stack(means))
        return torch.stack(texts)

    def heads_of_unit_four(x):
        out = torch.empty_like(x)
        for token in range(x.shape[1]):
            out[:, token] = x[:, : token + 1].sum(1) / (token + 1)
        return out

    def index_notation(x: Tensor) -> Tensor:
        means = [x[:, 0]]
        for t in range(1, x.size(1)):
            means.append((means[-1] * t + x[:, t]) / (t + 1))
        return torch.stack(means, 1)

    def one_on_another(x):
        return torch.stack([x[:, : token + 1].mean(dim=1) for token in range(x.shape[1])], dim=1)

    def ready_made(x):
        xbow = torch.zeros_like(x)
        for b in range(x.shape[0]):
            for t in range(x.shape[1]):
                xbow[b, t] = torch.mean(x[b, : t + 1], 0)
        return xbow
