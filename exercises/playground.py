"""A playground: train a small language model, made of your own modules, on the stories in playground.txt.

Run `python playground.py` in this folder. Then change one setting below and run it again: at the end, a table compares
your last runs. Nothing here is graded. With the settings as they are, and the time on one processor core:

    model     parameters   training loss   validation loss   time
    bigram         1,849            2.04              1.99    1 s
    head          19,883            1.55              1.54    6 s
    gpt          107,264            0.54              0.60   41 s

Counting the pairs of characters gives 1.96 on the training text. The bigram model cannot go below that; the others can,
because they see more than one character. With 1,000 steps "gpt" reaches 0.41 and 0.49: the gap between its two losses
grows. (Other machines may differ in the last digit.)
"""

import csv
import sys
import time
import traceback
from pathlib import Path

import torch
from torch import nn

# -- the settings: change one at a time

model_name = "bigram"  # "bigram" (unit 6), "head" (one head of attention, unit 6) or "gpt" (the capstone)
block_size = 32  # how many characters the model sees; the bigram model uses only the last one
learning_rate = 0.01
steps = 500
batch_size = 32
emb_dim = 64  # numbers for each character, in "head" and "gpt"
num_heads = 4  # in "gpt"
num_blocks = 2  # in "gpt"
dropout = 0.1  # in "head" and "gpt"
temperature = 1.0  # below 1 the samples are safer, above 1 they are wilder; training does not use it
seed = 1

# -- the models


class OneHead(nn.Module):
    """Embeddings of characters and positions, one head of attention, and an output layer: (B, T) -> (B, T, V)."""

    def __init__(self, vocab_size: int) -> None:
        from bigram_language_model import Head

        super().__init__()
        self.characters = nn.Embedding(vocab_size, emb_dim)
        self.positions = nn.Embedding(block_size, emb_dim)
        self.head = Head(emb_dim, emb_dim, block_size, dropout)
        self.output = nn.Linear(emb_dim, vocab_size)

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        x = self.characters(idx) + self.positions(torch.arange(idx.shape[1]))  # (B, T, C) + (T, C)
        return self.output(self.head(x))


def make_model(vocab_size: int) -> nn.Module:
    """Return the model that the settings name."""
    if model_name == "bigram":
        from bigram_language_model import BigramLanguageModel

        return BigramLanguageModel(vocab_size)
    if model_name == "head":
        return OneHead(vocab_size)
    if model_name == "gpt":
        from small_gpt import SmallGPT

        return SmallGPT(vocab_size, block_size, emb_dim, num_heads, num_blocks, dropout)
    sys.exit(f'There is no model {model_name!r}: set model_name to "bigram", "head" or "gpt".')


def logits_of(model: nn.Module, idx: torch.Tensor) -> torch.Tensor:
    """Return logits (B, T, V) for idx (B, T). The bigram model returns a pair: logits and a loss."""
    result = model(idx)
    return result[0] if isinstance(result, tuple) else result


# -- training, losses and samples


def loss_of(model: nn.Module, data: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return the mean loss of one batch."""
    from bigram_language_model import cross_entropy, flatten_for_cross_entropy, sample_batch

    idx, targets = sample_batch(data, block_size, batch_size, generator)
    return cross_entropy(*flatten_for_cross_entropy(logits_of(model, idx), targets))


@torch.no_grad()
def estimate_loss(model: nn.Module, data: torch.Tensor) -> float:
    """Return the mean loss of 20 batches, without dropout: always the same batches for the same data."""
    generator = torch.Generator().manual_seed(0)
    model.eval()
    losses = [loss_of(model, data, generator).item() for _ in range(20)]
    model.train()
    return sum(losses) / len(losses)


@torch.no_grad()
def sample(model: nn.Module, idx: torch.Tensor, length: int, generator: torch.Generator) -> torch.Tensor:
    """Continue idx (1, T) by `length` characters: the loop of unit 6, with a temperature."""
    model.eval()
    for _ in range(length):
        logits = logits_of(model, idx[:, -block_size:])[:, -1] / temperature
        idx = torch.cat([idx, torch.multinomial(torch.softmax(logits, dim=-1), 1, generator=generator)], dim=1)
    return idx


def loss_by_counting(data: torch.Tensor, vocab_size: int) -> float:
    """Return the lowest loss that a bigram model can have on this text: that of the shares of its pairs."""
    counts = torch.bincount(data[:-1] * vocab_size + data[1:], minlength=vocab_size**2).reshape(vocab_size, vocab_size)
    shares = counts / counts.sum(dim=1, keepdim=True)
    return -(counts * shares.log()).nansum().item() / (len(data) - 1)


def compare(training: float, validation: float, seconds: float) -> None:
    """Add this run to playground_runs.csv, and print the last ten runs."""
    path = Path(__file__).with_name("playground_runs.csv")
    run = {"model": model_name, "block": block_size, "rate": learning_rate, "steps": steps, "batch": batch_size}
    run |= {"width": emb_dim, "heads": num_heads, "blocks": num_blocks, "drop": dropout, "seed": seed}
    run |= {"train": f"{training:.2f}", "valid": f"{validation:.2f}", "time": f"{seconds:.0f} s"}
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([run.keys(), run.values()] if is_new else [run.values()])
    with path.open(newline="", encoding="utf-8") as file:
        first, *rows = csv.reader(file)
    table = [first, *rows[-10:]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print("\nYour last runs (delete playground_runs.csv to start again):")
    for line in table:
        print(" ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    """Train, print the losses on both texts and a sample, and compare with earlier runs."""
    from bigram_language_model import build_vocabulary, decode, encode

    text = Path(__file__).with_name("playground.txt").read_text(encoding="utf-8")
    vocabulary = build_vocabulary(text)
    data = torch.tensor(encode(text, vocabulary))
    training, validation = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]

    torch.set_num_threads(1)  # with tensors this small, threads only wait for each other
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = make_model(len(vocabulary))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    count = sum(parameter.numel() for parameter in model.parameters())
    floor = loss_by_counting(training, len(vocabulary))
    print(f"{model_name}: {count:,} parameters, {len(text):,} characters of {len(vocabulary)} kinds")
    print(f"Counting pairs of characters: loss {floor:.2f} on the training text. No bigram model can be better.\n")
    begun = time.perf_counter()
    for step in range(steps + 1):
        if step % max(1, steps // 10) == 0 or step == steps:
            losses = estimate_loss(model, training), estimate_loss(model, validation)
            seconds = time.perf_counter() - begun
            print(f"step {step:5}: training {losses[0]:.2f}, validation {losses[1]:.2f} ({seconds:.0f} s)", flush=True)
        if step < steps:
            loss = loss_of(model, training, generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    start = torch.tensor([encode("\n", vocabulary)])
    print(decode(sample(model, start, 400, generator)[0].tolist(), vocabulary))
    compare(*losses, seconds)


if __name__ == "__main__":
    try:
        main()
    except NotImplementedError as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        file, exercise = Path(frame.f_code.co_filename).name, frame.f_code.co_qualname.partition(".")[0]
        sys.exit(f"The playground waits for {exercise} in {file}: write it first.")
    except ModuleNotFoundError as error:
        sys.exit(f"The playground needs {error.name}.py beside it.")
