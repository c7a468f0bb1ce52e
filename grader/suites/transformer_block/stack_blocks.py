"""stack_blocks: hidden tests, known mistakes and right answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

from grader.suites.transformer_block.shared import (
    CHANGED,
    X_UNCHANGED,
    B,
    Bent,
    C,
    ModuleAndFunction,
    T,
    Weights,
    expect_gradients_of_registered,
    expect_registered,
    linear,
    linear_module,
    robust_calls,
)
from grader.testing.checks import expect_close, expect_tensor, expect_true, oracle_gradients, shown
from grader.testing.draws import Fresh
from grader.testing.misconceptions import Replacements, mistake, replace
from grader.testing.probes import Draw, Property, call, has_parameters, probe
from grader.testing.student import RemoteObject, Student
from grader.testing.suite import contract, kept_arguments, rule


def fresh_blocks(fresh: Fresh, count: int) -> list[Weights]:
    """Weights and biases of linear layers that are used as blocks: their order matters."""
    return [{"weight": fresh(C, C) / C**0.5, "bias": fresh(C)} for _ in range(count)]


def stacked(student: Student, blocks: list[Weights]) -> tuple[RemoteObject, RemoteObject]:
    """Return the stack of these blocks, and the make_block that it was given."""
    make_block = student.make("CountingFactory", *(linear_module(student, **block) for block in blocks))
    stack = student.stack_blocks(make_block, len(blocks))
    expect_true(stack is not None, "It returns None, but a module was expected.")
    expect_true(isinstance(stack, RemoteObject), "The result is not a module.")
    # A subclass of nn.ModuleList is right if it calls its blocks.
    expect_true(
        stack.kinds[0] != "torch.nn.modules.container.ModuleList",
        "The result is an nn.ModuleList, which contains the blocks but calls none of them.",
    )
    return stack, make_block


def in_sequence(x: torch.Tensor, blocks: list[Weights]) -> torch.Tensor:
    return functools.reduce(lambda x, block: linear(x, **block), blocks, x)


@rule("make_block is called exactly num_blocks times, and each call makes one of the blocks")
def test_make_block_is_called_once_for_each_block(student: Student, fresh: Fresh) -> None:
    """make_block should be called exactly num_blocks times, and not again when the stack is used."""
    stack, make_block = stacked(student, fresh_blocks(fresh, 3))
    for _ in range(2):
        expect_tensor(stack(fresh(B, T, C)), (B, T, C))
    calls = make_block.get("calls")
    expect_true(
        type(calls) is int and calls == 3, f"For three blocks, the number of calls of make_block is {shown(calls)}."
    )


@rule("the first block gets x, and each later one gets the output of the block before it")
def test_blocks_work_one_after_the_other(student: Student, fresh: Fresh) -> None:
    """The output should be that of the last block, where each block gets the output of the block before it."""
    blocks, x = fresh_blocks(fresh, 3), fresh(B, T, C)
    expect_close(stacked(student, blocks)[0](x), in_sequence(x, blocks), "The outputs")


@rule("any number of blocks, including one")
def test_any_number_of_blocks(student: Student, fresh: Fresh) -> None:
    """One block, two, or more: x should go through the given number of blocks."""
    [block], x = fresh_blocks(fresh, 1), fresh(B, T, C)
    for count in (1, 2, 5):
        blocks = [block] * count  # all equal, so that only their number matters
        expect_close(stacked(student, blocks)[0](x), in_sequence(x, blocks), "The outputs")


@rule("it is an nn.Module, and the parameters of all blocks are its parameters")
def test_the_parameters_of_all_blocks_are_found(student: Student, fresh: Fresh) -> None:
    """The result should be an nn.Module, with the parameters of every block among its own."""
    blocks = fresh_blocks(fresh, 3)
    parameters = stacked(student, blocks)[0].parameters()
    count, expected = len(parameters), sum(map(len, blocks))
    expect_true(count >= expected, f"It has {count} parameters, but all blocks together have {expected}.")
    for block in blocks:
        expect_registered(block, parameters, "a block")


@rule("gradients reach x and every block")
def test_gradients_of_the_stack(student: Student, fresh: Fresh) -> None:
    """Gradients of the output should reach x and the parameters of each block."""
    blocks, x = fresh_blocks(fresh, 2), fresh(B, T, C)
    stack, _ = stacked(student, blocks)
    parameters = {f"{place}_{name}": value for place, block in enumerate(blocks) for name, value in block.items()}

    def function(x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        names = [[f"{place}_{name}" for name in ("weight", "bias")] for place in range(len(blocks))]
        return in_sequence(x, [{"weight": named[weight], "bias": named[bias]} for weight, bias in names])

    expect_gradients_of_registered(stack, x, parameters, oracle_gradients(function, [x], parameters))


def stack_of_two(student: Student, fresh: Fresh) -> ModuleAndFunction:
    """A stack of two equal blocks, and what it should compute."""
    blocks = fresh_blocks(fresh, 1) * 2
    return stacked(student, blocks)[0], functools.partial(in_sequence, blocks=blocks)


test_contract = contract(
    robust_calls(stack_of_two, Fresh.__call__),
    kept_arguments("the_stack_leaves_x_alone", *X_UNCHANGED, "x was changed."),
)


# -- misconceptions ------------------------------------------------------------------------------------------------


def stack_that(*forward: str) -> Replacements:
    """The blocks in a subclass of nn.Sequential whose forward has these lines."""
    lines = ["class Stack(nn.Sequential):", "    def forward(self, x):", *(f"        {line}" for line in forward)]
    return replace("return nn.Sequential", "\n    ".join([*lines, "", "return Stack"]))


MISCONCEPTIONS = [
    mistake("one_block_many_times", replace("(make_block() for _ in range(num_blocks))", "[make_block()] * num_blocks"),
        "make_block is called once, and the same block is used num_blocks times: `[make_block()] * n` contains one "
        "block n times. Call it for each block: `[make_block() for _ in range(n)]`."),
    mistake("copies_of_one_block",
        replace("return ", "from copy import deepcopy\n    block = make_block()\n    return ")
        .replace("make_block() for", "deepcopy(block) for"),
        "make_block is called once, and its block is copied. Then all blocks begin with the same weights: call "
        "make_block for each of them."),
    mistake("one_block_too_few", replace("range(num_blocks)", "range(num_blocks - 1)"),
        "One block is missing. Count the calls of make_block: range(n) has n numbers, and range(1, n) has one less."),
    mistake("one_block_thrown_away",
        replace("(make_block() for _ in range(num_blocks))", "[make_block() for _ in range(num_blocks + 1)][:-1]"),
        "make_block is called once more than needed, and this block is not used. Making a block takes time and "
        "memory: call it exactly num_blocks times."),
    mistake("outputs_thrown_away", stack_that("for block in self:", "    block(x)", "return x"),
        "The blocks have no effect: their outputs are not kept, and x itself comes out. Each block should get the "
        "output of the block before it: x = block(x)."),
    mistake("only_the_first_block_works", stack_that("return self[0](x)"),
        "Only one block is used, and the others are not. Each block should get the output of the block before it: x "
        "= block(x)."),
    mistake("every_block_gets_x", stack_that("return [block(x) for block in self][-1]"),
        "Only the last block has an effect: every block gets x itself, or the others are not called. Each block "
        "should get the output of the block before it: x = block(x)."),
    mistake("residual_around_each_block", stack_that("for block in self:", "    x = x + block(x)", "return x"),
        "x is added around each block. A block already contains its residual connections, so pass on only its output."),
    mistake("norm_after_the_stack", stack_that("return nn.functional.layer_norm(super().forward(x), x.shape[-1:])"),
        "A layer norm acts on the output of the last block. A model does have one there, but this function only "
        "stacks blocks."),
    mistake("blocks_in_a_plain_list",
        stack_that("for block in self.blocks:", "    x = block(x)", "return x")
        .replace("return Stack(*(make_block() for _ in range(num_blocks)))",
                 "stack = Stack()\n    stack.blocks = [make_block() for _ in range(num_blocks)]\n    return stack"),
        "The new stack has no parameters: its blocks are in a plain list, or are made only when it is called. "
        "Optimisers, `.double()` and `state_dict` do not find them. Make them at once; nn.ModuleList and "
        "nn.Sequential register them."),
    mistake("module_list_returned", replace("nn.Sequential(*", "nn.ModuleList("),
        "The result is an nn.ModuleList. It contains modules, but does not call them; nn.Sequential calls one after "
        "the other."),
    mistake("list_returned", replace("nn.Sequential(*", "list("),
        "The result is a list of blocks. A stack is one module that takes x and returns the last block's output."),
    mistake("asterisk_or_call_forgotten", replace("*", ""),
        "nn.Sequential gets something that is not a module: a list, or make_block itself, which makes a block only "
        "when it is called. Pass the modules one by one: nn.Sequential(*blocks)."),
    mistake("blocks_made_in_each_call",
        stack_that("for _ in range(num_blocks):", "    x = make_block()(x)", "return x")
        .replace("*(make_block() for _ in range(num_blocks))", ""),
        "New blocks are made in each call of the stack, and lost after it with everything that they have learned. "
        "Make them once, and store them."),
    mistake("stack_detached", stack_that("return super().forward(x).detach()"),
        "The output of the last block is cut off from the gradients, for example by `.detach()` or `.data`, or all "
        "blocks run under `torch.no_grad()`. So neither a block nor anything below the stack could learn."),
    mistake("x_changed_by_the_stack",
        stack_that("output = super().forward(x)", "with torch.no_grad():", "    x.copy_(output)", "return output"),
        CHANGED),
]  # fmt: skip


# -- probes --------------------------------------------------------------------------------------------------------


@probe(draws=500)
def blocks_in_sequence(unit: Any, draw: Draw) -> Iterator[Property]:
    def make_block() -> nn.Module:
        made.append(Bent(features, draw))
        return made[-1]

    draw.dtype = torch.float32
    made: list[Bent] = []
    features, num_tokens = draw.sizes(2)
    num_blocks = draw.size(1, 5)
    stack = unit.stack_blocks(make_block, num_blocks)
    yield "what it is", isinstance(stack, nn.Module)
    parameters = {
        f"{name} of block {place}": value
        for place, block in enumerate(made)
        for name, value in block.named_parameters()
    }
    yield "whether it has the parameters of all blocks", has_parameters(stack, parameters.values())
    stack.train(draw.chance(0.5))
    yield from call(stack, draw.normal(draw.size(1, 3), num_tokens, features), parameters=parameters)
    yield "how many blocks were made", len(made)


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    class _Blocks(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def every_block_gets_x__and__blocks_in_a_plain_list(make_block, num_blocks):
        class Stack(nn.Module):
            def forward(self, x):
                for block in self.blocks:
                    y = block(x)
                return y

        stack = Stack()
        stack.blocks = [make_block() for _ in range(num_blocks)]
        return stack

    def number_in_the_place_of_a_range(make_block, num_blocks):
        return nn.Sequential(*[make_block() for _ in num_blocks])

    def block_multiplied_by_a_number(make_block, num_blocks):
        return nn.Sequential(make_block() * num_blocks)

    def argument_of_a_class_forgotten(make_block, num_blocks):
        return _Blocks(*[make_block() for _ in range(num_blocks)])

    def base_class_not_initialized(make_block, num_blocks):
        class Stack(nn.Module):
            def __init__(self):
                self.blocks = nn.ModuleList(make_block() for _ in range(num_blocks))

        return Stack()

    def append_gives_none(make_block, num_blocks):
        blocks = []
        for _ in range(num_blocks):
            blocks = blocks.append(make_block())
        return nn.Sequential(*blocks)

    def relu_between(make_block, num_blocks):
        layers = []
        for _ in range(num_blocks):
            layers += [make_block(), nn.ReLU()]
        return nn.Sequential(*layers)

    def mean_of_the_blocks(make_block, num_blocks):
        class Stack(_Blocks):
            def forward(self, x):
                return torch.stack([block(x) for block in self.blocks]).mean(0)

        return Stack(make_block() for _ in range(num_blocks))

    def twice_through(make_block, num_blocks):
        blocks = [make_block() for _ in range(num_blocks)]
        return nn.Sequential(*blocks, *blocks)

    def x_added_at_the_end(make_block, num_blocks):
        class Stack(_Blocks):
            def forward(self, x):
                return super().forward(x) + x

        return Stack(make_block() for _ in range(num_blocks))

    def one_block_alone(make_block, num_blocks):
        return make_block()

    def asterisk_before_one_block(make_block, num_blocks):
        return nn.Sequential(*make_block())

    def nothing_returned(make_block, num_blocks):
        stack = nn.Sequential()
        for _ in range(num_blocks):
            stack.append(make_block())

    def asterisk_or_call_forgotten__functions_multiplied(make_block, num_blocks):
        return nn.Sequential(*[make_block] * num_blocks)


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    def by_hand(make_block, num_blocks):
        class Tower(nn.Module):
            def __init__(self):
                super().__init__()
                for floor in range(num_blocks):
                    setattr(self, f"floor{floor}", make_block())

            def forward(self, x):
                for floor in range(num_blocks):
                    x = getattr(self, f"floor{floor}")(x)
                return x.mT.contiguous().mT

        return Tower()

    class _Stack(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def by_the_book(make_block, num_blocks):
        blocks = []
        for number in range(num_blocks):
            print("block", number)
            blocks.append(make_block())
        return _Stack(blocks)

    class _Composed(nn.ModuleList):
        def forward(self, x):
            return functools.reduce(lambda given, block: block(given), self, x)

    def functional(make_block, num_blocks):
        return _Composed([make_block() for _ in range(num_blocks)])

    def one_on_another(make_block, num_blocks):
        first = make_block()
        return first if num_blocks == 1 else nn.Sequential(first, one_on_another(make_block, num_blocks - 1))

    def ready_made(make_block, num_blocks):
        stack = nn.Sequential()
        while len(stack) < num_blocks:
            stack.append(make_block())
        return stack
