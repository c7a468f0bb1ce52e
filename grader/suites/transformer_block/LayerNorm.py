"""LayerNorm: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.transformer_block.shared import (
    ALL_DETACHED,
    CHANGED,
    EPS,
    B,
    C,
    H,
    Norm,
    T,
    Weights,
    centred,
    normalized_vectors,
    registered_name,
    variance,
    with_calm_gradients,
)
from grader.testing.checks import (
    expect_close,
    expect_dtype,
    expect_gradients,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
)
from grader.testing.draws import Fresh, numbers
from grader.testing.misconceptions import mistake, replace
from grader.testing.probes import Draw, Property, call, has_parameters, probe, set_to
from grader.testing.student import Failure, RemoteObject, Student
from grader.testing.suite import Example, rule


def set_parameters(norm: RemoteObject, values: Weights) -> Weights:
    """Set the attributes to these values, and return the values by registered name."""
    current = norm.parameters()
    named = {registered_name(norm, current, attribute) or attribute: value for attribute, value in values.items()}
    norm.set(named)
    return named


def plain_norm(student: Student, *arguments: float, dtype: torch.dtype = torch.float32) -> RemoteObject:
    """A LayerNorm with scale one and shift zero, whatever their initial values are."""
    norm = student.queue("LayerNorm", C, *arguments)
    if dtype == torch.float64:
        norm.to(dtype)
    current = norm.parameters()
    for attribute, make in (("scale", torch.ones), ("shift", torch.zeros)):
        if name := registered_name(norm, current, attribute):
            norm.set({name: make(current[name].shape)})
    return norm


def direction(x: torch.Tensor) -> torch.Tensor:
    """Each vector, divided by its length."""
    return x.double() / x.double().norm(dim=-1, keepdim=True)


def expect_normalized(result: object, x: torch.Tensor) -> None:
    """Expect the directions of the vectors of x, whose means are zero, and variances near one.

    Another test checks the exact variance: the biased and the unbiased one differ by a seventh.
    """
    found = expect_tensor(result, x.shape)
    expect_close(direction(found), direction(x), "The outputs, each divided by its length,")
    expect_variances_near_one(found)


def expect_variances_near_one(found: torch.Tensor) -> None:
    spread = variance(found)
    expect_true(bool(((spread > 0.6) & (spread < 1.6)).all()), "The variances of the outputs are not near one.")


@rule("scale and shift are nn.Parameter, each of shape (emb_dim,)")
def test_scale_and_shift_are_parameters(student: Student) -> None:
    """scale and shift should each be an nn.Parameter with a number for each of the emb_dim features."""
    norm = student.queue("LayerNorm", C)
    parameters = norm.parameters()
    for attribute in ("scale", "shift"):
        name = registered_name(norm, parameters, attribute)
        if name is None:
            with contextlib.suppress(Failure):
                is_tensor = isinstance(norm.get(attribute), torch.Tensor)
                expect_true(not is_tensor, f"{attribute} is a tensor, but not an nn.Parameter.")
        expect_true(name is not None, f"None of the {len(parameters)} parameters is {attribute}.")
        expect_true(parameters[name or ""].shape == (C,), f"{attribute} does not have the shape (emb_dim,).")


@rule("each vector of emb_dim features is normalised separately, independently of other tokens and texts")
def test_each_token_is_normalized_on_its_own(student: Student, fresh: Fresh) -> None:
    """Each token's features should be normalised separately, independently of other tokens and texts."""
    x = normalized_vectors(fresh, B, T, C) * torch.arange(2, 2 + T)[:, None]
    expect_normalized(plain_norm(student)(x), x)


@rule("its mean is subtracted")
def test_the_mean_is_subtracted(student: Student, fresh: Fresh) -> None:
    """Each output vector should have the direction of the differences of the features from their mean."""
    x = fresh(B, T, C) + 2
    found = expect_tensor(plain_norm(student)(x), x.shape)
    expect_close(direction(found), direction(centred(x)), "The outputs, each divided by its length,")


