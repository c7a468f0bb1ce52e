"""Misconceptions of unit 6: wrong answers that learners give, each with a sentence that helps.

A name says what the answer does. If several exercises share a mistake, the name also says which exercise it is.
"""

from __future__ import annotations

from grader.suites.attention_mistakes import FIXED, VALUES_AS_KEYS, VALUES_AS_QUERIES, ZEROS_HIDDEN
from grader.testing.misconceptions import replace, row

# -- code that several rows replace, and replacements ------------------------------------------------------------

# sample_batch and flatten_for_cross_entropy
START = "torch.randint(num_starts, (batch_size, 1), generator=generator)"
BATCH = "data[places], data[places + 1]"
FLAT = "logits.flatten(0, 1), targets.flatten()"

# cross_entropy
SHIFTED = "logits - logits.amax(dim=-1, keepdim=True)"
LOSSES = "shifted.exp().sum(dim=-1).log() - of_targets"
OF_PROBABILITIES = replace(SHIFTED, "torch.softmax(logits, dim=-1)")

# running_mean_softmax and Head
MIXED = "torch.softmax(scores, dim=-1) @ x"
MASKED = "scores.masked_fill(self.future[:num_tokens, :num_tokens], -torch.inf)"
SOFTMAX = "torch.softmax(scores, dim=-1)"
NOT_DROPPED = replace(f"self.dropout({SOFTMAX})", SOFTMAX)

# BigramLanguageModel; BELOW and COUNTED, around a random number, draw a token
LOSS = "cross_entropy(*flatten_for_cross_entropy(logits, targets))"
TOKEN = "torch.multinomial(probabilities, 1, generator=generator)"
BELOW, COUNTED = "(probabilities.cumsum(-1) < ", ").sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)"

# Wrong uses of generators in sample_batch and generate
SEEDED_ANEW = "generator.manual_seed(123) if generator else None"
COPY = "torch.Generator().manual_seed(generator.initial_seed()) if generator else None"
SEED_FOR_ALL = "generator and torch.manual_seed(torch.randint(2**31, (), generator=generator).item()) and None"
ALIKE = "generator or torch.Generator()"
# torch.seed() would read the seed from a file that does not exist in the sandbox.
UNREPEATABLE = "generator or torch.Generator().manual_seed(__import__('random').SystemRandom().getrandbits(62))"

# -- sentences that several rows share ---------------------------------------------------------------------------

# About attention
# About generators
IGNORED = (
    "The generator is not used. Pass it on to the draw, as `generator=generator`, in a function of torch that takes "
    "one: `random` and numpy take none."
)
SEEDED = (
    "The draws are the same for every state of the generator, as if the code set its seed first. The caller decides "
    "about the state."
)
COPIED = (
    "The generator decides about the draws but does not advance, as if the code drew from a copy of it. Draw from the "
    "generator that was passed in."
)
OF_SEEDS = (
    "The generator decides about the draws, but torch's global state changes too, as if the generator only drew a seed "
    "for it. Pass the generator on to the draw."
)
ALWAYS_ALIKE = (
    "Without a generator every call draws the same, as if the code set a seed or made a generator with a fixed start. "
    "None means torch's global generator in its current state."
)
PUT_BACK = (
    "The global state does not advance, as if the code restored it after the draw: the next call draws the same again. "
    "Each draw should advance the state."
)
FROM_THE_SYSTEM = (
    "Without a generator torch.manual_seed does not fix the draws, as if they came from the clock or the system, so "
    "nobody can repeat a run. None means torch's global generator."
)

# About running means
FUTURE_TOO = (
    "Every token gets the mean of the whole text, including its future. Average only the token itself and the tokens "
    "before it."
)
PAST_LEFT_OUT = (
    "The future is averaged instead of the past: the triangle is inverted. A row belongs to a token, and its past is "
    "to the left of the diagonal."
)
PRESENT_LEFT_OUT = (
    "The token itself is not part of its mean, and the first token has nothing to average. Include the token: token t "
    "averages t + 1 tokens."
)
NEXT_TOO = (
    "The next token is averaged too: one position too far. A model should predict the next token, so it must not see "
    "it."
)
SUMMED = "The past is added up and not divided. A mean is the sum divided by the number of tokens, t + 1 for token t."
DIVIDED_BY_ALL = (
    "Every sum is divided by the number of all tokens of the text. Token t averages t + 1 tokens, so the divisor grows "
    "with t."
)
COLUMNS = (
    "The columns of the weights sum to one, and not the rows. A row contains the weights of one token, so each row "
    "should sum to one."
)
NO_GRADIENTS = (
    "Gradients stop at the means, for example because of `.detach()`, `.item()`, or numbers taken out of the tensor. "
    "The layers that made the tokens learn only through them."
)
FLOAT32 = "The code makes a float32 matrix, which does not match float64 tokens. Make it like x: `dtype=x.dtype`."
NO_FIT = (
    "Every call ends in an error. If it is about shapes: the weights are (T, T), with T from x, and are on the "
    "left of x in the product, `@`. If it is about a dtype: the weights are floats in the dtype of x, and a mask is "
    "bool, inverted by `~`."
)
SQUEEZED = "`squeeze()` removes every dimension of size one, so a single text, or a text of one token, loses its shape."
CHANGED = (
    "The caller's x was changed. Methods with an underscore and `x[…] = …` change the tensor itself: use a new tensor."
)
ONE_TEXT = (
    "The texts of the batch are averaged as one long text, so later texts use the earlier ones. Texts of a batch never "
    "exchange information."
)

CALLS = {"BigramLanguageModel": ["flatten_for_cross_entropy", "cross_entropy"]}