VARIANCE = (
    "the result is divided by the square root of variance + eps, where the variance is the biased one: the mean of the "
    "squared differences from the mean"
)


@rule(VARIANCE)
def test_the_variance_of_the_outputs_is_one(student: Student, fresh: Fresh) -> None:
    """The biased variance of each output vector should be one, if eps is far too small to matter."""
    x = 3 * fresh(B, T, C) + 2
    found = expect_tensor(plain_norm(student)(x), x.shape)
    expect_close(variance(found), torch.ones(B, T), "The variances of the outputs")


def expect_eps(norm: RemoteObject, vectors: torch.Tensor, eps: float) -> None:
    """Expect that eps is added to the variances, biased or not. vectors: with a variance of about one.

    A vector of variance v, divided by √(a · v + eps), has the variance v / (a · v + eps). So the ratio of the variances
    before and after is a linear function of v, with the value eps at v = 0. Two points determine it.
    """
    points = []
    for times in (0.5, 2):  # a variance below eps, and one above
        x = vectors * (times * eps) ** 0.5
        found = expect_tensor(norm(x), x.shape)
        points.append((variance(x), variance(x) / variance(found)))
    (near, low), (far, high) = points
    added = (low * far - high * near) / (far - near)
    expect_close(added / eps, torch.ones_like(added), "The numbers added to the variances, each divided by eps,")


@rule(VARIANCE)
def test_eps_is_added_to_the_variance(student: Student, fresh: Fresh) -> None:
    """The given eps should be added to the variance, inside the root."""
    expect_eps(plain_norm(student, 0.7), normalized_vectors(fresh, B, T, C), 0.7)


@rule("eps is 1e-5 unless another is given")
def test_the_default_eps(student: Student, fresh: Fresh) -> None:
    """If no eps is given, the default of the rule should be added to the variance."""
    expect_eps(plain_norm(student), normalized_vectors(fresh, B, T, C), EPS)


@rule("at the end it is multiplied by scale, and then shift is added")
def test_outputs_are_scaled_and_shifted(student: Student, fresh: Fresh) -> None:
    """Each normalised feature should be multiplied by its own scale, and then its own shift should be added."""
    x, parameters = fresh(B, T, C), {"scale": fresh(C), "shift": fresh(C)}
    norm = plain_norm(student)
    plain = expect_tensor(norm(x), x.shape).double()
    expect_true(bool((variance(plain) > 0.01).all()), "Without scale and shift all features of an output are equal.")
    set_parameters(norm, parameters)
    expect_close(norm(x), torch.addcmul(parameters["shift"].double(), plain, parameters["scale"].double()))


@rule(
    "any number of leading dimensions, including none; x may be non-contiguous, for example the result of a transpose"
)
def test_layer_norm_takes_any_leading_dimensions(student: Student, fresh: Fresh) -> None:
    """A single vector, a text, a batch, and more leading dimensions should all be normalised."""
    norm = plain_norm(student)
    for shape in ((C,), (1, C), (T, C), (B, H, T, C)):
        x = 3 * normalized_vectors(fresh, *shape)
        expect_normalized(norm(x), x)
    view = 3 * normalized_vectors(fresh, T, B, C).transpose(0, 1)  # (T, B, C) -> (B, T, C)
    expect_normalized(norm(view), view)


@rule("gradients reach x, scale and shift")
def test_gradients_of_layer_norm(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x, also through its mean and its variance, and scale and shift."""
    # The variance is so large that eps does not matter.
    x, parameters = 5 * fresh(B, T, C), {"scale": fresh(C), "shift": fresh(C)}
    norm = student.queue("LayerNorm", C)
    names = dict(zip(set_parameters(norm, parameters), parameters, strict=True))
    _, found = expect_values(norm.gradients(x), 2)
    by_key = {names.get(name, name): gradient for name, gradient in found.items()}
    expect_gradients(by_key, oracle_gradients(Norm.normalize, [x], parameters))


@rule("the dtype is kept: float32 stays float32 and, after .double(), float64 stays float64")
def test_layer_norm_keeps_the_dtype(student: Student, fresh: Fresh) -> None:
    """The output should be float32 if x is and, after .double(), float64."""
    for dtype in (torch.float32, torch.float64):
        x = 3 * normalized_vectors(fresh, B, T, C, dtype=dtype)
        output = plain_norm(student, dtype=dtype)(x)
        expect_normalized(output, x)
        expect_dtype(output, dtype)


@rule("x is not changed")
def test_layer_norm_leaves_x_alone(student: Student, fresh: Fresh) -> None:
    """The output should be normalised, and the call should not change x."""
    # With a mean that is not zero, so that subtracting it in place changes x.
    x = 3 * normalized_vectors(fresh, B, T, C) + 1
    output, [after] = expect_values(plain_norm(student).with_arguments(x), 2)
    expect_variances_near_one(expect_tensor(output, x.shape))
    expect_same(after, x, "x was changed.")


EXAMPLE = Example({"x": numbers(2, 3, 5)}, keeps_dtype=True, made={"emb_dim": 5},
                  also={"kept": "x is not changed",
                        "float64": "the dtype is kept: float32 stays float32 and, after .double(), float64 stays "
                                   "float64"})  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

MISCONCEPTIONS = [
    mistake("unbiased_variance", replace("unbiased=False", "unbiased=True"),
        "The variance is the unbiased one: divide by C, with `unbiased=False`."),
    mistake("eps_outside_the_root",
        replace("x.var", "x.std").replace("torch.sqrt(variance + self.eps)", "(variance + self.eps)"),
        "eps is added to the deviation, outside the root: add it to the variance."),
    mistake("unbiased_deviation_plus_eps",
        replace("x.var", "x.std").replace("unbiased=False", "unbiased=True")
        .replace("torch.sqrt(variance + self.eps)", "(variance + self.eps)"),
        "The variance is the unbiased one: divide by C, with `unbiased=False`. eps is added to the deviation, outside "
        "the root: add it to the variance."),
    mistake("norm_of_the_annotated_transformer",
        replace(", unbiased=False", "").replace("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)")
        .replace("1e-5", "1e-6"),
        "This is the norm of a well-known tutorial: the unbiased standard deviation, eps outside the root, and 1e-6 "
        "as its default. Take the root of the biased variance plus eps, which is 1e-5 by default."),
    mistake("eps_forgotten", replace("variance + self.eps", "variance"),
        "eps is not added to the variance. If all features of a token are equal, their variance is zero, and without "
        "eps this divides by zero."),
    mistake("eps_argument_ignored", replace("self.eps = eps", "self.eps = 1e-5"),
        "eps is always 1e-5 and ignores the argument. Store it, `self.eps = eps`, and use it."),
    mistake("root_forgotten", replace("torch.sqrt", ""),
        "The differences are divided by the variance itself. Divide by its root, the standard deviation, which has "
        "the size of the features."),
    mistake("root_of_the_deviation", replace("x.var", "x.std"),
        "The root is taken of a standard deviation, which is a root already. Take it of the variance plus eps."),
    mistake("divided_by_the_length",
        replace("x.var(dim=-1, keepdim=True, unbiased=False)", "(x - mean).square().sum(dim=-1, keepdim=True)"),
        "The differences are divided by the root of their sum of squares, which makes vectors of length one. Divide "
        "the sum by C first: the variance is a mean."),
    mistake("mean_subtracted_too_late",
        replace("(x - mean) / torch.sqrt(variance + self.eps)", "(x - mean / torch.sqrt(variance + self.eps))"),
        "Only the mean is divided by the root, because Python divides before it subtracts. Put the difference in "
        "brackets: subtract first, then divide."),
    mistake("root_mean_square_norm",
        replace("x - mean", "x")
        .replace("x.var(dim=-1, keepdim=True, unbiased=False)", "x.square().mean(dim=-1, keepdim=True)"),
        "This is RMSNorm, which divides by the root of the mean square and does not subtract the mean. Newer models "
        "use it. Layer norm first subtracts the mean."),
    mistake("over_the_batch", replace("dim=-1", "dim=0", times=2),
        "Mean and variance run over the batch, the first dimension, as in batch norm. Then a token's numbers depend "
        "on the other texts in the batch. Normalise over the features: the last dimension."),
    mistake("over_the_last_two_dims", replace("dim=-1", "dim=(-2, -1)", times=2),
        "Mean and variance run over tokens and features together, one pair for each text. Each token needs its own "
        "mean and variance: only the last dimension."),
    mistake("over_everything",
        replace("x.mean(dim=-1, keepdim=True)", "x.mean()").replace("dim=-1, keepdim=True, ", ""),
        "Mean and variance are those of the whole tensor: write `dim=-1, keepdim=True`."),
    mistake("keepdim_forgotten", replace(", keepdim=True", "", times=2),
        "The mean or the variance has lost its dimension: without `keepdim=True` it is (B, T), which does not match "
        "(B, T, C). Keep it as (B, T, 1)."),
    mistake("rows_by_view", replace("mean = ", "x = x.view(-1, x.shape[-1]).view(x.shape)\n        mean = "),
        "`view` fails if x is non-contiguous, for example the result of a transpose. `reshape` works, and with "
        "`dim=-1` you need neither."),
    mistake("one_number_for_all_features", replace("(emb_dim)", "(1)", times=2),
        "scale and shift are one number each: make them emb_dim numbers wide."),
    mistake("plain_tensors", replace("nn.Parameter", "", times=2),
        "scale and shift are plain tensors. An optimiser does not find them, so they stay one and zero: wrap them in "
        "nn.Parameter."),
    mistake("other_names", replace("self.scale", "self.gamma", times=2).replace("self.shift", "self.beta", times=2),
        "The parameters have other names, such as gamma and beta or weight and bias. Code that loads weights uses "
        "the names: call them scale and shift."),
    mistake("norm_detached", replace("return ", "return (").replace("+ self.shift", "+ self.shift).detach()"),
        ALL_DETACHED),
    mistake("made_float32", replace("return ", "return (").replace("+ self.shift", "+ self.shift).float()"),
        "The output is always float32, for example because of `.float()` or a float32 tensor. If x and the "
        "parameters are float64, the output should be float64."),
    mistake("x_centred_in_place", replace("variance = ", "x -= mean\n        variance = ").replace("x - mean", "x"),
        CHANGED),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe()
def normalised_features(unit: Any, draw: Draw) -> Iterator[Property]:
    # If features are nearly equal, their differences in float32 are only rounding errors. One feature equals its mean.
    is_exact = draw.dtype == torch.float64
    emb_dim = draw.size(1 if is_exact else 2, 8)
    options = draw.pick({}, {}, {"eps": 1e-5}, {"eps": 1e-3}, {"eps": 0.5})
    module = unit.LayerNorm(emb_dim, **options)
    for name, parameter in (("scale", module.scale), ("shift", module.shift)):
        yield f"what {name} is", isinstance(parameter, nn.Parameter)
        yield f"whether {name} has a number for each feature", parameter.shape == (emb_dim,)
        yield f"whether {name} is trained", has_parameters(module, [parameter])
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = {name: set_to(getattr(module, name), draw.normal(emb_dim, scale=1)) for name in ("scale", "shift")}
    x = draw.normal(*draw.sizes(draw.size(0, 3)), emb_dim)
    match draw.pick("spread", "spread", "small", "constant"):
        case "constant":
            x = torch.full_like(x, draw.pick(0.0, 1.0, -2.0))
        case "small" if is_exact:  # so that eps matters
            x = 0.003 * x
        case _:
            x = x + 10 * torch.arange(emb_dim)
    seen = call(module, draw.viewed(x), keeps_dtype=True, parameters=parameters)
    yield from with_calm_gradients(seen, x, options.get("eps", 1e-5))


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    import torch.nn.functional as F

    class _Affine(nn.Module):
        """The parameters of a layer norm, and nothing else."""

        def __init__(self, emb_dim, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.scale = nn.Parameter(torch.ones(emb_dim))
            self.shift = nn.Parameter(torch.zeros(emb_dim))

    class unbiased_variance__and__eps_forgotten(_Affine):
        def forward(self, x):
            return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) * self.scale + self.shift

    class mean_absolute_difference(_Affine):
        def forward(self, x):
            x = x - x.mean(-1, keepdim=True)
            return x / (x.abs().mean(-1, keepdim=True) + self.eps) * self.scale + self.shift

    class mean_square_for_variance(_Affine):
        def forward(self, x):
            mean, square = x.mean(-1, keepdim=True), x.pow(2).mean(-1, keepdim=True)
            return (x - mean) / torch.sqrt(square + self.eps) * self.scale + self.shift

    class softmax(_Affine):
        def forward(self, x):
            return torch.softmax(x, dim=-1) * self.scale + self.shift

    class eps_inside_and_outside(_Affine):
        def forward(self, x):
            var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
            return (x - mean) / (torch.sqrt(var + self.eps) + self.eps) * self.scale + self.shift

    class multiplied_by_the_deviation(_Affine):
        def forward(self, x):
            var, mean = torch.var_mean(x, -1, keepdim=True, unbiased=False)
            return (x - mean) * torch.sqrt(var + self.eps) * self.scale + self.shift

    class only_centred(_Affine):
        def forward(self, x):
            return (x - x.mean(-1, keepdim=True)) * self.scale + self.shift

    class nothing_returned(_Affine):
        def forward(self, x):
            self.output = F.layer_norm(x, self.scale.shape, self.scale, self.shift, self.eps)

    class no_parameters(nn.Module):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__()
            self.emb_dim, self.eps = emb_dim, eps

        def forward(self, x):
            return F.layer_norm(x, (self.emb_dim,), eps=self.eps)

    class shift_alone(_Affine):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__(emb_dim, eps)
            del self.scale

        def forward(self, x):
            return F.layer_norm(x, self.shift.shape, eps=self.eps) + self.shift

    class shift_called_bias(_Affine):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__(emb_dim, eps)
            self.bias = self.shift
            del self.shift

        def forward(self, x):
            return F.layer_norm(x, self.scale.shape, self.scale, self.bias, self.eps)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import functools

    import torch.nn.functional as F

    class by_hand(nn.Module):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__()
            self.emb_dim, self.eps = emb_dim, eps
            self.shift = nn.Parameter(0 * torch.arange(emb_dim, dtype=torch.float32))
            self.scale = nn.Parameter(torch.ones_like(self.shift))

        def forward(self, x):
            columns = x.double().movedim(-1, 0)  # (…, C) -> (C, …)
            differences = columns - sum(columns) / self.emb_dim
            squares = (differences * differences).sum(0) / self.emb_dim
            normalized = differences / (squares + self.eps) ** 0.5
            return (normalized.movedim(0, -1) * self.scale + self.shift).to(x.dtype)

    class functional(nn.Module):
        def __init__(self, emb_dim: int, eps: float = 1e-5):
            super().__init__()
            self.affine = nn.ParameterDict({"scale": torch.ones(emb_dim), "shift": torch.zeros(emb_dim)})
            self.normalize = functools.partial(F.layer_norm, normalized_shape=[emb_dim], eps=eps)

        @property
        def scale(self):
            return self.affine["scale"]

        @property
        def shift(self):
            return self.affine["shift"]

        def forward(self, x):
            return torch.addcmul(self.shift, self.normalize(x), self.scale)

    class one_on_another(nn.Module):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__()
            self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))
            self.eps = eps

        def forward(self, x):
            variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
            return (x - mean) * torch.rsqrt(variance + self.eps) * self.scale + self.shift

    class ready_made(nn.LayerNorm):
        def __init__(self, emb_dim, eps=1e-5):
            super().__init__(emb_dim, eps=eps)
            self.scale, self.shift = self.weight, self.bias  # one parameter each, under two names