# fmt: off
ROWS = [
    # build_vocabulary
    row("build_vocabulary", "not_sorted", replace("sorted(set(text))", "list(dict.fromkeys(text))"),
        "The characters are not sorted: they are in the order of the text, of their frequency, or of a `set`, which "
        "changes from run to run. If you sort them, the same text gives the same ids everywhere."),
    row("build_vocabulary", "sorted_the_other_way_round", replace("set(text)", "set(text), reverse=True"),
        "The characters are sorted in reverse. Use `sorted` without arguments."),
    row("build_vocabulary", "capitals_sorted_in", replace("set(text)", "set(text), key=str.lower"),
        "Capital letters are sorted among the small ones, by a key such as `str.lower`. For a model they are "
        "different characters: use `sorted` without a key."),
    row("build_vocabulary", "text_made_lower_case", replace("set(text)", "set(text.lower())"),
        "The text is made lower case first. Then a model can never write a capital letter, and decode cannot give "
        "back the original text."),
    row("build_vocabulary", "spaces_left_out", replace("set(text)", 'set("".join(text.split()))'),
        "Spaces and line breaks are missing. They are normal characters: without them a model does not know where a "
        "word or a line ends."),
    row("build_vocabulary", "line_breaks_left_out", replace("set(text)", 'set("".join(text.splitlines()))'),
        "Line breaks are missing, perhaps because the text is split into lines, or stripped, first. They are "
        "characters too: from them a model learns where lines end."),
    row("build_vocabulary", "letters_alone", replace("set(text)", "set(filter(str.isalpha, text))"),
        "Only letters are kept. Digits, punctuation and spaces are part of the text too, and encode needs them."),
    row("build_vocabulary", "fixed_alphabet",
        replace("sorted(set(text))", "[chr(code) for code in (*range(9, 14), *range(32, 127))]"),
        "The vocabulary is a fixed alphabet for every text. It lacks some characters of the text, and has rows in "
        "the model's table for characters that are never used."),
    row("build_vocabulary", "words_instead_of_characters", replace("set(text)", "set(text.split())"),
        "The text was split into words or lines, or not at all. Here a token is a single character: a `set` of "
        "a string has its characters."),
    row("build_vocabulary", "every_occurrence_kept", replace("set(text)", "text"),
        "Each character is there as often as in the text. A vocabulary contains each character once. Otherwise a "
        "character would have several ids: `set` keeps one of each."),
    row("build_vocabulary", "vocabulary_as_one_string", replace("sorted(set(text))", '"".join(sorted(set(text)))'),
        "The vocabulary is one string with all characters. It should be a list, as `sorted` returns it."),
    row("build_vocabulary", "vocabulary_as_a_dictionary",
        replace("sorted(set(text))", "{character: place for place, character in enumerate(sorted(set(text)))}"),
        "The vocabulary is a dictionary. encode may use one to look up ids, but here the result should be the sorted "
        "list."),
    row("build_vocabulary", "vocabulary_as_a_set", replace("sorted(set(text))", "set(text)"),
        "The vocabulary is a `set`, or something else without indices, such as an iterator. So it cannot say which "
        "id a character has: make a sorted list of it."),
    # encode
    row("encode", "key_error_for_the_unknown", replace("set(text) - set(ids)", "set()"),
        "A character that is not in the vocabulary raises a KeyError, because of a dictionary. Check first, and "
        "raise a ValueError with a clear text."),
    row("encode", "unknown_passed_over",
        replace("set(text) - set(ids)", "set()").replace("in text]", "in text if character in ids]"),
        "A character that is not in the vocabulary raises no error: it is left out, or gets a wrong id. The decoded "
        "text would be different. Raise an error."),
    row("encode", "ids_counted_from_one", replace("enumerate(vocabulary)", "enumerate(vocabulary, 1)"),
        "The ids are counted from 1. The rows of a table are counted from 0, and the last id would have no row."),
    row("encode", "numbers_of_unicode", replace("ids[character] for", "ord(character) for"),
        "The ids are Unicode numbers, as from `ord`. They are much larger than the vocabulary. An id is the index in "
        "the vocabulary."),
    row("encode", "vocabulary_made_from_the_text", replace("enumerate(vocabulary)", "enumerate(sorted(set(text)))"),
        "A new vocabulary is made from the text. Then the same character has another id in another text. Use the "
        "given vocabulary."),
    row("encode", "vocabulary_taken_for_a_dictionary", replace("ids[character] for", "vocabulary[character] for"),
        "The code treats the vocabulary as a dictionary. It is a list: find the index of each character, or first "
        "make a dictionary from characters to indices."),
    row("encode", "ids_as_a_tensor",
        replace("[ids[character] for character in text]", "torch.tensor([ids[character] for character in text])"),
        "The ids are a tensor or an array. The tensor is made later, once, for the whole text. Here the result "
        "should be a plain list of int."),
    row("encode", "ids_as_text", replace("ids[character] for", "str(ids[character]) for"),
        "The ids are strings. A model computes with numbers, so each id should be an int."),
    row("encode", "ids_as_floats", replace("ids[character] for", "float(ids[character]) for"),
        "The ids are floats. They are indices for the rows of a table, so each id should be an int."),
    row("encode", "rows_of_zeros_and_a_one",
        replace("ids[character] for", "[int(character == other) for other in vocabulary] for"),
        "Each character became a row of zeros with a single one. An id is just one number, and nn.Embedding looks up "
        "rows with it."),
    row("encode", "ids_not_worked_out_yet", replace("[ids[character] for character in text]", "map(ids.get, text)"),
        "Nothing is computed yet: `map`, or a comprehension in round brackets, computes only on request. Use "
        "`list(…)`."),
    row("encode", "empty_text_refused", replace("if unknown:", "if unknown or not text:"),
        "An empty text raises an error. It has no characters, so its list of ids is empty."),
    row("encode", "vocabulary_popped",
        replace("character: place for place, character in enumerate(vocabulary)",
                "vocabulary.pop(): len(vocabulary) for _ in range(len(vocabulary))"),
        "The caller's list is changed, as `pop` does. Read the items with a `for` loop, which does not change the "
        "list."),
    # decode
    row("decode", "ids_not_checked", replace("not 0 <= number < len(vocabulary)", "False"),
        "The ids are not checked. A list counts negative indices from its end, so -1 silently becomes the last "
        "character, and an id that is too large raises an IndexError."),
    row("decode", "negative_ids_counted_from_the_end",
        replace("not 0 <= number < len(vocabulary)", "number >= len(vocabulary)"),
        "A negative id raises no error, and counts from the end of the list. Ids begin at 0: raise an error for "
        "smaller ones too."),
    row("decode", "index_error_for_large_ids", replace("not 0 <= number < len(vocabulary)", "number < 0"),
        "An id that is too large raises an IndexError, because of the list. Check first, and raise a ValueError with "
        "a clear text."),
    row("decode", "one_id_too_many_accepted", replace("number < len", "number <= len"),
        "The id V itself raises no ValueError. V characters have the ids 0 to V - 1, so raise one from V on: `>=`, not "
        "`>`."),
    row("decode", "small_negative_ids_accepted", replace("not 0 <=", "not -len(vocabulary) <="),
        "Only very negative ids raise an error. Python counts -1 to -V from the end of the list. Here every number "
        "below 0 is wrong."),
    row("decode", "key_error_for_unknown_ids",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", "dict(enumerate(vocabulary))[number] for"),
        "An unknown id raises a KeyError, because of a dictionary. Check first, and raise a ValueError with a clear "
        "text."),
    row("decode", "unknown_ids_passed_over",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", 'dict(enumerate(vocabulary)).get(number, "") for'),
        "An id outside the vocabulary raises no error: it is left out, or becomes another character. Such an id is "
        "the caller's mistake: raise an error."),
    row("decode", "characters_in_a_list",
        replace('"".join(vocabulary[number] for number in ids)', "[vocabulary[number] for number in ids]"),
        "The result is a list of characters. Join them to one str: `''.join(…)`."),
    row("decode", "spaces_in_between", replace('"".join', '" ".join'),
        "There is something between the characters that is not in the ids. Join them with nothing between them: "
        "`''.join(…)`."),
    row("decode", "characters_of_unicode", replace("vocabulary[number] for", "chr(number) for"),
        "The ids are used as Unicode numbers, as in `chr`. An id is an index in the vocabulary."),
    row("decode", "characters_counted_from_one", replace("vocabulary[number] for", "vocabulary[number - 1] for"),
        "The ids are counted from 1, so every character is replaced by the one before it. encode counts from 0."),
    row("decode", "zero_refused", replace("0 <= number", "0 < number"),
        "The id 0 raises an error. It is the index of the first character of the vocabulary."),
    row("decode", "no_ids_refused", replace("for number in ids:", "for number in ids or [-1]:"),
        "An empty list of ids raises an error. encode gives it for an empty text, so the result should be an empty "
        "text."),
    row("decode", "tensor_of_ids_wanted", replace("for number in ids:", "for number in ids.tolist():"),
        "The code calls a tensor method on the ids. The argument is a plain list of int, as encode returns it."),
    row("decode", "ids_popped",
        replace("vocabulary[number] for number in ids", "vocabulary[ids.pop(0)] for _ in range(len(ids))"),
        "The caller's list is changed, as `pop` does. Read the items with a `for` loop, which does not change the "
        "list."),
    # sample_batch
    row("sample_batch", "short_data_left_to_torch", replace("num_starts < 1", "False"),
        "For data that is too short, PyTorch raises a RuntimeError about a range, which the caller does not "
        "understand. Compare N with block_size first, and raise a ValueError."),
    row("sample_batch", "ids_plus_one", replace("data[places + 1]", "data[places] + 1"),
        "The targets are the ids plus one. A target is the token that follows in the data: the same piece, one "
        "position later."),
    row("sample_batch", "short_stretches",
        replace("len(data) - block_size", "max(1, len(data) - block_size)")
        .replace("arange(block_size)", "arange(min(block_size, len(data) - 1))"),
        "Data that is too short raises no error, and the pieces are shorter than block_size: Python's slices stop at "
        "the end. Compare N with block_size first, and raise a ValueError."),
    row("sample_batch", "target_of_the_last_token_forgotten", replace("num_starts < 1", "num_starts < 0"),
        "Data of exactly block_size tokens raises no error. It has no target for its last token: T + 1 tokens are "
        "needed."),
    row("sample_batch", "shortest_data_refused", replace("num_starts < 1", "num_starts < 2"),
        "Data of T + 1 tokens raises an error. It contains one piece and all of its targets, so it is enough."),
    row("sample_batch", "last_start_never_drawn", replace("randint(num_starts", "randint(num_starts - 1"),
        "The last start is never drawn: `range` and `torch.randint` do not include the end. There are N - T starts, "
        "from 0 to N - T - 1."),
    row("sample_batch", "one_start_too_many",
        replace("randint(num_starts", "randint(num_starts + 1")
        .replace(BATCH, "torch.stack([data[i : i + block_size] for i in starts]), "
                 "torch.stack([data[i + 1 : i + 1 + block_size] for i in starts])"),
        "Starts that are too late are drawn. From N - T on, the last token of a piece has no target in the data. The "
        "starts go from 0 to N - T - 1."),
    row("sample_batch", "round_the_end",
        replace("randint(num_starts", "randint(len(data)")
        .replace(BATCH, "data[places % len(data)], data[(places + 1) % len(data)]"),
        "Pieces continue from the end of the data to its beginning. These tokens are not consecutive in the text. "
        "The last start is N - T - 1."),
    row("sample_batch", "first_start_never_drawn",
        replace("randint(num_starts", "randint(min(1, num_starts - 1), num_starts"),
        "The first start is never drawn. Positions are counted from 0, so the first piece begins there."),
    row("sample_batch", "blocks_side_by_side",
        replace("torch.randint(num_starts", "block_size * torch.randint((len(data) - 1) // block_size"),
        "The data is cut into separate blocks, and only their starts are drawn. A piece may begin at any token: this "
        "gives many more examples from the same text."),
    row("sample_batch", "late_starts_moved_back",
        replace("randint(num_starts", "randint(len(data)")
        .replace("starts + torch", "starts.clamp(max=num_starts - 1) + torch"),
        "Some starts are drawn much more often than others, for example the last one, if starts that are too large "
        "are moved to it. Draw only from the allowed starts, all equally likely."),
    row("sample_batch", "starts_rounded",
        replace(START, "((num_starts - 1) * torch.rand(batch_size, 1, generator=generator)).round().long()"),
        "Starts in the middle are drawn more often than the first and the last, perhaps because a random number is "
        "rounded. `torch.randint` draws integers, all equally likely."),
    row("sample_batch", "last_target_beyond_the_data", replace("randint(num_starts", "randint(num_starts + 1"),
        "Sometimes the code reads beyond the end of the data, because some starts are too late. The last token of a "
        "piece needs a target too: the last start is N - T - 1."),
    row("sample_batch", "one_start_for_all_rows",
        replace("(batch_size, 1)", "(1, 1)").replace("starts + torch", "starts.expand(batch_size, 1) + torch"),
        "One start is drawn for the whole batch, so all its rows are the same. Draw batch_size starts."),
    row("sample_batch", "rows_one_after_another",
        replace("(batch_size, 1)", "(1, 1)")
        .replace("starts + torch", "(starts + torch.arange(batch_size)[:, None]) % num_starts + torch"),
        "The start of a row depends on the row before: it is one token later, or the starts are sorted. Draw a start "
        "for each row independently, and keep their order."),
    row("sample_batch", "no_start_twice",
        replace(START, "torch.randperm(num_starts, generator=generator)[:batch_size, None]"),
        "No start is drawn twice in a batch, so there are not enough if there are more rows than starts. Draw each "
        "row independently."),
    row("sample_batch", "always_from_the_beginning", replace(START, "torch.zeros(batch_size, 1, dtype=torch.long)"),
        "Every batch is the same: nothing is drawn. Training needs pieces from the whole text, so draw the starts at "
        "random."),
    row("sample_batch", "tokens_from_anywhere",
        replace("(batch_size, 1)", "(batch_size, block_size)").replace("starts + torch.arange(block_size)", "starts"),
        "Each token is drawn separately from the data. A model should learn which token follows which, so a row must "
        "be a piece of the text."),
    row("sample_batch", "stretches_in_columns", replace(BATCH, "data[places.T], data[places.T + 1]"),
        "The pieces are columns: (T, B). In this course the batch comes first, one text in each row: (B, T)."),
    row("sample_batch", "targets_that_repeat", replace("data[places + 1]", "data[places]"),
        "The targets are the tokens of idx themselves. A model does not need to learn to repeat its input: the "
        "targets are one position later."),
    row("sample_batch", "targets_two_places_on",
        replace("data[places + 1]", "data[(places + 2).clamp(max=len(data) - 1)]"),
        "The targets are two positions later. The model should predict the very next token."),
    row("sample_batch", "targets_first", replace(BATCH, "data[places + 1], data[places]"),
        "idx and targets are swapped, so the model would predict the token before. idx is the input, and comes first."),
    row("sample_batch", "targets_rolled_round", replace("data[places + 1]", "data[places].roll(-1, 1)"),
        "The targets are idx rotated, so the last target is the first token of the row. It should be the next token "
        "in the data: cut the targets out of the data too."),
    row("sample_batch", "one_target_for_each_row", replace("data[places + 1]", "data[places + 1][:, -1]"),
        "There is one target for each row, the token after its last. Every token of the row needs a target: a batch "
        "of 4 rows of 8 tokens has 32 predictions."),
    row("sample_batch", "targets_from_elsewhere",
        replace("data[places + 1]", f"data[{START} + torch.arange(1, block_size + 1)]"),
        "The targets have their own random starts, so they do not belong to idx. Draw the starts once, and use them "
        "for both."),
    row("sample_batch", "one_tensor_for_both", replace(BATCH, f"torch.stack([{BATCH}])"),
        "idx and targets are returned as one tensor. Return two: `return idx, targets`."),
    row("sample_batch", "no_generator_taken_for_the_batch",
        replace(", generator: torch.Generator | None = None", "").replace(", generator=generator", ""),
        "A call with a generator ends in an error, because the function does not take one. Keep the argument of the "
        "stub, and pass it on to the draw."),
    row("sample_batch", "generator_ignored_for_the_batch", replace(", generator=generator", ""), IGNORED),
    row("sample_batch", "generator_seeded_anew_for_the_batch", replace("=generator)", f"={SEEDED_ANEW})"), SEEDED),
    row("sample_batch", "generator_copied_for_the_batch", replace("=generator)", f"={COPY})"), COPIED),
    row("sample_batch", "generator_of_seeds_for_the_batch", replace("=generator)", f"={SEED_FOR_ALL})"), OF_SEEDS),
    row("sample_batch", "always_the_same_batch", replace("=generator)", f"={ALIKE})"), ALWAYS_ALIKE),
    row("sample_batch", "global_state_put_back_after_the_batch",
        replace("    starts = ", "    with torch.random.fork_rng(devices=[]):\n        starts = "), PUT_BACK),
    row("sample_batch", "batch_from_the_system", replace("=generator)", f"={UNREPEATABLE})"), FROM_THE_SYSTEM),
    row("sample_batch", "data_moved_on_in_place",
        replace(f"return {BATCH}",
                "idx = data[places]\n    data[:-1] = data[1:].clone()\n    return idx, data[places]"),
        "The data itself is shifted for the targets, so it is wrong for the next batch. Read the targets one "
        "position later, `data[positions + 1]`, and do not change the data."),
    row("sample_batch", "tokens_made_floats",
        replace(f"return {BATCH}", "return data[places].float(), data[places + 1].float()"),
        "The ids are floats. An id is an index in a table, so it must be an integer, for an embedding and for a loss."),
    # flatten_for_cross_entropy
    row("flatten_for_cross_entropy", "targets_made_floats", replace("targets.flatten()", "targets.flatten().float()"),
        "The targets are floats. An id is an index in a row of logits, so it must be an integer. Floats would be "
        "used as probabilities."),
    row("flatten_for_cross_entropy", "view_of_the_logits",
        replace(FLAT, "logits.view(-1, logits.shape[-1]), targets.view(-1)"),
        "`view` fails if the logits are non-contiguous, for example the result of a transpose. `reshape` and "
        "`flatten` copy if necessary."),
    row("flatten_for_cross_entropy", "view_of_the_targets", replace("targets.flatten()", "targets.view(-1)"),
        "`view` fails if the targets are non-contiguous, for example the result of a transpose. `reshape` and "
        "`flatten` copy if necessary."),
    row("flatten_for_cross_entropy", "predictions_torn",
        replace("flatten(0, 1)", "transpose(1, 2).reshape(-1, logits.shape[-1])"),
        "Tokens and kinds were swapped before flattening, so each row mixes several predictions. The V numbers of "
        "one prediction are in the last dimension; keep them there."),
    row("flatten_for_cross_entropy", "targets_in_another_order", replace("targets.flatten()", "targets.T.flatten()"),
        "Logits and targets are flattened in different orders, so a prediction gets the target of another token. Use "
        "the same order for both."),
    row("flatten_for_cross_entropy", "kinds_in_rows",
        replace("logits.flatten(0, 1)", "logits.reshape(logits.shape[-1], -1)"),
        "The logits are (V, B · T): there is a row for each kind of token. There should be a row for each prediction, "
        "with its V numbers side by side: (B · T, V)."),
    row("flatten_for_cross_entropy", "tokens_in_columns",
        replace("logits.flatten(0, 1)", "logits.transpose(1, 2).flatten(0, 1)"),
        "The last two dimensions were swapped before flattening, so a row contains one kind's logits for all tokens: "
        "(B · V, T). The V numbers of one prediction belong in one row."),
    row("flatten_for_cross_entropy", "logits_in_another_order",
        replace("logits.flatten(0, 1)", "logits.transpose(0, 1).flatten(0, 1)"),
        "The logits are sorted by token and the targets by text, so a prediction gets the target of another one. "
        "Join the first two dimensions of both in the same order."),
    row("flatten_for_cross_entropy", "last_tokens_alone", replace(FLAT, "logits[:, -1], targets[:, -1]"),
        "Only one prediction is left for each text: 4 instead of 32. Every token predicts the next one, and the "
        "model learns from all of them."),
    row("flatten_for_cross_entropy", "moved_on_once_more",
        replace(FLAT, "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"),
        "The targets are shifted again, and the last prediction of each text is lost. The targets already are the "
        "next tokens: each token has its own target at the same position."),
    row("flatten_for_cross_entropy", "one_row_for_each_text", replace("flatten(0, 1)", "flatten(1)"),
        "There is one row for each text, with the logits of all its tokens. One prediction is V numbers: join the "
        "first two dimensions."),
    row("flatten_for_cross_entropy", "all_in_one_row", replace("flatten(0, 1)", "flatten()"),
        "All logits are in one long row, so the predictions are not separate. Keep the last dimension: (B · T, V)."),
    row("flatten_for_cross_entropy", "kinds_in_the_middle", replace(FLAT, "logits.transpose(1, 2), targets"),
        "The logits became (B, V, T). PyTorch's own loss takes this too, but here the result should be flat: (B · T, "
        "V) and (B · T,)."),
    row("flatten_for_cross_entropy", "targets_not_flattened", replace("targets.flatten()", "targets"),
        "The logits are flat, but the targets are not. Both need one entry for each of the B · T predictions."),
    row("flatten_for_cross_entropy", "targets_as_a_column", replace("targets.flatten()", "targets.reshape(-1, 1)"),
        "The targets became a column, (B · T, 1). They should be a flat list with one id for each prediction: (B · "
        "T,)."),
    row("flatten_for_cross_entropy", "targets_before_logits", replace(FLAT, "targets.flatten(), logits.flatten(0, 1)"),
        "Logits and targets are swapped in the result. Return them in the order of the arguments."),
    row("flatten_for_cross_entropy", "logits_alone", replace(", targets.flatten()", ""),
        "Only the logits are returned. The targets must be flat too, so return both."),
    row("flatten_for_cross_entropy", "sizes_that_do_not_fit",
        replace(FLAT, "logits.reshape(32, 65), targets.reshape(32)"),
        "Every call ends in an error. If a shape is invalid: logits (B, T, V) become (B · T, V), and targets (B, T) "
        "become (B · T,); read B, T and V from the logits. If it is about `view`: after `transpose` only `reshape` "
        "works. Logits and targets stay two tensors."),
    row("flatten_for_cross_entropy", "lonely_prediction_squeezed",
        replace(FLAT, "logits.flatten(0, 1).squeeze(), targets.flatten().squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single prediction is not a row any more."),
    row("flatten_for_cross_entropy", "flat_without_gradients", replace("logits.flatten", "logits.detach().flatten"),
        "The logits are cut off from the gradients, for example by `.detach()`, `.data` or `torch.no_grad()`. The "
        "loss is computed from them, and through it the whole model learns."),
    row("flatten_for_cross_entropy", "targets_flattened_in_place",
        replace("targets.flatten()", "targets.resize_(targets.numel())"),
        "The shape of the caller's targets was changed. Methods with an underscore change the tensor itself; "
        "`flatten` and `reshape` do not."),
    # cross_entropy
    row("cross_entropy", "losses_added_up", replace(".mean()", ".sum()"),
        "The losses are added up. Then a larger batch has a larger loss for no reason. Divide by the number of rows."),
    row("cross_entropy", "mean_over_all_logits", replace(".mean()", ".sum() / logits.numel()"),
        "The sum is divided by the number of all logits, N · V. There is one loss for each row, so divide by the "
        "number of rows."),
    row("cross_entropy", "no_mean_at_all", replace(".mean()", ""),
        "The function returns the losses of all rows. A model is trained on one number: return their mean."),
    row("cross_entropy", "minus_forgotten", replace("return (", "return -("),
        "The minus is missing. The logarithm of a probability is negative, and larger for a better prediction. A "
        "loss should be smaller for a better prediction."),
    row("cross_entropy", "logarithm_to_the_base_two", replace(".mean()", ".mean() / torch.tensor(2.0).log()"),
        "The logarithm has the base 2, which measures in bits. Here, as in most of deep learning, use the natural "
        "logarithm, `torch.log`."),
    row("cross_entropy", "softmax_over_the_rows",
        replace(SHIFTED, "logits.log_softmax(dim=0)").replace(LOSSES, "-of_targets"),
        "Softmax runs over the predictions instead of the kinds. The V numbers of one row should become "
        "probabilities: dim=-1."),
    row("cross_entropy", "softmax_over_all_logits", replace("shifted.exp().sum(dim=-1)", "shifted.exp().sum()"),
        "The sum in the softmax runs over all rows together. Each row is a prediction of its own, and its "
        "probabilities sum to one: sum over the last dimension."),
    row("cross_entropy", "softmax_forgotten", replace(SHIFTED, "logits").replace(LOSSES, "-of_targets"),
        "The logits are used as if they were logarithms of probabilities. They can be any numbers; apply softmax "
        "first."),
    row("cross_entropy", "softmax_taken_twice",
        replace("shifted =", "logits = torch.softmax(logits, dim=-1)\n    shifted ="),
        "Softmax is applied twice: to the logits, and then to the probabilities. PyTorch's own cross-entropy "
        "contains a softmax and needs the logits."),
    row("cross_entropy", "logarithm_forgotten", OF_PROBABILITIES.replace(LOSSES, "-of_targets"),
        "The probabilities themselves are averaged, without a logarithm. With the logarithm, a sure but wrong "
        "prediction gets a very large loss."),
    row("cross_entropy", "logarithm_of_the_mean", replace(f"({LOSSES}).mean()", f"-(-({LOSSES})).exp().mean().log()"),
        "The probabilities are averaged first, and then the logarithm of the mean is taken. Take the logarithm of "
        "each row first, and average the logarithms."),
    row("cross_entropy", "logarithm_of_a_softmax", OF_PROBABILITIES.replace(LOSSES, "-of_targets.log()"),
        "For large logits a probability is rounded to zero, and its logarithm is infinite. Do not take the logarithm "
        "of a softmax: simplify it on paper, ln Σ exp(z - m) - (z_y - m)."),
    row("cross_entropy", "largest_logit_not_subtracted", replace(SHIFTED, "logits"),
        "The exponential of a large logit overflows. Subtract the largest logit of each row first: that changes no "
        "probability."),
    row("cross_entropy", "one_largest_logit_for_all", replace(SHIFTED, "logits - logits.max()"),
        "One number, the largest of all logits, is subtracted from every row. In a row far below it, all "
        "exponentials are rounded to zero. Each row needs its own largest logit."),
    row("cross_entropy", "logarithm_kept_finite_by_force",
        OF_PROBABILITIES.replace(LOSSES, "-of_targets.clamp(min=1e-30).log()"),
        "The logarithm is forced to stay finite, for example by adding a small number, so the loss is wrong: with "
        "logits of 1000 and -1000 it should be 2000. First simplify the logarithm of the softmax on paper."),
    row("cross_entropy", "largest_logit_of_each_column",
        replace("logits.amax(dim=-1, keepdim=True)", "logits.amax(dim=0, keepdim=True)"),
        "The largest logit of each column is subtracted, which changes the probabilities. Only a number that is the "
        "same for a whole row cancels: subtract the largest logit of each row."),
    row("cross_entropy", "largest_logit_subtracted_once", replace("shifted.gather", "logits.gather"),
        "The largest logit is subtracted in the sum, but not from the target's own logit. It cancels only if it is "
        "subtracted from both."),
    row("cross_entropy", "all_columns_for_every_row",
        replace("shifted.gather(-1, targets[:, None])[:, 0]", "shifted[:, targets]"),
        "For every row the columns of all targets are used, (N, N), as in `logits[:, targets]` or a matrix product. "
        "Use one entry of each row: `logits[torch.arange(N), targets]`, or `gather`."),
    row("cross_entropy", "entropy_without_targets",
        OF_PROBABILITIES.replace(LOSSES, "torch.special.entr(shifted).sum(dim=-1)"),
        "The loss ignores the targets: the result is the entropy of the predictions, which measures how unsure they "
        "are. A model that is sure but wrong would get a small loss."),
    row("cross_entropy", "share_of_misses",
        replace(f"({LOSSES})", "(logits.argmax(dim=-1) != targets).to(logits.dtype)"),
        "The result is the fraction of wrong predictions. It changes in jumps and has no gradient, so a model cannot "
        "learn from it."),
    row("cross_entropy", "loss_as_a_plain_number", replace(".mean()", ".mean().item()"),
        "The loss is cut off from the gradients, for example by `.item()`, `.detach()` or `torch.no_grad()`. All "
        "gradients begin at the loss, so it must stay a tensor in the graph."),
    row("cross_entropy", "divisor_without_gradients",
        replace(SHIFTED, "logits").replace(LOSSES, "logits.logsumexp(dim=-1).detach() - of_targets"),
        "The denominator of the softmax is cut off from the gradients, so only the logits of the targets learn. The "
        "other logits must become smaller too."),
    row("cross_entropy", "targets_in_float32",
        replace("shifted.gather(-1, targets[:, None])[:, 0]",
                "(shifted @ nn.functional.one_hot(targets, logits.shape[-1]).float().T).diagonal()"),
        "The code makes a float32 matrix, which does not match float64 logits. Make it like the logits: "
        "`dtype=logits.dtype`."),
    row("cross_entropy", "lonely_row_squeezed",
        replace(SHIFTED, "logits.squeeze() - logits.squeeze().amax(dim=1, keepdim=True)"),
        "`squeeze()` removes every dimension of size one, so a single row is not a row any more."),
    row("cross_entropy", "logits_changed_in_place", replace("shifted = logits - ", "shifted = logits\n    shifted -= "),
        "The caller's logits were changed: `-=` changes the tensor itself. Write `logits = logits - …`."),
    # running_mean_loop
    row("running_mean_loop", "future_averaged_by_loop", replace("[: token + 1]", ""), FUTURE_TOO),
    row("running_mean_loop", "present_left_out_by_loop", replace("token + 1]", "token]"), PRESENT_LEFT_OUT),
    row("running_mean_loop", "next_token_averaged_by_loop", replace("token + 1]", "token + 2]"), NEXT_TOO),
    row("running_mean_loop", "summed_by_loop", replace("mean(dim=0)", "sum(dim=0)"), SUMMED),
    row("running_mean_loop", "divided_by_all_by_loop", replace("mean(dim=0)", "sum(dim=0) / len(text)"),
        DIVIDED_BY_ALL),
    row("running_mean_loop", "divided_by_one_too_few", replace("mean(dim=0)", "sum(dim=0) / token"),
        "The sum of t + 1 tokens is divided by t. Tokens are counted from 0, so token t is the last of t + 1 tokens."),
    row("running_mean_loop", "features_averaged_too", replace("mean(dim=0)", "mean().expand(x.shape[2])"),
        "The mean runs over the features too, so all features of a token become equal. Average only over the tokens: "
        "`mean(dim=0)` of a text's past."),
    row("running_mean_loop", "texts_averaged_too",
        replace("text[: token + 1].mean(dim=0)", "x[:, : token + 1].mean(dim=(0, 1))"),
        "The mean runs over the texts of the batch too. The texts are independent: average the tokens of each text "
        "separately."),
    row("running_mean_loop", "half_of_the_mean_before",
        replace("text[: token + 1].mean(dim=0)",
                "sum(text[past] / 2 ** (token - past + (past > 0)) for past in range(token + 1))"),
        "Each mean is half of the token plus half of the mean before it, so earlier tokens count less and less. In a "
        "mean all tokens count the same."),
    row("running_mean_loop", "only_one_token_back", replace("[: token + 1]", "[max(0, token - 1) : token + 1]"),
        "Each token is averaged only with the token before it. The whole past should be part of the mean."),
    row("running_mean_loop", "last_token_forgotten", replace("mean(dim=0)", "mean(dim=0) * (token + 1 < len(text))"),
        "The loop stops before the last token, and its mean stays zero. `range(T)` goes through all T tokens."),
    row("running_mean_loop", "no_gradients_by_loop", replace("in x]", "in x.detach()]"), NO_GRADIENTS),
    row("running_mean_loop", "float32_weights_by_loop",
        replace("text[: token + 1].mean(dim=0)", "torch.ones(token + 1) @ text[: token + 1] / (token + 1)"), FLOAT32),
    row("running_mean_loop", "no_fit_by_loop", replace("in x]", "in x.view(4, 8, 2)]"),
        "Every call ends in an error. If it is about shapes or sizes: each token's mean has C numbers, and the "
        "result has the shape of x, (B, T, C). Read the sizes from x."),
    row("running_mean_loop", "squeezed_by_loop", replace("x],\n    )", "x],\n    ).squeeze()"), SQUEEZED),
    row("running_mean_loop", "x_changed_by_loop",
        replace("return torch", "x[:] = torch").replace("x],\n    )", "x],\n    )\n    return x"), CHANGED),
    row("running_mean_loop", "one_long_text_by_loop",
        replace("x],\n    )", "x.flatten(0, 1)[None]],\n    ).view_as(x)"), ONE_TEXT),
    row("running_mean_loop", "total_of_earlier_texts_kept",
        replace("text[: token + 1].mean(dim=0)",
                "(text[: token + 1].sum(dim=0) + x[:number].sum(dim=(0, 1))) / (token + 1)")
        .replace("for text in x]", "for number, text in enumerate(x)]"),
        "The running total keeps the tokens of the texts before, so only the first text is right. Set it to zero "
        "before each text."),
    # running_mean_matmul
    row("running_mean_matmul", "future_averaged_by_matmul", replace(".tril()", ""), FUTURE_TOO),
    row("running_mean_matmul", "past_left_out_by_matmul", replace("tril()", "triu()"), PAST_LEFT_OUT),
    row("running_mean_matmul", "present_left_out_by_matmul", replace("tril()", "tril(diagonal=-1)"), PRESENT_LEFT_OUT),
    row("running_mean_matmul", "next_token_averaged_by_matmul", replace("tril()", "tril(diagonal=1)"), NEXT_TOO),
    row("running_mean_matmul", "summed_by_matmul", replace(" / seen.sum(dim=-1, keepdim=True)", ""), SUMMED),
    row("running_mean_matmul", "divided_by_all_by_matmul", replace("seen.sum(dim=-1, keepdim=True)", "num_tokens"),
        DIVIDED_BY_ALL),
    row("running_mean_matmul", "columns_sum_to_one_by_matmul", replace("dim=-1", "dim=0"), COLUMNS),
    row("running_mean_matmul", "weights_transposed_by_matmul", replace("return weights @ x", "return weights.T @ x"),
        "The weights are transposed, so each token averages itself and later ones. Row t of the weights belongs to "
        "token t: it should be different from zero up to column t."),
    row("running_mean_matmul", "sums_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. "
        "Keep the sums as a column, (T, 1)."),
    row("running_mean_matmul", "divided_by_the_sum_of_all_weights", replace("sum(dim=-1, keepdim=True)", "sum()"),
        "All weights are divided by one number, the sum of the whole matrix. Each row needs its own sum."),
    row("running_mean_matmul", "no_gradients_by_matmul", replace("return weights @ x", "return weights @ x.detach()"),
        NO_GRADIENTS),
    row("running_mean_matmul", "float32_weights_by_matmul", replace(", dtype=x.dtype", ""), FLOAT32),
    row("running_mean_matmul", "no_fit_by_matmul", replace("x.shape[1]", "8"), NO_FIT),
    row("running_mean_matmul", "squeezed_by_matmul", replace("return weights @ x", "return (weights @ x).squeeze()"),
        SQUEEZED),
    row("running_mean_matmul", "x_changed_by_matmul", replace("return weights @ x", "x[:] = weights @ x\n    return x"),
        CHANGED),
    row("running_mean_matmul", "one_long_text_by_matmul",
        replace("x.shape[1]", "x.shape[0] * x.shape[1]")
        .replace("return weights @ x", "return (weights @ x.flatten(0, 1)).view_as(x)"), ONE_TEXT),
    # running_mean_softmax
    row("running_mean_softmax", "future_averaged_by_softmax", replace(".masked_fill(future, -torch.inf)", ""),
        "Every token gets the mean of the whole text. Either the result of `masked_fill` is not used, or the future "
        "is filled with zeros. The exponential of zero is one; only the exponential of minus infinity is zero."),
    row("running_mean_softmax", "softmax_of_the_triangle", replace("-torch.inf", "-1"),
        "The future still has weight: its scores are only one below the others, perhaps because softmax is applied "
        "to ones and zeros. Use scores of zero, with minus infinity for the future."),
    row("running_mean_softmax", "past_left_out_by_softmax", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        PAST_LEFT_OUT),
    row("running_mean_softmax", "present_left_out_by_softmax", replace("diagonal=1", "diagonal=0"), PRESENT_LEFT_OUT),
    row("running_mean_softmax", "next_token_averaged_by_softmax", replace("diagonal=1", "diagonal=2"), NEXT_TOO),
    row("running_mean_softmax", "columns_sum_to_one_by_softmax", replace("dim=-1", "dim=0"), COLUMNS),
    row("running_mean_softmax", "hidden_after_softmax",
        replace(".masked_fill(future, -torch.inf)", "").replace("dim=-1)", "dim=-1).masked_fill(future, 0)"),
        "The future is set to zero after the softmax, so it is still in the sum that each row is divided by. Hide it "
        "before, with scores of minus infinity."),
    row("running_mean_softmax", "no_softmax_at_all", replace("torch.softmax(scores, dim=-1)", "scores"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first."),
    row("running_mean_softmax", "zero_times_infinity",
        replace(".masked_fill(future, -torch.inf)", " + future * -torch.inf"),
        "The result is NaN, as if a mask of zeros and ones were multiplied by infinity: zero times infinity is NaN. "
        "Fill the masked entries instead, with `masked_fill` or `torch.where`."),
    row("running_mean_softmax", "scores_from_the_tokens",
        replace("torch.zeros(num_tokens, num_tokens, dtype=x.dtype)", "(x @ x.mT)"),
        "The scores are already those of attention, dot products of tokens. Here all scores are zero, so that all "
        "visible tokens have the same weight. The head comes next."),
    row("running_mean_softmax", "no_gradients_by_softmax", replace("@ x", "@ x.detach()"), NO_GRADIENTS),
    row("running_mean_softmax", "float32_weights_by_softmax", replace(", dtype=x.dtype", ""), FLOAT32),
    row("running_mean_softmax", "no_fit_by_softmax", replace("x.shape[1]", "8"), NO_FIT),
    row("running_mean_softmax", "squeezed_by_softmax", replace(MIXED, f"({MIXED}).squeeze()"), SQUEEZED),
    row("running_mean_softmax", "x_changed_by_softmax", replace(f"return {MIXED}", f"x[:] = {MIXED}\n    return x"),
        CHANGED),
    row("running_mean_softmax", "one_long_text_by_softmax",
        replace("x.shape[1]", "x.shape[0] * x.shape[1]").replace(MIXED, f"({MIXED}.flatten(0, 1)).view_as(x)"),
        ONE_TEXT),
    # Head
    row("Head", "scaled_by_n_embd", replace("head_size**0.5", "x.shape[-1] ** 0.5"),
        "The scores are divided by the root of n_embd. Queries and keys are head_size wide, and a dot product sums "
        "over these features: divide by √head_size."),
    row("Head", "half_instead_of_root", replace("head_size**0.5", "head_size * 0.5"),
        "Python evaluates `/` and `*` from left to right: `/ head_size * 0.5` divides by head_size and then "
        "multiplies by 0.5. A square root is a power, written with `**`."),
    row("Head", "scaling_forgotten", replace(" / head_size**0.5", ""),
        "The scores are not scaled. With wider queries and keys the dot products become larger. Divided by "
        "√head_size they keep a variance near 1, so that softmax does not give all the weight to one token."),
    row("Head", "multiplied_by_the_root_of_n_embd", replace("/ head_size**0.5", "* x.shape[-1] ** 0.5"),
        "The scores are multiplied by the root of n_embd. They should become smaller, not larger, and the width of "
        "queries and keys is head_size: divide by its root."),
    row("Head", "twentieth_root", replace("0.5", "0.05"),
        "The root is mistyped: the power .05 hardly changes the scores. A square root is the power 0.5, or "
        "`math.sqrt`."),
    row("Head", "fifth_power", replace("0.5", "5"),
        "The scores are divided by the fifth power of head_size, so all visible tokens have almost the same weight. "
        "Perhaps a dot is missing: the root is the power 0.5."),
    row("Head", "square_instead_of_root", replace("0.5", "2"),
        "The scores are divided by the square of head_size, which makes them far too small. Divide by its square "
        "root, the power 0.5."),
    row("Head", "multiplied_by_half_the_head_size", replace("/ head_size**0.5", "* head_size * 0.5"),
        "The scores are multiplied by half of head_size. Divide by its root: a root is a power, `**`, and dividing "
        "by it is the power -0.5."),
    row("Head", "divided_by_head_size_itself", replace("head_size**0.5", "head_size"),
        "The scores are divided by head_size itself. The typical size of a dot product is the root of its number of "
        "terms: divide by √head_size."),
    row("Head", "multiplied_by_the_root", replace("/ head_size", "* head_size"),
        "The scores are multiplied by the root of head_size. Wider heads have larger dot products, so make them "
        "smaller: `* head_size**-0.5`, with a minus, or divide."),
    row("Head", "scaled_by_number_of_tokens", replace("head_size**0.5", "num_tokens**0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so divide by "
        "the root of the width of queries and keys, head_size."),
    row("Head", "scaled_by_block_size", replace("head_size**0.5", "len(self.future) ** 0.5"),
        "The scores are divided by the root of block_size. A dot product sums over features and does not depend on "
        "the length of a text: divide by the root of their number, head_size."),
    row("Head", "scaled_for_the_notebook", replace("head_size**0.5", "16**0.5"),
        "The divisor is a fixed number, the root of one head_size. Use the class's own arguments, or the width of "
        "the keys."),
    row("Head", "scaled_by_root_of_eight", replace("head_size**0.5", "8**0.5"), FIXED),
    row("Head", "scaled_by_eight", replace("head_size**0.5", "8"), FIXED),
    row("Head", "scaled_after_softmax", replace(" / head_size**0.5", "").replace("dim=-1)", "dim=-1) / head_size**0.5"),
        "The weights are divided after the softmax. Then they no longer sum to one, and their ratios stay the same. "
        "Scale the scores, before softmax."),
    row("Head", "keys_reshaped", replace("keys.transpose(-2, -1)", "keys.reshape(len(keys), head_size, num_tokens)"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    row("Head", "batch_turned_round_or_float_mask", replace("keys.transpose(-2, -1)", "keys.permute(2, 1, 0)"),
        "Every call ends in an error. Scores: swap the last two dimensions of the keys, and keep the batch first. "
        "Mask: it must be bool, and `~` inverts it. Values: the output is (B, T, head_size), not n_embd wide. "
        "Otherwise print the shapes in that line."),
    row("Head", "masked_scores_thrown_away", replace("scores = scores.masked", "scores.masked"),
        "The future is still visible. Either nothing hides it, or the result of the mask is not used: `masked_fill` "
        "without an underscore returns a new tensor. Use this tensor."),
    row("Head", "zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the future are zero. Zero is a normal score: its exponential is one, so the future is still "
        "visible. Use minus infinity."),
    row("Head", "past_hidden", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The mask is inverted: the past is hidden and the future is visible. The future is to the right of the "
        "diagonal."),
    row("Head", "past_and_present_hidden",
        replace("triu(diagonal=1)", "tril()"),
        "The mask is inverted, and the diagonal is hidden too. A token sees itself and its past. The last token of a "
        "text of block_size tokens sees nothing here, so its weights are not numbers."),
    row("Head", "diagonal_hidden_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is hidden too. A token sees itself, and the first token sees nothing else: its row would be "
        "all minus infinity, and its weights not numbers."),
    row("Head", "next_token_seen", replace("diagonal=1", "diagonal=2"),
        "Each token still sees the next one: the mask begins one position too late. The next token is what the model "
        "should predict."),
    row("Head", "masked_after_softmax", replace(MASKED, "scores").replace("dim=-1)", "dim=-1).tril()"),
        "The future is set to zero after the softmax, so it is still in the sum inside softmax, and the weights of "
        "the past do not sum to one. Hide it before."),
    row("Head", "zero_times_infinity_in_head",
        replace(MASKED, "scores + self.future[:num_tokens, :num_tokens] * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, "
        "or the mask hides everything. Fill only the future's entries: `masked_fill`, or `torch.where`."),
    row("Head", "mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly block_size tokens work. That is the longest text allowed. Read T, the number of "
        "tokens, from the inputs, and use the upper left corner of the mask, `self.mask[:T, :T]`."),
    row("Head", "wrong_corner_of_the_mask", replace("[:num_tokens, :num_tokens]", "[-num_tokens:, :num_tokens]"),
        "The code uses the wrong corner of the mask for shorter texts: the last rows or columns belong to other "
        "tokens. A text starts at the first token, so use the upper left corner."),
    row("Head", "mask_of_the_notebook", replace("block_size, block_size", "8, 8"),
        "The size of the mask comes from a block_size of the notebook, not from the argument. Use the class's own "
        "arguments."),
    row("Head", "mask_as_a_parameter",
        replace('self.register_buffer("future", future, persistent=False)',
                "self.future = nn.Parameter(future.float())")
        .replace("[:num_tokens, :num_tokens]", "[:num_tokens, :num_tokens].bool()"),
        "The mask is an nn.Parameter, so an optimiser would change it. It should not learn: store it with "
        "`register_buffer`, or make it in `forward`."),
    row("Head", "zero_scores_hidden_in_head",
        replace(MASKED, "scores.tril().masked_fill(scores.tril() == 0, -torch.inf)"), ZEROS_HIDDEN),
    row("Head", "minus_ten_thousand_in_head", replace("-torch.inf", "-1e4"),
        "The future is hidden by a number such as -10,000. Other scores may be as low, and then the future has "
        "weight. Minus infinity, or a number as low as -1e9, is below all scores."),
    row("Head", "equal_widths_not_projected",
        replace("self.value(x)", "x if x.shape[-1] == self.value.out_features else self.value(x)"),
        "If n_embd and head_size are equal, the weights mix the inputs themselves. Always mix the values, value(x)."),
    row("Head", "past_averaged", replace("head_size**0.5", "head_size**0.5 * 0"),
        "The past is averaged: all visible tokens have the same weight, whatever queries and keys are. That was the "
        "running mean; here the dot products decide."),
    row("Head", "one_token_back_in_head",
        replace("-torch.inf)",
                "-torch.inf).masked_fill(torch.ones_like(scores, dtype=torch.bool).tril(-2), -torch.inf)"),
        "Each token sees at most the token before it. That is a bigram. With attention the whole past is visible, "
        "back to the start of the text."),
    row("Head", "softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries. The weights of each query should sum to one over the keys: dim=-1."),
    row("Head", "softmax_over_the_queries_unscaled", replace("dim=-1", "dim=1").replace(" / head_size**0.5", ""),
        "Softmax runs over the queries, and the scores are not scaled. The weights of each query should sum to one "
        "over the keys, dim=-1, and the scores are divided by √head_size. Such a softmax shows each token its future, "
        "whatever the mask is."),
    row("Head", "softmax_over_the_queries_scaled_by_n_embd",
        replace("dim=-1", "dim=1").replace("head_size**0.5", "x.shape[-1] ** 0.5"),
        "Softmax runs over the queries, and the scores are divided by √n_embd. The weights of each query should sum to "
        "one over the keys, dim=-1, and the width of queries and keys is head_size. Such a softmax shows each token "
        "its future, whatever the mask is."),
    row("Head", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), but texts of a batch are independent. The tokens lie along the last "
        "dimension, -1."),
    row("Head", "softmax_over_everything", replace(SOFTMAX, "torch.softmax(scores.flatten(), dim=0).view_as(scores)"),
        "Softmax runs over everything at once, so all weights of all texts together sum to one. The weights of each "
        "query should sum to one: dim=-1."),
    row("Head", "softmax_taken_twice_in_head", replace(SOFTMAX, f"torch.softmax({SOFTMAX}, dim=-1)"),
        "Softmax is applied twice. The second one gets weights, and the zeros of the future among them: the "
        "exponential of zero is one, so the future is visible again."),
    row("Head", "softmax_before_the_mask_too",
        replace("scores = scores.masked", "scores = torch.softmax(scores, dim=-1)\n        scores = scores.masked"),
        "There is a softmax before the mask and another one after it. The first one already sums over the future, "
        "and the second one makes all weights nearly equal. Mask the scores, and then apply softmax once."),
    row("Head", "softmax_forgotten_in_head", replace(SOFTMAX, "scores"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first: it makes them positive, and zero for the future."),
    row("Head", "one_text_without_a_batch",
        replace("queries, keys", "num_tokens, n_embd = x.shape\n        queries, keys"),
        "The code expects inputs without a batch, or with one dimension more. The inputs are (B, T, n_embd), and the "
        "number of tokens is the second dimension."),
    row("Head", "weights_of_the_first_text", replace("dim=-1)", "dim=-1)[:1].expand_as(scores)"),
        "Every text of the batch gets the weights of the first text. Each text has its own scores."),
    row("Head", "batch_as_one_long_text",
        replace("queries, keys", "shape, x = x.shape[:2], x.flatten(0, 1)[None]\n        queries, keys")
        .replace("self.future[:num_tokens, :num_tokens]", "torch.ones_like(scores, dtype=torch.bool).triu(1)")
        .replace("weights @ values", "(weights @ values).view(*shape, -1)"),
        "The texts of a batch are joined to one long text, so later texts see the earlier ones. Texts of a batch "
        "never exchange information."),
    row("Head", "batch_held_to_block_size", replace("x.shape[1] >", "x.shape[0] >"),
        "A batch with more texts than block_size raises an error. block_size limits the tokens of a text, the second "
        "dimension of x. A batch may have any number of texts."),
    row("Head", "single_token_refused",
        replace("scores = queries",
                'if num_tokens < 2:\n            raise ValueError("there is no past")\n        scores = queries'),
        "A single token raises an error or gives a wrong output. But it is a text: it sees itself, and its output is "
        "its own value."),
    row("Head", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    row("Head", "dropout_never_applied", NOT_DROPPED,
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    row("Head", "dropout_in_eval_mode_too", replace("self.dropout(torch", "nn.Dropout(self.dropout.p)(torch"),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode: pass `training=self.training`. An "
        "nn.Dropout made in `forward` is always in training: make it in `__init__`."),
    row("Head", "always_half_dropped_in_eval_mode_too", replace("self.dropout(", "nn.functional.dropout("),
        "Half of the weights are dropped, in eval mode too: `F.dropout` knows neither `dropout` nor the mode. Pass "
        "both on, or use the nn.Dropout made in `__init__`."),
    row("Head", "dropout_in_eval_mode_only",
        replace(f"self.dropout({SOFTMAX})", f"nn.functional.dropout({SOFTMAX}, self.dropout.p, not self.training)"),
        "Weights are dropped in eval mode and not in training: the check of the mode is inverted. Dropout is only "
        "for training."),
    row("Head", "always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.5)"),
        "A fixed fraction of the weights is dropped and `dropout` is ignored: it is the default of PyTorch, or a "
        "number of the notebook. Pass the argument on."),
    row("Head", "always_a_fifth_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.2)"),
        "A fifth of the weights is always dropped, as in a well-known lecture, and `dropout` is ignored. Pass the "
        "argument on."),
    row("Head", "dropout_taken_for_keeping", replace("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        "The code uses `dropout` as the probability of keeping a weight. In nn.Dropout, and in this course, it is "
        "the probability of dropping one."),
    row("Head", "dropout_before_softmax", NOT_DROPPED.replace("(scores, dim", "(self.dropout(scores), dim"),
        "Dropout acts on the scores, before softmax. A score of zero does not give a weight of zero, and minus "
        "infinity times zero is NaN. Drop the weights, after softmax."),
    row("Head", "dropout_before_the_mask",
        NOT_DROPPED.replace("scores.masked_fill", "self.dropout(scores).masked_fill"),
        "In training the weights change, but none becomes zero: dropout acts before the softmax, on the scores or on "
        "queries or keys. A score of zero does not give a weight of zero. Drop the weights, after softmax."),
    row("Head", "dropout_on_the_values", NOT_DROPPED.replace("@ values", "@ self.dropout(values)"),
        "Dropout acts on the values. Then a dropped feature is missing for every query that looks there. Drop the "
        "weights instead."),
    row("Head", "dropout_on_the_outputs", NOT_DROPPED.replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts on the outputs. A transformer does that too, later. But in a head the weights are dropped, "
        "before they are multiplied with the values."),
    row("Head", "dropout_on_weights_and_outputs", replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts twice, on the weights and again on the values or the outputs. In a head only the weights are "
        "dropped."),
    row("Head", "dropout_on_the_inputs",
        NOT_DROPPED.replace("queries, keys", "x = self.dropout(x)\n        queries, keys"),
        "Dropout acts on the inputs, so queries, keys and values all change. Here only the attention weights are "
        "dropped."),
    row("Head", "rows_renormalized_after_dropout",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True) @ values"),
        "After dropout the rows are divided by their sum again. They should sum to one only on average: divide the "
        "kept weights by 1 - dropout, and do nothing else."),
    row("Head", "rows_renormalized_with_care",
        replace("weights @ values", "weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ values"),
        "After dropout the rows are divided by their sum again, except those that lost everything. They should sum "
        "to one only on average: divide the kept weights by 1 - dropout, and do nothing else."),
    row("Head", "survivors_not_scaled",
        replace("weights @ values", "weights * (1 - self.dropout.p * self.training) @ values"),
        "Weights are dropped, but the kept weights are not scaled. Divide them by 1 - dropout, so that the average "
        "stays the same."),
    row("Head", "survivors_scaled_twice",
        replace("weights @ values", "weights / (1 - self.dropout.p * self.training) @ values"),
        "The kept weights are divided by 1 - dropout twice. nn.Dropout already does that: do not divide again."),
    row("Head", "weights_dropped_twice", replace("weights @ values", "self.dropout(weights) @ values"),
        "The weights go through dropout twice, so more of them are lost than `dropout` says. Drop them once, after "
        "softmax."),
    row("Head", "dropped_once_and_for_all",
        NOT_DROPPED
        .replace("= nn.Dropout(dropout)",
                 "= nn.Dropout(dropout)\n        self.kept = self.dropout(torch.ones(8, block_size, block_size))")
        .replace("weights @ values",
                 "(weights * self.kept[: len(x), :num_tokens, :num_tokens] if self.training else weights) @ values"),
        "Every call drops the same weights: they are drawn once, when the head is made, or the code sets a seed. "
        "Draw again in each call and set no seed, so that the network cannot rely on a single token."),
    row("Head", "texts_dropped_alike",
        NOT_DROPPED.replace("return weights", "return weights * self.dropout(torch.ones_like(weights[:1]))"),
        "All texts of a batch have the same weights dropped: the draws have the shape (T, T). Draw for (B, T, T)."),
    row("Head", "whole_tokens_dropped",
        NOT_DROPPED.replace("return weights", "return weights * self.dropout(torch.ones_like(weights[:, :1]))"),
        "Whole tokens are dropped: there is one draw for each token, for all queries. Draw for each weight."),
    row("Head", "whole_rows_dropped",
        NOT_DROPPED.replace("return weights", "return weights * self.dropout(torch.ones_like(weights[..., :1]))"),
        "Whole rows of weights are dropped: a token sees all of its past or nothing. Draw for each weight, as "
        "nn.Dropout does. nn.Dropout1d and similar modules drop whole rows."),
    row("Head", "bias_in_every_layer", replace(", bias=False", "", times=3),
        "The layers have a bias, which is the default of nn.Linear. A head has none: `bias=False`."),
    row("Head", "bias_in_value_alone",
        replace("self.value = nn.Linear(n_embd, head_size, bias=False)", "self.value = nn.Linear(n_embd, head_size)"),
        "value has a bias, and the other two have none. All three layers need `bias=False`."),
    row("Head", "layers_of_other_names",
        replace("self.key", "self.W_key", times=2).replace("self.query", "self.W_query", times=2)
        .replace("self.value", "self.W_value", times=2),
        "query, key and value are not found: the layers have other names, one layer does the work of all three, or "
        "`super().__init__()` was not called first. Code that loads weights uses these names."),
    row("Head", "matrices_instead_of_layers",
        replace("nn.Linear(n_embd, head_size, bias=False)", "nn.Parameter(torch.rand(n_embd, head_size))", times=3)
        .replace("self.query(x), self.key(x), self.value(x)", "x @ self.query, x @ self.key, x @ self.value"),
        "The three are matrices made by hand. Here each should be an nn.Linear, which has its own weight."),
    row("Head", "layers_the_other_way_round", replace("Linear(n_embd, head_size", "Linear(head_size, n_embd", times=3),
        "The arguments of nn.Linear are the input width first and the output width second: nn.Linear(n_embd, "
        "head_size)."),
    row("Head", "head_size_not_used", replace("Linear(n_embd, head_size", "Linear(n_embd, n_embd", times=3),
        "The layers keep the width n_embd, and head_size is not used. A head is narrower than the model, so that "
        "several heads together have the width of the model."),
    row("Head", "other_arguments_in_head",
        replace("n_embd: int, head_size: int, block_size: int, dropout: float", "head_size: int"),
        "The head cannot be made, because a call got other arguments than it takes. Head takes n_embd, head_size, "
        "block_size and dropout, none of them a global of a notebook: keep the arguments of the stub."),
    row("Head", "layers_of_the_notebook", replace("Linear(n_embd, head_size", "Linear(32, 16", times=3),
        "The layers have fixed sizes from the notebook. Use the class's own arguments, n_embd and head_size. "
        "Otherwise it works only for these sizes."),
    row("Head", "one_layer_in_use", replace("self.key(x), self.value(x)", "self.query(x), self.query(x)"),
        "One layer is used in all three roles, and the other two are never used. Query, key and value are learned "
        "separately."),
    row("Head", "keys_ask_the_queries", replace("self.query(x), self.key(x)", "self.key(x), self.query(x)"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    row("Head", "key_layer_unused", replace("self.key(x)", "self.query(x)"),
        "key is made but never used: queries are compared with queries. Compare each query with the keys, key(x)."),
    row("Head", "query_layer_unused", replace("self.query(x), self.key(x)", "self.key(x), self.key(x)"),
        "query is made but never used: keys are compared with keys. Compare each query, query(x), with the keys."),
    row("Head", "keys_and_values_exchanged", replace("self.key(x), self.value(x)", "self.value(x), self.key(x)"),
        "Keys and values are swapped: queries are compared with the values, and the weights mix the keys."),
    row("Head", "values_as_queries", replace("self.query(x)", "self.value(x)"), VALUES_AS_QUERIES),
    row("Head", "values_as_keys", replace("self.key(x)", "self.value(x)"), VALUES_AS_KEYS),
    row("Head", "keys_handed_over", replace("self.value(x)", "self.key(x)"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("Head", "value_layer_unused", replace("self.value(x)", "x"),
        "value is made but never used: the weights mix the inputs themselves. Mix the values, value(x)."),
    row("Head", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The head returns outputs and weights. The next layer needs one tensor: return only the outputs."),
    row("Head", "weights_instead_of_outputs", replace("weights @ values", "weights"),
        "The head returns the attention weights. They say how important each token is. The output is the sum of the "
        "values, each times its weight."),
    row("Head", "gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "No gradient flows through: does `.detach()`, `.data` or `torch.no_grad()` cut off the outputs, or the "
        "outputs of the layers? So nothing below them can learn."),
    row("Head", "only_values_learn", replace("weights @ values", "weights.detach() @ values"),
        "No gradient flows through the weights that are multiplied with the values, so only the values learn. "
        "Queries and keys must be able to learn too."),
    row("Head", "inputs_made_float32", replace("queries, keys", "x = x.float()\n        queries, keys"),
        "The inputs or a tensor of your own are made float32 and do not match float64. Keep the dtype of the inputs, "
        "and make your own tensors like them."),
    row("Head", "inputs_changed_in_place",
        replace("return weights", "x -= x.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
    # BigramLanguageModel
    row("BigramLanguageModel", "table_under_another_name",
        replace("self.token_embedding_table", "self.embedding", times=2),
        "The table has another name. Other code looks for it by name, so call it token_embedding_table."),
    row("BigramLanguageModel", "table_as_a_parameter",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Parameter(torch.randn(vocab_size, vocab_size))")
        .replace("table(idx)", "table[idx]"),
        "The table is a plain nn.Parameter. It would work, but the rule asks for an nn.Embedding, the module that "
        "looks up rows by their ids."),
    row("BigramLanguageModel", "table_as_a_linear_layer",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Linear(vocab_size, vocab_size, bias=False)")
        .replace("table(idx)", "table(torch.eye(self.token_embedding_table.in_features)[idx])"),
        "The table is an nn.Linear. Its weight has a column for each input token. An nn.Embedding has a row for "
        "each, and looks it up without a product."),
    row("BigramLanguageModel", "other_arguments_in_model",
        replace("vocab_size: int", "vocab_size: int, n_embd: int"),
        "The model cannot be made, because a call got other arguments than it takes. It takes only vocab_size: keep "
        "the argument of the stub."),
    row("BigramLanguageModel", "table_of_the_notebook", replace("vocab_size, vocab_size", "65, 65"),
        "The size of the table is fixed, 65. Use the class's own argument, vocab_size."),
    row("BigramLanguageModel", "table_with_a_layer_behind",
        replace("nn.Embedding(vocab_size, vocab_size)",
                "nn.Embedding(vocab_size, 32)\n        self.lm_head = nn.Linear(32, vocab_size)")
        .replace("self.token_embedding_table(idx)", "self.lm_head(self.token_embedding_table(idx))"),
        "The rows of the table do not have the width of the vocabulary. In larger models they are narrower, and a "
        "linear layer comes after. Here a row already contains the logits, so the table is (V, V)."),
    row("BigramLanguageModel", "probabilities_instead_of_logits",
        replace("self.token_embedding_table(idx)", "self.token_embedding_table(idx).softmax(dim=-1)"),
        "The logits went through a softmax. Loss and generate apply their own softmax, and a second one makes the "
        "probabilities nearly equal. Return the rows of the table without change."),
    row("BigramLanguageModel", "columns_of_the_table",
        replace("self.token_embedding_table(idx)", "self.token_embedding_table.weight.T[idx]"),
        "The logits are columns of the table. For the id i an nn.Embedding returns row i: call it, and it looks up "
        "the row."),
    row("BigramLanguageModel", "flat_logits_with_targets",
        replace("return logits, cross", "return logits.flatten(0, 1), cross"),
        "With targets, the logits are flat, (B · T, V). Then their shape depends on the targets. Flatten only for "
        "the loss, under other names."),
    row("BigramLanguageModel", "lonely_logits_squeezed",
        replace("return logits, cross", "return logits.squeeze(), cross"),
        "With targets, the logits are squeezed, so a single text, or texts of one token, lose a dimension of size "
        "one. Logits are always (B, T, V)."),
    row("BigramLanguageModel", "logits_of_the_last_token",
        replace("return logits", "return logits[:, -1]", times=2).replace("softmax(logits[:, -1]", "softmax(logits"),
        "Only the logits of the last token are returned, (B, V). generate needs no others, but the loss does: every "
        "token predicts the next one."),
    row("BigramLanguageModel", "logits_alone_without_targets",
        replace("return logits, None", "return logits").replace("logits, _ =", "logits ="),
        "Without targets, only the logits are returned. forward always returns two results: logits, and the loss or "
        "None. Otherwise a caller who unpacks two results gets an error or wrong tensors."),
    row("BigramLanguageModel", "loss_alone_with_targets", replace("return logits, cross", "return cross"),
        "With targets, only the loss is returned. forward always returns two results: the logits first, and then the "
        "loss or None."),
    row("BigramLanguageModel", "loss_before_logits",
        replace("logits, None", "None, logits")
        .replace(f"logits, {LOSS}", f"{LOSS}, logits")
        .replace("logits, _ =", "_, logits ="),
        "The loss comes before the logits. forward returns the logits first."),
    row("BigramLanguageModel", "targets_required", replace("targets: torch.Tensor | None = None", "targets"),
        "A call without targets ends in an error, because they have no default. They are optional: keep the default "
        "of the stub, None."),
    row("BigramLanguageModel", "zero_without_targets", replace("logits, None", "logits, torch.zeros(())"),
        "Without targets, the loss is zero. Zero would be a perfect score. If nothing was measured, the loss is None."),
    row("BigramLanguageModel", "loss_never_worked_out", replace(LOSS, "None"),
        "The targets are not used: the loss is always None. If there are targets, it is the mean cross-entropy."),
    row("BigramLanguageModel", "losses_added_up_in_model", replace(LOSS, f"nn.functional.{LOSS} * targets.numel()"),
        "The losses of all predictions are added up. Then a larger batch has a larger loss for no reason. Take the "
        "mean."),
    row("BigramLanguageModel", "mean_over_texts_alone", replace(LOSS, f"nn.functional.{LOSS} * targets.shape[1]"),
        "The losses of a text's tokens are added up, and the mean runs over the texts. There are B · T predictions, "
        "32 in a batch of 4 texts of 8 tokens. Take the mean over all of them."),
    row("BigramLanguageModel", "loss_of_the_last_tokens",
        replace(LOSS, "nn.functional.cross_entropy(logits[:, -1], targets[:, -1])"),
        "Only the last token of each text counts in the loss: 4 predictions instead of 32. Every token predicts the "
        "next one."),
    row("BigramLanguageModel", "targets_moved_on_once_more",
        replace(LOSS, f"nn.functional.{LOSS}").replace("(logits, targets)", "(logits[:, :-1], targets[:, 1:])"),
        "The targets of each text are shifted again, and one prediction is lost. The targets already are the next "
        "tokens."),
    row("BigramLanguageModel", "targets_of_other_tokens",
        replace(LOSS, "nn.functional.cross_entropy(logits.flatten(0, 1), targets.T.flatten())"),
        "Logits and targets are flattened in different orders, so predictions get the targets of other tokens. Use "
        "the same order for both."),
    row("BigramLanguageModel", "predictions_of_other_tokens",
        replace(LOSS, "nn.functional.cross_entropy(logits.transpose(0, 1).flatten(0, 1), targets.flatten())"),
        "The logits are sorted by token and the targets by text, so predictions get the targets of other tokens. Use "
        "the same order for both."),
    row("BigramLanguageModel", "calls_with_targets_fail",
        replace("targets is None", "not targets"),
        "Every call with targets ends in an error. If it is about a bool value: `if targets:` does not work for a "
        "tensor, compare with None. If it is about shapes: the loss takes flat logits (B · T, V) and flat targets."),
    row("BigramLanguageModel", "loss_without_softmax",
        replace(LOSS, "nn.functional.nll_loss(*flatten_for_cross_entropy(logits, targets))"),
        "The loss uses the logits as if they were logarithms of probabilities: the softmax is missing. The negative "
        "log-likelihood of PyTorch does not contain it, cross-entropy does."),
    row("BigramLanguageModel", "predictions_torn_by_view",
        replace(LOSS, "nn.functional.cross_entropy(logits.reshape(len(idx), -1, idx.shape[1]), targets)"),
        "`view` and `reshape` only cut the rows at other positions: `logits.view(B, V, T)` mixes the predictions. If "
        "you want (B, V, T) for PyTorch's loss, use `transpose`. Otherwise join the first two dimensions."),
    row("BigramLanguageModel", "softmax_before_the_loss",
        replace("(logits, targets)", "(torch.softmax(logits, dim=-1), targets)"),
        "The loss has one softmax too many: cross-entropy takes the logits and already contains a softmax."),
    row("BigramLanguageModel", "minus_forgotten_in_model", replace("logits, cross", "logits, -cross"),
        "The minus is missing: the loss is the mean logarithm of the probabilities, so training would make the "
        "targets as unlikely as possible."),
    row("BigramLanguageModel", "loss_without_gradients", replace(LOSS, f"{LOSS}.item()"),
        "The loss is cut off from the gradients, for example by `.item()`, `float(…)`, `.detach()` or "
        "`torch.no_grad()`, so the model cannot learn from it. The caller can read the number."),
    row("BigramLanguageModel", "table_that_does_not_learn",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Embedding(vocab_size, vocab_size).requires_grad_(False)"),
        "The table requires no gradients, so it never changes. It is all that the model can learn."),
    row("BigramLanguageModel", "likeliest_token_taken", replace(TOKEN, "probabilities.argmax(dim=-1, keepdim=True)"),
        "The most likely token is always taken, and nothing is drawn. Such a text soon repeats itself: draw with "
        "`torch.multinomial`."),
    row("BigramLanguageModel", "all_equally_likely",
        replace("torch.softmax(logits[:, -1], dim=-1)", "torch.ones_like(logits[:, -1])"),
        "All tokens are equally likely, whatever the logits are. Draw with the probabilities from the softmax of the "
        "logits."),
    row("BigramLanguageModel", "softmax_over_the_texts", replace("dim=-1", "dim=0"),
        "Softmax runs over the texts (dim=0), so the probabilities of one text depend on the others. They should sum "
        "to one over the V kinds: dim=-1."),
    row("BigramLanguageModel", "softmax_over_the_tokens", replace("logits[:, -1], dim=-1)", "logits, dim=1)[:, -1]"),
        "Softmax runs over the tokens of the prompt (dim=1), before the last one is chosen. The probabilities should "
        "sum to one over the V kinds: dim=-1."),
    row("BigramLanguageModel", "softmax_forgotten_in_model",
        replace("torch.softmax(logits[:, -1], dim=-1)", "logits[:, -1]"),
        "The logits are used for the draw directly. They are not probabilities, and some are negative: apply softmax "
        "first."),
    row("BigramLanguageModel", "softmax_taken_twice_in_model", replace("dim=-1)", "dim=-1).softmax(dim=-1)"),
        "Softmax is applied twice, to the logits and to the probabilities. The second one makes them nearly equal, "
        "so unlikely tokens are drawn far too often."),
    row("BigramLanguageModel", "logits_scaled", replace("logits[:, -1]", "logits[:, -1] / logits.shape[-1] ** 0.5"),
        "The logits are scaled before the softmax. Scaling belongs to the scores of attention. Here it makes likely "
        "tokens less likely, and unlikely ones more likely."),
    row("BigramLanguageModel", "likely_made_likelier", replace("logits[:, -1]", "2 * logits[:, -1]"),
        "The likely tokens are drawn too often: probabilities were squared, or logits multiplied, or divided by a "
        "temperature below one. Draw with the softmax of the unchanged logits."),
    row("BigramLanguageModel", "unlikely_tokens_left_out",
        replace("logits[:, -1]", "logits[:, -1].masked_fill("
                "logits[:, -1] < logits[:, -1].topk(min(10, logits.shape[-1])).values[:, -1:], -torch.inf)"),
        "The least likely tokens are never drawn, as with top-k or top-p. Draw with the softmax of all logits: then "
        "they are drawn too, but rarely."),
    row("BigramLanguageModel", "pair_not_unpacked", replace("logits, _ = self(idx)", "logits = self(idx)"),
        "generate ends in a TypeError. forward returns two results, the logits and the loss: take the first one "
        "before you choose the last token."),
    row("BigramLanguageModel", "first_token_gone_on_from", replace("logits[:, -1]", "logits[:, 0]"),
        "The draw uses the logits of the first token. The next token there is already known. Use the logits of the "
        "last token."),
    row("BigramLanguageModel", "token_before_the_last_gone_on_from", replace("logits[:, -1]", "logits[:, -2]"),
        "The draw uses the logits of the token before the last. The next token there is the last token itself. Use "
        "the logits of the last token."),
    row("BigramLanguageModel", "all_tokens_gone_on_from", replace("logits[:, -1]", "logits.mean(dim=1)"),
        "The logits of all tokens of a text are averaged. A bigram model uses only those of the last token."),
    row("BigramLanguageModel", "new_tokens_not_looked_at",
        replace("for _ in", "prompt = idx\n        for _ in").replace("self(idx)", "self(prompt)"),
        "All new tokens are drawn from the prompt's last token. But each new token changes the next probabilities: "
        "put it at the end of the text before you call the model again."),
    row("BigramLanguageModel", "new_tokens_in_one_go",
        replace("range(max_new_tokens)", "range(min(1, max_new_tokens))")
        .replace("probabilities, 1", "probabilities, max_new_tokens"),
        "`torch.multinomial` draws all new tokens at once, and without `replacement=True` none of them twice. Draw "
        "one, put it at the end of the text, and call the model again."),
    row("BigramLanguageModel", "first_text_gone_on_from", replace("dim=-1)", "dim=-1)[:1].expand(len(idx), -1)"),
        "Every text uses the probabilities of the first text. Each text has its own last token."),
    row("BigramLanguageModel", "one_throw_for_all_texts",
        replace(TOKEN, f"{BELOW}torch.rand(1, 1, generator=generator){COUNTED}"),
        "One random number decides for all texts, so texts with the same prompt continue in the same way. Draw each "
        "text independently, as `torch.multinomial` does for each row."),
    row("BigramLanguageModel", "one_throw_for_all_steps",
        replace("for _ in", "throws = torch.rand(len(idx), 1, generator=generator)\n        for _ in")
        .replace(TOKEN, f"{BELOW}throws{COUNTED}"),
        "The same random number decides at every step: the state is set again each time, or the number is drawn only "
        "once. Draw each new token independently."),
    row("BigramLanguageModel", "new_tokens_alone",
        replace("for _ in", "prompt = idx\n        for _ in").replace("return idx", "return idx[:, prompt.shape[1] :]"),
        "Only the new tokens are returned. The text begins with its prompt: `torch.cat` joins them."),
    row("BigramLanguageModel", "ids_made_floats", replace("return idx", "return idx.float()"),
        "The ids are floats, perhaps from a `torch.zeros` tensor. Only integers can be looked up: use the dtype of "
        "idx, or `torch.cat`."),
    row("BigramLanguageModel", "prompt_cut_to_its_last_token",
        replace("for _ in", "idx = idx[:, -1:]\n        for _ in"),
        "Only the last token of the prompt is returned with the new ones. The model needs no more, but the result "
        "should contain the whole prompt."),
    row("BigramLanguageModel", "last_token_not_chosen", replace("logits[:, -1], dim", "logits, dim"),
        "generate ends in an error. The draw takes a matrix, one row for each text, so choose the last token's logits "
        "first: (B, T, V) to (B, V). A drawn token stays a column, (B, 1), when it is put at the end."),
    row("BigramLanguageModel", "new_tokens_as_new_texts", replace("dim=1)", "dim=0)"),
        "generate ends in an error, because new tokens are put below the texts, as new rows of the batch. They belong "
        "at the end of their own text, along dim 1."),
    row("BigramLanguageModel", "new_tokens_thrown_away", replace("idx = torch.cat", "torch.cat"),
        "The result is only the prompt: drawn tokens are not kept. `torch.cat` changes none of its arguments, so "
        "assign the longer text that it returns."),
    row("BigramLanguageModel", "newest_token_alone", replace("idx = torch.cat([idx, new], dim=1)", "idx = new"),
        "Only the newest token is kept: it replaces the text at every step. The result should be the whole prompt and "
        "then all new tokens."),
    row("BigramLanguageModel", "returned_in_the_loop", replace("        return idx", "            return idx"),
        "generate returns inside the loop, after the first new token. Move the return out of the loop, by one level "
        "of indentation."),
    row("BigramLanguageModel", "one_token_too_few", replace("range(max_new_tokens)", "range(1, max_new_tokens)"),
        "There is one new token too few. A loop from 1 to max_new_tokens leaves out one step: count from 0."),
    row("BigramLanguageModel", "new_tokens_in_front", replace("[idx, new]", "[new, idx]"),
        "The new tokens are put before the prompt. Put them at the end. `torch.cat` keeps the order of its list."),
    row("BigramLanguageModel", "length_of_the_whole_text",
        replace("range(max_new_tokens)", "range(max_new_tokens - idx.shape[1])"),
        "max_new_tokens is used as the length of the whole text. It is only the number of new tokens, without the "
        "prompt."),
    row("BigramLanguageModel", "one_token_too_many", replace("range(max_new_tokens)", "range(max_new_tokens + 1)"),
        "There is one new token too many. A `range` from 0 has as many steps as its end says."),
    row("BigramLanguageModel", "at_least_one_token", replace("range(max_new_tokens)", "range(max(1, max_new_tokens))"),
        "At least one token is drawn, even if none is asked for. Check max_new_tokens before the first draw, as a "
        "`for` loop does."),
    row("BigramLanguageModel", "first_text_alone", replace("for _ in", "idx = idx[:1]\n        for _ in"),
        "Only the first text is continued. generate takes a batch, and continues each of its texts."),
    row("BigramLanguageModel", "lonely_prompt_squeezed", replace("return idx", "return idx.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a prompt of one text, or of one token, loses its shape."),
    row("BigramLanguageModel", "prompt_of_one_token_refused",
        replace("for _ in",
                'if idx.shape[1] < 2:\n            raise ValueError("the prompt is too short")\n        for _ in'),
        "A prompt of a single token raises an error. It is enough for a bigram model, and the usual start of a new "
        "text."),
    row("BigramLanguageModel", "idx_changed_in_place",
        replace("for _ in", "prompt = idx\n        for _ in")
        .replace("return idx", "prompt[:] = idx[:, -prompt.shape[1] :]\n        return idx"),
        "The caller's idx was changed. Methods with an underscore and `idx[…] = …` change the tensor itself; "
        "`torch.cat` makes a new one."),
    row("BigramLanguageModel", "targets_flattened_in_place_in_the_model",
        replace(f"return logits, {LOSS}",
                f"loss = {LOSS}\n        targets.resize_(targets.numel())\n        return logits, loss"),
        "The caller's targets, or idx, were changed. Methods with an underscore, such as `resize_`, change the "
        "tensor itself; `flatten` and `reshape` return a new one."),
    row("BigramLanguageModel", "generator_ignored", replace(", generator=generator", ""), IGNORED),
    row("BigramLanguageModel", "no_generator_taken",
        replace(", generator: torch.Generator | None = None", "").replace(", generator=generator", ""),
        "A call of generate with a generator ends in an error, because generate does not take one. Keep the argument "
        "of the stub, and pass it on to the draw."),
    row("BigramLanguageModel", "generator_seeded_anew",
        replace("for _ in", f"generator = {SEEDED_ANEW}\n        for _ in"), SEEDED),
    row("BigramLanguageModel", "generator_copied", replace("for _ in", f"generator = {COPY}\n        for _ in"),
        COPIED),
    row("BigramLanguageModel", "generator_of_seeds",
        replace("for _ in", f"generator = {SEED_FOR_ALL}\n        for _ in"), OF_SEEDS),
    row("BigramLanguageModel", "always_the_same_tokens", replace("for _ in", f"generator = {ALIKE}\n        for _ in"),
        ALWAYS_ALIKE),
    row("BigramLanguageModel", "global_state_put_back",
        replace("for _ in", "state = torch.get_rng_state()\n        for _ in")
        .replace("return idx", "torch.set_rng_state(state)\n        return idx"), PUT_BACK),
    row("BigramLanguageModel", "tokens_from_the_system",
        replace("for _ in", f"generator = {UNREPEATABLE}\n        for _ in"), FROM_THE_SYSTEM),
]
# fmt: on
