"""Unit 6: wrong answers that learners give, each with the sentence that would help who wrote it.

A name says what was done. Where the same slip is made in several exercises, the name says in which.
"""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

# -- what several rows replace, and by what ----------------------------------------------------------------------

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

# BigramLanguageModel; the last two stand around a throw, and make the tokens that it decides for
LOSS = "cross_entropy(*flatten_for_cross_entropy(logits, targets))"
TOKEN = "torch.multinomial(probabilities, 1, generator=generator)"
BELOW, COUNTED = "(probabilities.cumsum(-1) < ", ").sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)"

# Generators, as sample_batch and generate misuse them
SEEDED_ANEW = "generator.manual_seed(123) if generator else None"
COPY = "torch.Generator().manual_seed(generator.initial_seed()) if generator else None"
SEED_FOR_ALL = "generator and torch.manual_seed(torch.randint(2**31, (), generator=generator).item()) and None"
ALIKE = "generator or torch.Generator()"
# A seed that torch draws itself would be read from a file, which the sandbox does not have.
UNREPEATABLE = "generator or torch.Generator().manual_seed(__import__('random').SystemRandom().getrandbits(62))"

# -- what several rows say ---------------------------------------------------------------------------------------

# Of generators
IGNORED = "The generator is taken but not used. Hand it on to the draw, as `generator=generator`."
SEEDED = (
    "The code sets the seed of the generator before it draws, so the state of the generator is lost. The caller "
    "decides about the state."
)
COPIED = (
    "The code makes a second generator from the seed of the first, so the first does not advance. Draw from the "
    "generator that was passed in."
)
OF_SEEDS = (
    "The generator only draws a seed for torch's global state, so the caller's global state is lost. Pass the "
    "generator on to the draw."
)
ALWAYS_ALIKE = (
    "Without a generator every call draws the same: a seed is set inside, or a generator made that always begins "
    "alike. None means torch's global generator as it stands."
)
PUT_BACK = (
    "The global state is put back after the draw, so the next call draws the same again. Each draw should move it on."
)
FROM_THE_SYSTEM = (
    "Without a generator a new one is made from the clock or the system, so torch.manual_seed cannot make a run the "
    "same again. None means torch's global generator."
)

# Of running means
FUTURE_TOO = (
    "Every token gets the mean of the whole text, its future included. Only itself and what came before it are to be "
    "averaged."
)
PAST_LEFT_OUT = (
    "The future is averaged instead of the past: the triangle is upside down. A row belongs to the token that asks, "
    "and what came before it stands to the left of the diagonal."
)
PRESENT_LEFT_OUT = (
    "The token itself has no part in its mean, and the first one has nothing to average at all. Average up to and with "
    "the token: for token t these are t + 1."
)
NEXT_TOO = (
    "The next token is averaged, too: one place too far. The next token is what a model has to predict, so it must not "
    "see it."
)
SUMMED = "The past is added up and not divided. A mean is the sum over the number of tokens, t + 1 for token t."
DIVIDED_BY_ALL = (
    "Every sum is divided by the number of all tokens of the text. Token t has t + 1 tokens to average, so the divisor "
    "grows with t."
)
COLUMNS = (
    "The columns of the weights sum to one, and not the rows. A row has the weights with which one token averages, so "
    "its own sum has to be one."
)
NO_GRADIENTS = (
    "Gradients stop at the means, by `.detach()`, `.item()`, or numbers taken out of the tensor. What made the tokens "
    "learns only through them."
)
FLOAT32 = (
    "A float32 tensor of your own is multiplied with x as a matrix, which float64 tokens refuse. Make it like x: "
    "`dtype=x.dtype`."
)
NO_FIT = (
    "Every call ends in an error. If it speaks of shapes: the weights are (T, T), with T = `x.shape[1]`, and stand in "
    "front of x in a product, `@`. If it speaks of a dtype: they are floats, in the dtype of x, and a mask is bool, "
    "turned round by `~`."
)
SQUEEZED = "`squeeze()` removes every dimension of size one, so a single text, or a text of one token, loses its shape."
CHANGED = (
    "The caller's x was changed. Work on a tensor of your own: methods with an underscore, and `x[…] = …`, do not."
)
ONE_TEXT = (
    "The texts of the batch are averaged as one long text, so later ones hear of the earlier ones. Texts of a batch "
    "never talk to each other."
)

CALLS = {"BigramLanguageModel": ["flatten_for_cross_entropy", "cross_entropy"]}

# fmt: off
ROWS = [
    # build_vocabulary
    row("build_vocabulary", "not_sorted", replace("sorted(set(text))", "list(dict.fromkeys(text))"),
        "The characters do not stand in sorted order, but as they came, by how often they come, or in the order of a "
        "`set`, which changes from run to run. Sort them, and the same text gives the same ids everywhere."),
    row("build_vocabulary", "sorted_the_other_way_round", replace("set(text)", "set(text), reverse=True"),
        "The characters are sorted, but from the last to the first. `sorted` alone puts them in the order that all "
        "others use."),
    row("build_vocabulary", "capitals_sorted_in", replace("set(text)", "set(text), key=str.lower"),
        "Capital letters are sorted in among the small ones, by a key such as `str.lower`. For a model they are other "
        "characters; `sorted` without a key puts them where everyone expects them."),
    row("build_vocabulary", "text_made_lower_case", replace("set(text)", "set(text.lower())"),
        "The text is made lower case first. Then a model can never write a capital letter, and decode cannot give the "
        "text back that encode got."),
    row("build_vocabulary", "spaces_left_out", replace("set(text)", 'set("".join(text.split()))'),
        "Spaces and line breaks are left out. They are characters like others: without them a model could not tell "
        "where a word or a line ends."),
    row("build_vocabulary", "line_breaks_left_out", replace("set(text)", 'set("".join(text.splitlines()))'),
        "Line breaks are left out, as where the text is cut into lines, or stripped, first. They are characters too, "
        "and a model learns from them where lines end."),
    row("build_vocabulary", "letters_alone", replace("set(text)", "set(filter(str.isalpha, text))"),
        "Letters alone are kept. Digits, punctuation and spaces are a part of the text as well, and encode will meet "
        "them."),
    row("build_vocabulary", "fixed_alphabet",
        replace("sorted(set(text))", "[chr(code) for code in (*range(9, 14), *range(32, 127))]"),
        "The vocabulary is a fixed alphabet, whatever the text is. It lacks some of the text's characters, and has "
        "rows in the model's table for others that never come up."),
    row("build_vocabulary", "words_instead_of_characters", replace("set(text)", "set(text.split())"),
        "The text was cut into words, or lines, or not at all. Here a token is a single character: a text is a "
        "sequence of them, and `set(text)` goes through it one by one."),
    row("build_vocabulary", "every_occurrence_kept", replace("set(text)", "text"),
        "Each character comes up as often as in the text. A vocabulary has each kind once, or a character would have "
        "several ids: `set` keeps one of each."),
    row("build_vocabulary", "vocabulary_as_one_string", replace("sorted(set(text))", '"".join(sorted(set(text)))'),
        "The vocabulary is one string with all characters in it. Here it should be a list, as `sorted` gives it."),
    row("build_vocabulary", "vocabulary_as_a_dictionary",
        replace("sorted(set(text))", "{character: place for place, character in enumerate(sorted(set(text)))}"),
        "The vocabulary is a dictionary. From characters to ids, that is how encode may look them up, but what is "
        "asked for here is the sorted list."),
    row("build_vocabulary", "vocabulary_as_a_set", replace("sorted(set(text))", "set(text)"),
        "The vocabulary is a `set`, or something else that has no places, such as an iterator. So it cannot say which "
        "id a character has: make a sorted list of it."),
    # encode
    row("encode", "key_error_for_the_unknown", replace("set(text) - set(ids)", "set()"),
        "For a character that the vocabulary lacks a KeyError comes out, which is what a dictionary raises by itself. "
        "Look first, and raise a ValueError that says what is wrong."),
    row("encode", "unknown_passed_over",
        replace("set(text) - set(ids)", "set()").replace("in text]", "in text if character in ids]"),
        "A character that the vocabulary lacks passes without a word: it is left out, or gets an id that stands for "
        "something else. The text that comes back would be another one. Raise an error."),
    row("encode", "ids_counted_from_one", replace("enumerate(vocabulary)", "enumerate(vocabulary, 1)"),
        "The ids are counted from 1. The rows of a table are counted from 0, and the last id would have no row."),
    row("encode", "numbers_of_unicode", replace("ids[character] for", "ord(character) for"),
        "The ids are the characters' numbers in Unicode, as `ord` gives them. They go far beyond the vocabulary; an id "
        "is the place in it."),
    row("encode", "vocabulary_made_from_the_text", replace("enumerate(vocabulary)", "enumerate(sorted(set(text)))"),
        "The vocabulary is made anew from the text. Then the same character has another id in another text; use the "
        "vocabulary that was handed in."),
    row("encode", "vocabulary_taken_for_a_dictionary", replace("ids[character] for", "vocabulary[character] for"),
        "The vocabulary is taken for a dictionary. It is a list, in which a character is to be found first; a "
        "dictionary from characters to places is quickly made of it."),
    row("encode", "ids_as_a_tensor",
        replace("[ids[character] for character in text]", "torch.tensor([ids[character] for character in text])"),
        "The ids are a tensor or an array. That is made of them later, once, for the whole text; here a plain list of "
        "int is asked for."),
    row("encode", "ids_as_text", replace("ids[character] for", "str(ids[character]) for"),
        "The ids are text themselves. A model computes with numbers, so leave each of them an int."),
    row("encode", "ids_as_floats", replace("ids[character] for", "float(ids[character]) for"),
        "The ids are floats. They are places, which select a row of a table, and only whole numbers can: leave each of "
        "them an int."),
    row("encode", "rows_of_zeros_and_a_one",
        replace("ids[character] for", "[int(character == other) for other in vocabulary] for"),
        "Each character became a row of zeros with a single one. An id says the same in one number, and nn.Embedding "
        "looks up with that."),
    row("encode", "ids_not_worked_out_yet", replace("[ids[character] for character in text]", "map(ids.get, text)"),
        "Nothing is worked out yet: `map`, or a comprehension in round brackets, only promises to do it. `list(…)` has "
        "it done."),
    row("encode", "empty_text_refused", replace("if unknown:", "if unknown or not text:"),
        "An empty text is refused. It has no characters, so it has no ids: the list is empty."),
    row("encode", "vocabulary_popped",
        replace("character: place for place, character in enumerate(vocabulary)",
                "vocabulary.pop(): len(vocabulary) for _ in range(len(vocabulary))"),
        "The caller's list is changed: `pop` takes the characters out of the vocabulary. Read them with a `for` loop, "
        "which leaves the list as it was."),
    # decode
    row("decode", "ids_not_checked", replace("not 0 <= number < len(vocabulary)", "False"),
        "The ids are not looked at before they are used. A list counts negative places from its end, so -1 silently "
        "becomes the last character, and an id that is too large becomes an IndexError."),
    row("decode", "negative_ids_counted_from_the_end",
        replace("not 0 <= number < len(vocabulary)", "number >= len(vocabulary)"),
        "A negative id passes, and is counted from the end of the list. Ids begin at 0: refuse what lies below, too."),
    row("decode", "index_error_for_large_ids", replace("not 0 <= number < len(vocabulary)", "number < 0"),
        "For an id that is too large an IndexError comes out, which is what a list raises by itself. Look first, and "
        "raise a ValueError that says what is wrong."),
    row("decode", "one_id_too_many_accepted", replace("number < len", "number <= len"),
        "The id V itself passes the check. V characters have the ids 0 to V - 1, so refuse from V on: `>=`, not `>`."),
    row("decode", "small_negative_ids_accepted", replace("not 0 <=", "not -len(vocabulary) <="),
        "Negative ids are refused only if they are large. Python would take -1 to -V for places counted from the end; "
        "here every number below 0 is wrong."),
    row("decode", "key_error_for_unknown_ids",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", "dict(enumerate(vocabulary))[number] for"),
        "For an unknown id a KeyError comes out, which is what a dictionary raises by itself. Look first, and raise a "
        "ValueError that says what is wrong."),
    row("decode", "unknown_ids_passed_over",
        replace("not 0 <= number < len(vocabulary)", "False")
        .replace("vocabulary[number] for", 'dict(enumerate(vocabulary)).get(number, "") for'),
        "An id outside of the vocabulary passes without a word: it is left out, or becomes some other character. Who "
        "decodes such an id has made a mistake, and wants to know."),
    row("decode", "characters_in_a_list",
        replace('"".join(vocabulary[number] for number in ids)', "[vocabulary[number] for number in ids]"),
        "The characters come one by one, in a list. Together they are a text: `''.join(…)` makes one str of them."),
    row("decode", "spaces_in_between", replace('"".join', '" ".join'),
        "Something stands between the characters that is not in the ids. Join them with nothing in between: "
        "`''.join(…)`."),
    row("decode", "characters_of_unicode", replace("vocabulary[number] for", "chr(number) for"),
        "The ids are taken for numbers of Unicode, as `chr` takes them. An id is a place in the vocabulary."),
    row("decode", "characters_counted_from_one", replace("vocabulary[number] for", "vocabulary[number - 1] for"),
        "The ids are counted from 1, so that every character comes out as its neighbour. encode counts from 0."),
    row("decode", "zero_refused", replace("0 <= number", "0 < number"),
        "The id 0 is refused. It is the place of the first character of the vocabulary."),
    row("decode", "no_ids_refused", replace("for number in ids:", "for number in ids or [-1]:"),
        "No ids at all are refused. They are what encode gives for an empty text, so an empty text should come back."),
    row("decode", "tensor_of_ids_wanted", replace("for number in ids:", "for number in ids.tolist():"),
        "A method of tensors is called on the ids. What comes in is a plain list of int, just as encode gives it."),
    row("decode", "ids_popped",
        replace("vocabulary[number] for number in ids", "vocabulary[ids.pop(0)] for _ in range(len(ids))"),
        "The caller's list is changed: `pop` takes the ids out of it one by one. Read them with a `for` loop, which "
        "leaves the list as it was."),
    # sample_batch
    row("sample_batch", "short_data_left_to_torch", replace("num_starts < 1", "False"),
        "Data that is too short is left to torch to refuse, and torch raises a RuntimeError about a range that means "
        "nothing to the caller. Compare N with block_size first, and raise a ValueError."),
    row("sample_batch", "short_stretches",
        replace("len(data) - block_size", "max(1, len(data) - block_size)")
        .replace("arange(block_size)", "arange(min(block_size, len(data) - 1))"),
        "Data that is too short passes, and the stretches come out shorter than block_size. Python's slices just stop "
        "at the end, so compare N with block_size first, and raise a ValueError."),
    row("sample_batch", "target_of_the_last_token_forgotten", replace("num_starts < 1", "num_starts < 0"),
        "Data of just block_size tokens passes the check. It has no target for its last token: T + 1 tokens are "
        "needed."),
    row("sample_batch", "shortest_data_refused", replace("num_starts < 1", "num_starts < 2"),
        "Data of T + 1 tokens is refused. It holds one stretch and all of its targets, so it is just enough."),
    row("sample_batch", "last_start_never_drawn", replace("randint(num_starts", "randint(num_starts - 1"),
        "The last start is never drawn: the end of a range does not belong to it, neither in `range` nor in "
        "`torch.randint`. There are N - T starts, from 0 to N - T - 1."),
    row("sample_batch", "one_start_too_many",
        replace("randint(num_starts", "randint(num_starts + 1")
        .replace(BATCH, "torch.stack([data[i : i + block_size] for i in starts]), "
                 "torch.stack([data[i + 1 : i + 1 + block_size] for i in starts])"),
        "One start too many is drawn. From N - T on, the last token of a stretch has no target in the data; the starts "
        "go from 0 to N - T - 1."),
    row("sample_batch", "round_the_end",
        replace("randint(num_starts", "randint(len(data)")
        .replace(BATCH, "data[places % len(data)], data[(places + 1) % len(data)]"),
        "Stretches run over the end of the data and go on at its beginning. What stands there does not follow in the "
        "text; the last start is N - T - 1."),
    row("sample_batch", "first_start_never_drawn",
        replace("randint(num_starts", "randint(min(1, num_starts - 1), num_starts"),
        "The first start is never drawn. Places are counted from 0, so the first stretch begins there."),
    row("sample_batch", "blocks_side_by_side",
        replace("torch.randint(num_starts", "block_size * torch.randint((len(data) - 1) // block_size"),
        "The data is cut into blocks side by side, and only their beginnings are drawn. A stretch may begin at any "
        "token: that makes many more examples of the same text."),
    row("sample_batch", "late_starts_moved_back",
        replace("randint(num_starts", "randint(len(data)")
        .replace("starts + torch", "starts.clamp(max=num_starts - 1) + torch"),
        "Some starts come up far more often than others, as the last one does where starts that lie too far back are "
        "moved to it. Draw only from those that are allowed, all equally likely."),
    row("sample_batch", "starts_rounded",
        replace(START, "((num_starts - 1) * torch.rand(batch_size, 1, generator=generator)).round().long()"),
        "Starts in the middle come up more often than the first and the last, as where a random number is rounded to "
        "the nearest start. `torch.randint` draws whole numbers, all equally likely."),
    row("sample_batch", "one_start_for_all_rows",
        replace("(batch_size, 1)", "(1, 1)").replace("starts + torch", "starts.expand(batch_size, 1) + torch"),
        "One start is drawn for the whole batch, so all its rows are the same. Draw batch_size of them."),
    row("sample_batch", "rows_one_after_another",
        replace("(batch_size, 1)", "(1, 1)")
        .replace("starts + torch", "(starts + torch.arange(batch_size)[:, None]) % num_starts + torch"),
        "Where a row begins follows from the row before, as where it begins a token later, or the starts are put in "
        "order. Draw a start for each row, and leave the starts as they come."),
    row("sample_batch", "no_start_twice",
        replace(START, "torch.randperm(num_starts, generator=generator)[:batch_size, None]"),
        "No start comes up twice in a batch: they are dealt out like cards, and run out where there are more rows than "
        "starts. Each row has a throw of its own."),
    row("sample_batch", "always_from_the_beginning", replace(START, "torch.zeros(batch_size, 1, dtype=torch.long)"),
        "Every batch is the same: nothing is drawn at all. Training should see stretches from all over the text, so "
        "the starts have to be random."),
    row("sample_batch", "tokens_from_anywhere",
        replace("(batch_size, 1)", "(batch_size, block_size)").replace("starts + torch.arange(block_size)", "starts"),
        "Each token is drawn by itself from anywhere in the data. What a model should learn is which token follows on "
        "which, so a row is a stretch that stands in the text."),
    row("sample_batch", "stretches_in_columns", replace(BATCH, "data[places.T], data[places.T + 1]"),
        "The stretches stand in columns: (T, B). In this course the batch comes first, one text in each row: (B, T)."),
    row("sample_batch", "targets_that_repeat", replace("data[places + 1]", "data[places]"),
        "The targets are the tokens of idx themselves. To repeat what it sees is nothing that a model has to learn: "
        "the targets are one place further on."),
    row("sample_batch", "targets_two_places_on",
        replace("data[places + 1]", "data[(places + 2).clamp(max=len(data) - 1)]"),
        "The targets are two places on. What the model should say next is the very next token."),
    row("sample_batch", "targets_first", replace(BATCH, "data[places + 1], data[places]"),
        "idx and targets have changed places, so that the model is to say what came before. idx is what it reads, and "
        "comes first."),
    row("sample_batch", "targets_rolled_round", replace("data[places + 1]", "data[places].roll(-1, 1)"),
        "The targets are idx rolled round, so the last target is the first token of the row. It should be the token "
        "that follows in the data: cut the targets out of the data as well."),
    row("sample_batch", "one_target_for_each_row", replace("data[places + 1]", "data[places + 1][:, -1]"),
        "There is one target for each row, the token after its last. Every token of the row has one: a batch of 4 rows "
        "of 8 tokens asks 32 questions."),
    row("sample_batch", "targets_from_elsewhere",
        replace("data[places + 1]", f"data[{START} + torch.arange(1, block_size + 1)]"),
        "The targets have starts of their own, drawn once more, and so have nothing to do with idx. Draw the starts "
        "once, and use them for both."),
    row("sample_batch", "one_tensor_for_both", replace(BATCH, f"torch.stack([{BATCH}])"),
        "idx and targets come as one tensor. Give two: `return idx, targets`."),
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
        "The data itself is moved on, to read the targets from it, and is no longer what it was for the next batch. "
        "Look the targets up at the places behind, `data[places + 1]`, and leave the data alone."),
    row("sample_batch", "tokens_made_floats",
        replace(f"return {BATCH}", "return data[places].float(), data[places + 1].float()"),
        "The ids came out as floats. An id is a place in a table, so it stays an integer: an embedding takes no other, "
        "and neither does a loss."),
    # flatten_for_cross_entropy
    row("flatten_for_cross_entropy", "targets_made_floats", replace("targets.flatten()", "targets.flatten().float()"),
        "The targets came out as floats. An id is a place in a row of logits, so it stays an integer; floats would be "
        "taken for probabilities."),
    row("flatten_for_cross_entropy", "view_of_the_logits",
        replace(FLAT, "logits.view(-1, logits.shape[-1]), targets.view(-1)"),
        "`view` asks that the numbers lie in memory in the order of the dimensions, which those of transposed logits "
        "do not. `reshape` and `flatten` copy where they must."),
    row("flatten_for_cross_entropy", "view_of_the_targets", replace("targets.flatten()", "targets.view(-1)"),
        "`view` asks that the numbers lie in memory in the order of the dimensions, which those of transposed targets "
        "do not. `reshape` and `flatten` copy where they must."),
    row("flatten_for_cross_entropy", "predictions_torn",
        replace("flatten(0, 1)", "transpose(1, 2).reshape(-1, logits.shape[-1])"),
        "Tokens and kinds were exchanged before flattening, so each row is a mixture of several predictions. The V "
        "numbers of one prediction stand in the last dimension; leave them there."),
    row("flatten_for_cross_entropy", "targets_in_another_order", replace("targets.flatten()", "targets.T.flatten()"),
        "Logits and targets are flattened in different orders, so a prediction meets the target of another token. "
        "Whatever the order, it has to be the same for both."),
    row("flatten_for_cross_entropy", "last_tokens_alone", replace(FLAT, "logits[:, -1], targets[:, -1]"),
        "One prediction is left of each text: 4 where there are 32. Every token predicts the one after it, and all of "
        "them are to be learnt from."),
    row("flatten_for_cross_entropy", "moved_on_once_more",
        replace(FLAT, "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"),
        "The targets are moved on once more, and the last prediction of each text is dropped. They already are what "
        "follows: each token has its own target at the same place."),
    row("flatten_for_cross_entropy", "one_row_for_each_text", replace("flatten(0, 1)", "flatten(1)"),
        "There is one row for each text, with the logits of all its tokens side by side. One prediction is V numbers: "
        "the dimensions to make one of are the first two."),
    row("flatten_for_cross_entropy", "all_in_one_row", replace("flatten(0, 1)", "flatten()"),
        "All logits stand in one long row, so that no prediction can be told from the next. Keep the last dimension: "
        "(B · T, V)."),
    row("flatten_for_cross_entropy", "kinds_in_the_middle", replace(FLAT, "logits.transpose(1, 2), targets"),
        "The logits became (B, V, T). Torch's own loss takes that too, but what is asked for here is flat: (B · T, V) "
        "and (B · T,)."),
    row("flatten_for_cross_entropy", "targets_not_flattened", replace("targets.flatten()", "targets"),
        "The logits are flat and the targets are not. Both need one entry for each of the B · T predictions."),
    row("flatten_for_cross_entropy", "targets_as_a_column", replace("targets.flatten()", "targets.reshape(-1, 1)"),
        "The targets became a column, (B · T, 1). They are a plain list with one id for each prediction: (B · T,)."),
    row("flatten_for_cross_entropy", "targets_before_logits", replace(FLAT, "targets.flatten(), logits.flatten(0, 1)"),
        "Logits and targets have changed places in the result. Give them in the order in which they came."),
    row("flatten_for_cross_entropy", "logits_alone", replace(", targets.flatten()", ""),
        "Only the logits come back. The targets have to be flat as well, so give both."),
    row("flatten_for_cross_entropy", "sizes_that_do_not_fit",
        replace(FLAT, "logits.reshape(32, 65), targets.reshape(32)"),
        "Every call ends in an error. If it says that a shape is invalid: logits (B, T, V) become (B · T, V), and "
        "targets (B, T) become (B · T,); read B, T and V off the logits. If it speaks of a `view`: after `transpose` "
        "only `reshape` works. Logits and targets stay two tensors."),
    row("flatten_for_cross_entropy", "lonely_prediction_squeezed",
        replace(FLAT, "logits.flatten(0, 1).squeeze(), targets.flatten().squeeze()"),
        "`squeeze()` removes every dimension of size one, so a single prediction is no row any more."),
    row("flatten_for_cross_entropy", "flat_without_gradients", replace("logits.flatten", "logits.detach().flatten"),
        "The logits are cut off from the gradients, as by `.detach()`, `.data` or `torch.no_grad()`. The loss is "
        "worked out from them, and through it the whole model learns."),
    row("flatten_for_cross_entropy", "targets_flattened_in_place",
        replace("targets.flatten()", "targets.resize_(targets.numel())"),
        "The caller's targets were given another shape. Methods with an underscore work on the tensor itself; "
        "`flatten` and `reshape` leave it as it is."),
    # cross_entropy
    row("cross_entropy", "losses_added_up", replace(".mean()", ".sum()"),
        "The losses are added up. Then a larger batch has a larger loss for no reason; divide by the number of rows."),
    row("cross_entropy", "mean_over_all_logits", replace(".mean()", ".sum() / logits.numel()"),
        "The sum is divided by the number of all logits, N · V. There is one loss for each row, so divide by the "
        "number of rows."),
    row("cross_entropy", "no_mean_at_all", replace(".mean()", ""),
        "The losses of all rows come out, one for each. What a model is trained on is one number, their mean."),
    row("cross_entropy", "minus_forgotten", replace("return (", "return -("),
        "The minus is missing. The logarithm of a probability is negative, and the better the prediction, the larger "
        "it is; a loss should be the smaller, the better."),
    row("cross_entropy", "logarithm_to_the_base_two", replace(".mean()", ".mean() / torch.tensor(2.0).log()"),
        "The logarithm has the base 2. That measures in bits; here, as everywhere in deep learning, it is the natural "
        "one, `torch.log`."),
    row("cross_entropy", "softmax_over_the_rows",
        replace(SHIFTED, "logits.log_softmax(dim=0)").replace(LOSSES, "-of_targets"),
        "Softmax runs over the predictions instead of over the kinds. The V numbers of one row are to become "
        "probabilities: dim=-1."),
    row("cross_entropy", "softmax_forgotten", replace(SHIFTED, "logits").replace(LOSSES, "-of_targets"),
        "The logits are used as if they were logarithms of probabilities already. They are any numbers; softmax makes "
        "probabilities of them first."),
    row("cross_entropy", "softmax_taken_twice",
        replace("shifted =", "logits = torch.softmax(logits, dim=-1)\n    shifted ="),
        "Softmax is taken twice: of the logits, and of the probabilities once more. Torch's own cross-entropy has a "
        "softmax in it, and wants the logits."),
    row("cross_entropy", "logarithm_forgotten", OF_PROBABILITIES.replace(LOSSES, "-of_targets"),
        "The probabilities themselves are averaged, without a logarithm. It is the logarithm that makes a sure and "
        "wrong prediction so dear."),
    row("cross_entropy", "logarithm_of_the_mean", replace(f"({LOSSES}).mean()", f"-(-({LOSSES})).exp().mean().log()"),
        "The probabilities are averaged first, and the logarithm taken of the mean. Each row has its own: take the "
        "logarithms first, and average them."),
    row("cross_entropy", "logarithm_of_a_softmax", OF_PROBABILITIES.replace(LOSSES, "-of_targets.log()"),
        "For large logits a probability is rounded to zero, and its logarithm is infinite. Do not take the logarithm "
        "of a softmax: work out on paper what it is, ln Σ exp(z - m) - (z_y - m)."),
    row("cross_entropy", "largest_logit_not_subtracted", replace(SHIFTED, "logits"),
        "The exponential of a large logit is beyond what a float can hold. Subtract the largest logit of each row "
        "first: that changes no probability."),
    row("cross_entropy", "one_largest_logit_for_all", replace(SHIFTED, "logits - logits.max()"),
        "One number, the largest of all logits, is subtracted from every row. In a row that lies far below it, all "
        "exponentials are rounded to zero. Each row has a largest logit of its own."),
    row("cross_entropy", "logarithm_kept_finite_by_force",
        OF_PROBABILITIES.replace(LOSSES, "-of_targets.clamp(min=1e-30).log()"),
        "The logarithm is kept finite by force, as by a small number that is added, and the loss is wrong: with logits "
        "of 1000 and -1000 it should be 2000. Work out the logarithm of the softmax on paper first."),
    row("cross_entropy", "all_columns_for_every_row",
        replace("shifted.gather(-1, targets[:, None])[:, 0]", "shifted[:, targets]"),
        "For every row the columns of all targets are taken, (N, N), as by `logits[:, targets]` or a matrix product. "
        "One entry of each row is wanted: `logits[torch.arange(N), targets]`, or `gather`."),
    row("cross_entropy", "entropy_without_targets",
        OF_PROBABILITIES.replace(LOSSES, "torch.special.entr(shifted).sum(dim=-1)"),
        "The targets have no part in the loss: what comes out is the entropy of the predictions, how unsure they are. "
        "A model that is sure and wrong would pass for a good one."),
    row("cross_entropy", "share_of_misses",
        replace(f"({LOSSES})", "(logits.argmax(dim=-1) != targets).to(logits.dtype)"),
        "What comes out is the share of misses. It jumps from one value to the next and has no gradient, so that "
        "nothing can be learnt from it."),
    row("cross_entropy", "loss_as_a_plain_number", replace(".mean()", ".mean().item()"),
        "The loss is cut off from the gradients, as by `.item()`, `.detach()` or `torch.no_grad()`. It is where all "
        "gradients begin, so leave it a tensor."),
    row("cross_entropy", "divisor_without_gradients",
        replace(SHIFTED, "logits").replace(LOSSES, "logits.logsumexp(dim=-1).detach() - of_targets"),
        "What the softmax divides by is cut off from the gradients, so only the logits of the targets learn. The "
        "others have to come down for them."),
    row("cross_entropy", "targets_in_float32",
        replace("shifted.gather(-1, targets[:, None])[:, 0]",
                "(shifted @ nn.functional.one_hot(targets, logits.shape[-1]).float().T).diagonal()"),
        "A float32 tensor of your own is multiplied with the logits as a matrix, which float64 logits refuse. Make it "
        "like the logits: `dtype=logits.dtype`."),
    row("cross_entropy", "lonely_row_squeezed",
        replace(SHIFTED, "logits.squeeze() - logits.squeeze().amax(dim=1, keepdim=True)"),
        "`squeeze()` removes every dimension of size one, so a single row is no row any more."),
    row("cross_entropy", "logits_changed_in_place", replace("shifted = logits - ", "shifted = logits\n    shifted -= "),
        "The caller's logits were changed: `-=` works on the tensor itself. Write `logits = logits - …`."),
    # running_mean_loop
    row("running_mean_loop", "future_averaged_by_loop", replace("[: token + 1]", ""), FUTURE_TOO),
    row("running_mean_loop", "present_left_out_by_loop", replace("token + 1]", "token]"), PRESENT_LEFT_OUT),
    row("running_mean_loop", "next_token_averaged_by_loop", replace("token + 1]", "token + 2]"), NEXT_TOO),
    row("running_mean_loop", "summed_by_loop", replace("mean(dim=0)", "sum(dim=0)"), SUMMED),
    row("running_mean_loop", "divided_by_all_by_loop", replace("mean(dim=0)", "sum(dim=0) / len(text)"),
        DIVIDED_BY_ALL),
    row("running_mean_loop", "divided_by_one_too_few", replace("mean(dim=0)", "sum(dim=0) / token"),
        "The sum of t + 1 tokens is divided by t. Tokens are counted from 0, so token t stands at the end of t + 1 "
        "tokens."),
    row("running_mean_loop", "features_averaged_too", replace("mean(dim=0)", "mean().expand(x.shape[2])"),
        "The mean runs over the features as well, so that all features of a token become the same. Average over the "
        "tokens alone: `mean(dim=0)` of a text's past."),
    row("running_mean_loop", "texts_averaged_too",
        replace("text[: token + 1].mean(dim=0)", "x[:, : token + 1].mean(dim=(0, 1))"),
        "The mean runs over the texts of the batch as well. They have nothing to do with each other: average each "
        "text's tokens on their own."),
    row("running_mean_loop", "half_of_the_mean_before",
        replace("text[: token + 1].mean(dim=0)",
                "sum(text[past] / 2 ** (token - past + (past > 0)) for past in range(token + 1))"),
        "Each mean is the half of the token and of the mean before it, so that the tokens further back count less and "
        "less. In a mean all count the same."),
    row("running_mean_loop", "only_one_token_back", replace("[: token + 1]", "[max(0, token - 1) : token + 1]"),
        "Each token is averaged with the one before it, and not with what came before that. The whole past has a part "
        "in the mean."),
    row("running_mean_loop", "last_token_forgotten", replace("mean(dim=0)", "mean(dim=0) * (token + 1 < len(text))"),
        "The loop stops before the last token, whose mean stays zero. `range(T)` goes through all T tokens."),
    row("running_mean_loop", "no_gradients_by_loop", replace("in x]", "in x.detach()]"), NO_GRADIENTS),
    row("running_mean_loop", "float32_weights_by_loop",
        replace("text[: token + 1].mean(dim=0)", "torch.ones(token + 1) @ text[: token + 1] / (token + 1)"), FLOAT32),
    row("running_mean_loop", "no_fit_by_loop", replace("in x]", "in x.view(4, 8, 2)]"),
        "Every call ends in an error. If it speaks of shapes or sizes: each token's mean has C numbers, and the result "
        "has the shape of x, (B, T, C), whatever its sizes are; read them off x."),
    row("running_mean_loop", "squeezed_by_loop", replace("x],\n    )", "x],\n    ).squeeze()"), SQUEEZED),
    row("running_mean_loop", "x_changed_by_loop",
        replace("return torch", "x[:] = torch").replace("x],\n    )", "x],\n    )\n    return x"), CHANGED),
    row("running_mean_loop", "one_long_text_by_loop",
        replace("x],\n    )", "x.flatten(0, 1)[None]],\n    ).view_as(x)"), ONE_TEXT),
    # running_mean_matmul
    row("running_mean_matmul", "future_averaged_by_matmul", replace(".tril()", ""), FUTURE_TOO),
    row("running_mean_matmul", "past_left_out_by_matmul", replace("tril()", "triu()"), PAST_LEFT_OUT),
    row("running_mean_matmul", "present_left_out_by_matmul", replace("tril()", "tril(diagonal=-1)"), PRESENT_LEFT_OUT),
    row("running_mean_matmul", "next_token_averaged_by_matmul", replace("tril()", "tril(diagonal=1)"), NEXT_TOO),
    row("running_mean_matmul", "summed_by_matmul", replace(" / seen.sum(dim=-1, keepdim=True)", ""), SUMMED),
    row("running_mean_matmul", "divided_by_all_by_matmul", replace("seen.sum(dim=-1, keepdim=True)", "num_tokens"),
        DIVIDED_BY_ALL),
    row("running_mean_matmul", "columns_sum_to_one_by_matmul", replace("dim=-1", "dim=0"), COLUMNS),
    row("running_mean_matmul", "sums_without_keepdim", replace(", keepdim=True", ""),
        "Without `keepdim=True` the sums lie along the columns, and each weight is divided by the sum of another row. "
        "Keep the sums as a column, (T, 1)."),
    row("running_mean_matmul", "divided_by_the_sum_of_all_weights", replace("sum(dim=-1, keepdim=True)", "sum()"),
        "The weights are divided by one number, the sum of the whole matrix. Each row has a mean of its own to make, "
        "and wants its own sum."),
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
        "Every token gets the mean of the whole text. Either what was masked was thrown away, for `masked_fill` gives "
        "a new tensor, or the future was filled with zeros: exp of zero is one, and only exp of minus infinity is "
        "zero."),
    row("running_mean_softmax", "softmax_of_the_triangle", replace("-torch.inf", "-1"),
        "The future still has a weight: its scores lie one below the others and no more, as where softmax is taken of "
        "ones and zeros. Scores of zero that are minus infinity in the future give it none."),
    row("running_mean_softmax", "past_left_out_by_softmax", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        PAST_LEFT_OUT),
    row("running_mean_softmax", "present_left_out_by_softmax", replace("diagonal=1", "diagonal=0"), PRESENT_LEFT_OUT),
    row("running_mean_softmax", "next_token_averaged_by_softmax", replace("diagonal=1", "diagonal=2"), NEXT_TOO),
    row("running_mean_softmax", "columns_sum_to_one_by_softmax", replace("dim=-1", "dim=0"), COLUMNS),
    row("running_mean_softmax", "hidden_after_softmax",
        replace(".masked_fill(future, -torch.inf)", "").replace("dim=-1)", "dim=-1).masked_fill(future, 0)"),
        "The future is set to zero after the softmax, so that it still had its part in what each row was divided by. "
        "Hide it before, as scores of minus infinity."),
    row("running_mean_softmax", "no_softmax_at_all", replace("torch.softmax(scores, dim=-1)", "scores"),
        "The masked scores are used as weights as they are, and minus infinity spoils every sum. Softmax makes shares "
        "of them first."),
    row("running_mean_softmax", "zero_times_infinity",
        replace(".masked_fill(future, -torch.inf)", " + future * -torch.inf"),
        "A mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN. Fill the masked places "
        "instead, by `masked_fill` or `torch.where`."),
    row("running_mean_softmax", "scores_from_the_tokens",
        replace("torch.zeros(num_tokens, num_tokens, dtype=x.dtype)", "(x @ x.mT)"),
        "The scores are already those of attention, dot products of tokens. Here all of them are zero, so that "
        "everything seen weighs the same; the head comes next."),
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
        "The scores are divided by the root of n_embd. Queries and keys are head_size wide, and it is over these that "
        "a dot product sums: divide by √head_size."),
    row("Head", "half_instead_of_root", replace("head_size**0.5", "head_size * 0.5"),
        "`/` and `*` bind alike, from left to right: `/ head_size * 0.5` divides by head_size and then takes the half. "
        "A square root is a power, `head_size**0.5`."),
    row("Head", "scaling_forgotten", replace(" / head_size**0.5", ""),
        "The scores are not scaled. The wider queries and keys are, the wilder are their dot products; divided by "
        "√head_size they keep a variance near 1, and softmax stays gentle."),
    row("Head", "divided_by_head_size_itself", replace("head_size**0.5", "head_size"),
        "The scores are divided by head_size itself. A sum of that many random terms is about as large as the root of "
        "their number: divide by √head_size."),
    row("Head", "multiplied_by_the_root", replace("/ head_size", "* head_size"),
        "The scores are multiplied by the root of head_size. The wider the head, the larger its dot products, so they "
        "are to be made smaller: `* head_size**-0.5`, with a minus, or a division."),
    row("Head", "scaled_by_number_of_tokens", replace("head_size**0.5", "num_tokens**0.5"),
        "The scores are divided by the root of the number of tokens. A dot product sums over features, so it is the "
        "width of queries and keys, head_size, that makes it grow."),
    row("Head", "scaled_by_block_size", replace("head_size**0.5", "len(self.future) ** 0.5"),
        "The scores are divided by the root of block_size. How long a text may be has no part in a dot product: it "
        "sums over features, so divide by the root of their number, head_size."),
    row("Head", "scaled_for_the_notebook", replace("head_size**0.5", "16**0.5"),
        "The divisor is a number of the notebook, the root of one head_size. A class should use its own arguments, or "
        "the width of its keys."),
    row("Head", "scaled_after_softmax", replace(" / head_size**0.5", "").replace("dim=-1)", "dim=-1) / head_size**0.5"),
        "The weights are divided, after the softmax. Then they do not sum to one any more, and are as sharp as before: "
        "scale the scores, before it."),
    row("Head", "keys_reshaped", replace("keys.transpose(-2, -1)", "keys.reshape(len(keys), head_size, num_tokens)"),
        "`view` and `reshape` keep the order of the numbers and only cut the rows at other positions, so the keys "
        "are mixed up. `transpose` swaps two dimensions."),
    row("Head", "batch_turned_round_or_float_mask", replace("keys.transpose(-2, -1)", "keys.permute(2, 1, 0)"),
        "Every call ends in an error. In the scores: swap the last two dimensions of the keys, and leave the batch in "
        "front. At the mask: it has to be bool, and `~` turns it round. After the values: the output is (B, T, "
        "head_size), no longer n_embd wide. Elsewhere: print the shapes that meet there."),
    row("Head", "masked_scores_thrown_away", replace("scores = scores.masked", "scores.masked"),
        "The future is still seen. Either nothing hides it, or what was masked was thrown away: `masked_fill` without "
        "an underscore gives a new tensor, and it is that one which is to be used."),
    row("Head", "zeros_instead_of_minus_infinity", replace("-torch.inf", "0"),
        "The scores of the future are zero. A zero is a score like any other, exp of zero is one, so the future is "
        "still seen: fill it with minus infinity."),
    row("Head", "past_hidden", replace("triu(diagonal=1)", "tril(diagonal=-1)"),
        "The mask is upside down: the past is hidden and the future seen. What comes later stands to the right of the "
        "diagonal."),
    row("Head", "diagonal_hidden_too", replace("diagonal=1", "diagonal=0"),
        "The diagonal is hidden too. A token hears itself, and the first one hears nothing else: its row would be all "
        "minus infinity, and its weights not numbers."),
    row("Head", "next_token_seen", replace("diagonal=1", "diagonal=2"),
        "Each token still sees the next one: the mask begins one place too late. The next token is just what is to be "
        "predicted."),
    row("Head", "masked_after_softmax", replace(MASKED, "scores").replace("dim=-1)", "dim=-1).tril()"),
        "The future is set to zero after the softmax, so it still had its part in the division, and the weights of the "
        "past no longer sum to one. Hide it before."),
    row("Head", "zero_times_infinity_in_head",
        replace(MASKED, "scores + self.future[:num_tokens, :num_tokens] * -torch.inf"),
        "All outputs are NaN: a mask of zeros and ones was multiplied by infinity, and zero times infinity is NaN, "
        "or the mask hides everything. Fill only the future's entries: `masked_fill`, or `torch.where`."),
    row("Head", "mask_not_cut", replace("[:num_tokens, :num_tokens]", ""),
        "Only texts of exactly block_size tokens work. That is the longest allowed: take T, the number of tokens, from "
        "the inputs, and of a mask made for the longest the upper left corner, `self.mask[:T, :T]`."),
    row("Head", "wrong_corner_of_the_mask", replace("[:num_tokens, :num_tokens]", "[-num_tokens:, :num_tokens]"),
        "The code uses the wrong corner of the mask for shorter texts: the last rows or columns belong to other "
        "tokens. A text starts at the first token, so use the upper left corner."),
    row("Head", "mask_of_the_notebook", replace("block_size, block_size", "8, 8"),
        "The mask is made for a block_size of the notebook, not for the argument of that name. A class should use its "
        "own arguments."),
    row("Head", "mask_as_a_parameter",
        replace('self.register_buffer("future", future, persistent=False)',
                "self.future = nn.Parameter(future.float())")
        .replace("[:num_tokens, :num_tokens]", "[:num_tokens, :num_tokens].bool()"),
        "The mask is an nn.Parameter, so an optimiser would change it. It should not learn: store it with "
        "`register_buffer`, or make it in `forward`."),
    row("Head", "minus_ten_thousand_in_head", replace("-torch.inf", "-1e4"),
        "The future is hidden by a number such as -10,000. Other scores may be as low, and then the future has "
        "weight. Minus infinity, or a number as low as -1e9, is below all scores."),
    row("Head", "equal_widths_not_projected",
        replace("self.value(x)", "x if x.shape[-1] == self.value.out_features else self.value(x)"),
        "Where n_embd and head_size are the same, the weights mix the inputs themselves. Values are what the layer "
        "makes of the inputs, whatever the widths are."),
    row("Head", "past_averaged", replace("head_size**0.5", "head_size**0.5 * 0"),
        "The past is averaged: all that is seen has the same weight, whatever queries and keys are. That was the "
        "running mean; here the dot products decide."),
    row("Head", "one_token_back_in_head",
        replace("-torch.inf)",
                "-torch.inf).masked_fill(torch.ones_like(scores, dtype=torch.bool).tril(-2), -torch.inf)"),
        "Each token sees at most the one before it. That is a bigram; with attention the whole past is open, as far "
        "back as the text begins."),
    row("Head", "softmax_over_the_queries", replace("dim=-1", "dim=1"),
        "Softmax runs over the queries. Each query shares out its attention among the keys, so a row of the weights "
        "sums to one: dim=-1."),
    row("Head", "softmax_over_the_batch", replace("dim=-1", "dim=0"),
        "Softmax runs over the batch (dim=0), but texts of a batch are independent. The tokens lie along the last "
        "dimension, -1."),
    row("Head", "softmax_over_everything", replace(SOFTMAX, "torch.softmax(scores.flatten(), dim=0).view_as(scores)"),
        "Softmax runs over everything at once, so that all weights of all texts together sum to one. Each query has an "
        "attention of its own to share out: dim=-1."),
    row("Head", "softmax_forgotten_in_head", replace(SOFTMAX, "scores"),
        "The masked scores are used as weights directly, and minus infinity makes every sum infinite. Apply softmax "
        "first: it makes them positive, and zero for the future."),
    row("Head", "one_text_without_a_batch",
        replace("queries, keys", "num_tokens, n_embd = x.shape\n        queries, keys"),
        "The inputs' shape is taken for one of another number of sizes than its three, as if there were no batch or "
        "one size more. It is (B, T, n_embd), and the number of tokens is the second."),
    row("Head", "weights_of_the_first_text", replace("dim=-1)", "dim=-1)[:1].expand_as(scores)"),
        "Every text of the batch gets the weights of the first text. Each text has its own scores."),
    row("Head", "batch_as_one_long_text",
        replace("queries, keys", "shape, x = x.shape[:2], x.flatten(0, 1)[None]\n        queries, keys")
        .replace("self.future[:num_tokens, :num_tokens]", "torch.ones_like(scores, dtype=torch.bool).triu(1)")
        .replace("weights @ values", "(weights @ values).view(*shape, -1)"),
        "The texts of a batch are put one behind the other as one long text, so later ones see the earlier ones. Texts "
        "of a batch never talk to each other."),
    row("Head", "batch_held_to_block_size", replace("x.shape[1] >", "x.shape[0] >"),
        "More texts than block_size are refused. It limits the tokens of a text, the second dimension of x; a batch "
        "may have any number of texts."),
    row("Head", "single_token_refused",
        replace("scores = queries",
                'if num_tokens < 2:\n            raise ValueError("there is no past")\n        scores = queries'),
        "A single token is no text here, but it should be: it hears itself, and its output is its own value."),
    row("Head", "lonely_text_squeezed", replace("weights @ values", "(weights @ values).squeeze()"),
        "`squeeze()` removes every dimension of size one, so a batch of one text loses its batch dimension, and a "
        "text of one token loses its tokens."),
    row("Head", "dropout_never_applied", NOT_DROPPED,
        "In training every output is as it is in eval mode: nothing is dropped. Pass the weights, after softmax, "
        "through the dropout, and use its result."),
    row("Head", "dropout_in_eval_mode_too", replace("self.dropout(torch", "nn.Dropout(self.dropout.p)(torch"),
        "Weights are dropped in eval mode too. `F.dropout` does not know the mode: pass `training=self.training`. An "
        "nn.Dropout made in `forward` is always in training: make it in `__init__`."),
    row("Head", "dropout_in_eval_mode_only",
        replace(f"self.dropout({SOFTMAX})", f"nn.functional.dropout({SOFTMAX}, self.dropout.p, not self.training)"),
        "Weights are dropped in eval mode and not in training: the check of the mode is inverted. Dropout is only "
        "for training."),
    row("Head", "always_half_dropped", replace("nn.Dropout(dropout)", "nn.Dropout(0.5)"),
        "A fixed share of the weights is dropped, whatever `dropout` says: that of torch where no probability is "
        "given, or a number of the notebook. Pass the argument on."),
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
        "Dropout acts on the outputs. That comes later in a transformer, too, but in a head it is the weights that are "
        "dropped, before they meet the values."),
    row("Head", "dropout_on_weights_and_outputs", replace("weights @ values", "self.dropout(weights @ values)"),
        "Dropout acts twice, on the weights and once more on the outputs. In a head it is for the weights alone."),
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
    row("Head", "dropped_once_and_for_all",
        NOT_DROPPED
        .replace("= nn.Dropout(dropout)",
                 "= nn.Dropout(dropout)\n        self.kept = self.dropout(torch.ones(8, block_size, block_size))")
        .replace("weights @ values",
                 "(weights * self.kept[: len(x), :num_tokens, :num_tokens] if self.training else weights) @ values"),
        "What to drop is drawn once, when the head is made. Draw in each call anew, so that no token can be relied "
        "on."),
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
        "The layers have a bias, for that is what nn.Linear makes by itself. A head does without: `bias=False`."),
    row("Head", "bias_in_value_alone",
        replace("self.value = nn.Linear(n_embd, head_size, bias=False)", "self.value = nn.Linear(n_embd, head_size)"),
        "value has a bias, and the other two have none. `bias=False` belongs to all three layers."),
    row("Head", "matrices_instead_of_layers",
        replace("nn.Linear(n_embd, head_size, bias=False)", "nn.Parameter(torch.rand(n_embd, head_size))", times=3)
        .replace("self.query(x), self.key(x), self.value(x)", "x @ self.query, x @ self.key, x @ self.value"),
        "The three are matrices made by hand. Here each is an nn.Linear, which brings its own weight."),
    row("Head", "layers_the_other_way_round", replace("Linear(n_embd, head_size", "Linear(head_size, n_embd", times=3),
        "nn.Linear takes what comes in first and what goes out second: nn.Linear(n_embd, head_size)."),
    row("Head", "head_size_not_used", replace("Linear(n_embd, head_size", "Linear(n_embd, n_embd", times=3),
        "The layers keep the width n_embd, and head_size is not used. A head is narrower than the model, so that "
        "several of them fit side by side."),
    row("Head", "layers_of_the_notebook", replace("Linear(n_embd, head_size", "Linear(32, 16", times=3),
        "The layers have the sizes of the notebook. A class should use its own arguments, n_embd and head_size, or it "
        "works for one notebook only."),
    row("Head", "one_layer_in_use", replace("self.key(x), self.value(x)", "self.query(x), self.query(x)"),
        "One layer serves in all three roles, and the other two are made but never used. What a token looks for, what "
        "it has and what it hands over are learnt on their own."),
    row("Head", "keys_ask_the_queries", replace("self.query(x), self.key(x)", "self.key(x), self.query(x)"),
        "Queries and keys are swapped. Row i of the scores belongs to query i and contains its dot products with "
        "every key."),
    row("Head", "key_layer_unused", replace("self.key(x)", "self.query(x)"),
        "key is made but never used: queries are compared with queries. What a token looks for and what it can be "
        "found by are different things."),
    row("Head", "keys_handed_over", replace("self.value(x)", "self.key(x)"),
        "The weights mix the keys. Keys are only compared with queries. The weights should mix the values."),
    row("Head", "value_layer_unused", replace("self.value(x)", "x"),
        "value is made but never used: the weights mix the inputs themselves. What is mixed are the values, value(x)."),
    row("Head", "both_results", replace("weights @ values", "weights @ values, weights"),
        "The head gives outputs and weights. What comes after it wants one tensor: give the outputs alone."),
    row("Head", "weights_instead_of_outputs", replace("weights @ values", "weights"),
        "The head gives the attention weights. They say how much each token matters; the output is what they make of "
        "the values."),
    row("Head", "gradients_switched_off", replace("weights @ values", "(weights @ values).detach()"),
        "No gradient flows through: `.detach()`, `.data` or `torch.no_grad()` cuts off the outputs, or the outputs "
        "of the layers. So nothing below them can learn."),
    row("Head", "only_values_learn", replace("weights @ values", "weights.detach() @ values"),
        "The weights are detached before they are multiplied with the values, so only the values learn. Queries and "
        "keys must be able to learn too."),
    row("Head", "inputs_made_float32", replace("queries, keys", "x = x.float()\n        queries, keys"),
        "The inputs or a tensor of your own are made float32 and do not match float64. Keep the dtype of the inputs, "
        "and make your own tensors like them."),
    row("Head", "inputs_changed_in_place",
        replace("return weights", "x -= x.mean(dim=-1, keepdim=True)\n        return weights"),
        "The caller's inputs were changed. Other code may still need them: write `x = x - …` instead of `x -= …`."),
    # BigramLanguageModel
    row("BigramLanguageModel", "table_under_another_name",
        replace("self.token_embedding_table", "self.embedding", times=2),
        "The table is kept under another name. Others look for it by name, so call it token_embedding_table."),
    row("BigramLanguageModel", "table_as_a_parameter",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Parameter(torch.randn(vocab_size, vocab_size))")
        .replace("table(idx)", "table[idx]"),
        "The table is a plain nn.Parameter. It would do, but what is asked for is an nn.Embedding, the module that "
        "looks up rows by their ids."),
    row("BigramLanguageModel", "table_as_a_linear_layer",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Linear(vocab_size, vocab_size, bias=False)")
        .replace("table(idx)", "table(torch.eye(self.token_embedding_table.in_features)[idx])"),
        "The table is an nn.Linear, whose weight has a column for each token that comes in. An nn.Embedding has a row "
        "for each, and looks it up without a product."),
    row("BigramLanguageModel", "table_of_the_notebook", replace("vocab_size, vocab_size", "65, 65"),
        "The table has the size of one notebook's vocabulary, 65. A class should use its own argument, vocab_size."),
    row("BigramLanguageModel", "table_with_a_layer_behind",
        replace("nn.Embedding(vocab_size, vocab_size)",
                "nn.Embedding(vocab_size, 32)\n        self.lm_head = nn.Linear(32, vocab_size)")
        .replace("self.token_embedding_table(idx)", "self.lm_head(self.token_embedding_table(idx))"),
        "The rows of the table are narrower than the vocabulary, with a linear layer behind. Larger models do that; "
        "here a row already holds the logits, so the table is (V, V)."),
    row("BigramLanguageModel", "probabilities_instead_of_logits",
        replace("self.token_embedding_table(idx)", "self.token_embedding_table(idx).softmax(dim=-1)"),
        "The logits went through a softmax. Loss and generate take one of their own, and a second one levels "
        "everything: give the rows of the table as they are."),
    row("BigramLanguageModel", "columns_of_the_table",
        replace("self.token_embedding_table(idx)", "self.token_embedding_table.weight.T[idx]"),
        "The logits are columns of the table. Row i of an nn.Embedding is what it gives for the id i: call it, and it "
        "looks that up."),
    row("BigramLanguageModel", "flat_logits_with_targets",
        replace("return logits, cross", "return logits.flatten(0, 1), cross"),
        "With targets, the logits come back flat, (B · T, V). Nobody can tell then which text a row belongs to: "
        "flatten for the loss alone, under other names."),
    row("BigramLanguageModel", "lonely_logits_squeezed",
        replace("return logits, cross", "return logits.squeeze(), cross"),
        "With targets, the logits are squeezed, and so a single text, or texts of one token, lose a dimension of "
        "length one. Logits are (B, T, V) whatever these are."),
    row("BigramLanguageModel", "logits_of_the_last_token",
        replace("return logits", "return logits[:, -1]", times=2).replace("softmax(logits[:, -1]", "softmax(logits"),
        "Logits are given for the last token alone, (B, V). generate needs no others, but the loss does: every token "
        "predicts the next one."),
    row("BigramLanguageModel", "logits_alone_without_targets",
        replace("return logits, None", "return logits").replace("logits, _ =", "logits ="),
        "Without targets, only the logits come back. forward always gives two: logits, and the loss or None. A caller "
        "who takes two apart would take the logits apart."),
    row("BigramLanguageModel", "loss_alone_with_targets", replace("return logits, cross", "return cross"),
        "With targets, only the loss comes back. forward always gives two: the logits first, and then the loss or "
        "None."),
    row("BigramLanguageModel", "loss_before_logits",
        replace("logits, None", "None, logits")
        .replace(f"logits, {LOSS}", f"{LOSS}, logits")
        .replace("logits, _ =", "_, logits ="),
        "The loss comes before the logits. forward gives the logits first."),
    row("BigramLanguageModel", "zero_without_targets", replace("logits, None", "logits, torch.zeros(())"),
        "Without targets, the loss is zero. Zero would be a perfect score; where nothing was measured, the loss is "
        "None."),
    row("BigramLanguageModel", "loss_never_worked_out", replace(LOSS, "None"),
        "The targets are not used: the loss is None in any case. Where there are targets, it is the mean "
        "cross-entropy."),
    row("BigramLanguageModel", "losses_added_up_in_model", replace(LOSS, f"nn.functional.{LOSS} * targets.numel()"),
        "The losses of all predictions are added up. Then a larger batch has a larger loss for no reason: take the "
        "mean."),
    row("BigramLanguageModel", "mean_over_texts_alone", replace(LOSS, f"nn.functional.{LOSS} * targets.shape[1]"),
        "The losses of a text's tokens are added up, and the mean runs over the texts. There are B · T predictions, 32 "
        "in a batch of 4 texts of 8 tokens, and the mean runs over all of them."),
    row("BigramLanguageModel", "loss_of_the_last_tokens",
        replace(LOSS, "nn.functional.cross_entropy(logits[:, -1], targets[:, -1])"),
        "Only the last token of each text counts in the loss: 4 predictions where there are 32. Every token predicts "
        "the one after it."),
    row("BigramLanguageModel", "targets_moved_on_once_more",
        replace(LOSS, f"nn.functional.{LOSS}").replace("(logits, targets)", "(logits[:, :-1], targets[:, 1:])"),
        "Each text's targets are moved on once more, and one prediction is dropped. The targets already are what "
        "follows."),
    row("BigramLanguageModel", "targets_of_other_tokens",
        replace(LOSS, "nn.functional.cross_entropy(logits.flatten(0, 1), targets.T.flatten())"),
        "Logits and targets are flattened in different orders, so that predictions meet the targets of other tokens. "
        "Whatever the order, it has to be the same for both."),
    row("BigramLanguageModel", "predictions_torn_by_view",
        replace(LOSS, "nn.functional.cross_entropy(logits.reshape(len(idx), -1, idx.shape[1]), targets)"),
        "`view` and `reshape` only break the rows elsewhere: `logits.view(B, V, T)` tears the predictions apart. If "
        "torch's loss is to have (B, V, T), `transpose` swaps the two; else make the first two dimensions into one."),
    row("BigramLanguageModel", "softmax_before_the_loss",
        replace("(logits, targets)", "(torch.softmax(logits, dim=-1), targets)"),
        "The loss has a softmax too many: cross-entropy takes the logits, and a softmax is in it already."),
    row("BigramLanguageModel", "minus_forgotten_in_model", replace("logits, cross", "logits, -cross"),
        "The minus is missing: the loss is the mean logarithm of the probabilities, and training would make the "
        "targets as unlikely as it can."),
    row("BigramLanguageModel", "loss_without_gradients", replace(LOSS, f"{LOSS}.item()"),
        "The loss is cut off from the gradients, by `.item()`, `float(…)`, `.detach()` or `torch.no_grad()`, so "
        "nothing can be learnt from it. Let the caller take the number out."),
    row("BigramLanguageModel", "table_that_does_not_learn",
        replace("nn.Embedding(vocab_size, vocab_size)", "nn.Embedding(vocab_size, vocab_size).requires_grad_(False)"),
        "The table requires no gradients, so that it stays as it began. It is all that the model has to learn."),
    row("BigramLanguageModel", "likeliest_token_taken", replace(TOKEN, "probabilities.argmax(dim=-1, keepdim=True)"),
        "The likeliest token is taken each time, and nothing is drawn. Such a text soon goes round in circles, and "
        "never says what is merely possible: draw with `torch.multinomial`."),
    row("BigramLanguageModel", "all_equally_likely",
        replace("torch.softmax(logits[:, -1], dim=-1)", "torch.ones_like(logits[:, -1])"),
        "All tokens are equally likely, whatever the logits say. Draw with the probabilities that softmax makes of "
        "them."),
    row("BigramLanguageModel", "softmax_over_the_texts", replace("dim=-1", "dim=0"),
        "Softmax runs over the texts (dim=0), so that what is likely in one text depends on the others. The V kinds of "
        "one text are to share: dim=-1."),
    row("BigramLanguageModel", "softmax_over_the_tokens", replace("logits[:, -1], dim=-1)", "logits, dim=1)[:, -1]"),
        "Softmax runs over the tokens of the prompt (dim=1), before the last one is picked. The V kinds after one "
        "token are to share: dim=-1."),
    row("BigramLanguageModel", "softmax_forgotten_in_model",
        replace("torch.softmax(logits[:, -1], dim=-1)", "logits[:, -1]"),
        "The logits are handed to the draw as they are. They are no probabilities, and some are negative: softmax "
        "comes first."),
    row("BigramLanguageModel", "softmax_taken_twice_in_model", replace("dim=-1)", "dim=-1).softmax(dim=-1)"),
        "Softmax is taken twice, of the logits and of the probabilities, and the second time levels everything: "
        "unlikely tokens come up far too often."),
    row("BigramLanguageModel", "logits_scaled", replace("logits[:, -1]", "logits[:, -1] / logits.shape[-1] ** 0.5"),
        "The logits are scaled before the softmax. That belongs to the scores of attention; here it makes the likely "
        "less likely, and the unlikely more."),
    row("BigramLanguageModel", "likely_made_likelier", replace("logits[:, -1]", "2 * logits[:, -1]"),
        "The likely tokens come up too often: probabilities were squared, or logits multiplied, on the way. Draw with "
        "the softmax of the logits as they are."),
    row("BigramLanguageModel", "first_token_gone_on_from", replace("logits[:, -1]", "logits[:, 0]"),
        "The logits of the first token are drawn from. They say what follows on it, and that is known already: the "
        "last token's are `logits[:, -1]`."),
    row("BigramLanguageModel", "token_before_the_last_gone_on_from", replace("logits[:, -1]", "logits[:, -2]"),
        "The logits of the token before the last are drawn from. They say what follows on it, and that is the last "
        "token; the last one's own are `logits[:, -1]`."),
    row("BigramLanguageModel", "all_tokens_gone_on_from", replace("logits[:, -1]", "logits.mean(dim=1)"),
        "The logits of all tokens of a text are averaged. A bigram model goes on from the last token alone: `logits[:, "
        "-1]`."),
    row("BigramLanguageModel", "new_tokens_not_looked_at",
        replace("for _ in", "prompt = idx\n        for _ in").replace("self(idx)", "self(prompt)"),
        "All new tokens are drawn from the prompt's last token. Each one changes what is likely next: put it at the "
        "end of the text before you ask again."),
    row("BigramLanguageModel", "new_tokens_in_one_go",
        replace("range(max_new_tokens)", "range(min(1, max_new_tokens))")
        .replace("probabilities, 1", "probabilities, max_new_tokens"),
        "`torch.multinomial` draws all new tokens in one go, and without `replacement=True` none of them twice. Draw "
        "one, put it at the end of the text, and ask again."),
    row("BigramLanguageModel", "first_text_gone_on_from", replace("dim=-1)", "dim=-1)[:1].expand(len(idx), -1)"),
        "Every text goes on as the first one does: its probabilities are used for all. Each text has a last token of "
        "its own."),
    row("BigramLanguageModel", "one_throw_for_all_texts",
        replace(TOKEN, f"{BELOW}torch.rand(1, 1, generator=generator){COUNTED}"),
        "One throw decides for all texts, so that those with the same prompt go on alike. Each text has a draw of its "
        "own, as `torch.multinomial` has for each row."),
    row("BigramLanguageModel", "one_throw_for_all_steps",
        replace("for _ in", "throws = torch.rand(len(idx), 1, generator=generator)\n        for _ in")
        .replace(TOKEN, f"{BELOW}throws{COUNTED}"),
        "The same throw decides at every step: the state is set again each time, or the throw made once. Each new "
        "token has a draw of its own."),
    row("BigramLanguageModel", "new_tokens_alone",
        replace("for _ in", "prompt = idx\n        for _ in").replace("return idx", "return idx[:, prompt.shape[1] :]"),
        "Only the new tokens come back. The text that goes on begins with its prompt: `torch.cat([idx, new], dim=1)`."),
    row("BigramLanguageModel", "ids_made_floats", replace("return idx", "return idx.float()"),
        "The ids come back as floats, as from a `torch.zeros` that was filled with them. Only a whole number can be "
        "looked up: begin with the dtype of idx, or use `torch.cat`."),
    row("BigramLanguageModel", "prompt_cut_to_its_last_token",
        replace("for _ in", "idx = idx[:, -1:]\n        for _ in"),
        "Only the last token of the prompt comes back with the new ones. The model needs no more of it, but the text "
        "does."),
    row("BigramLanguageModel", "new_tokens_in_front", replace("[idx, new]", "[new, idx]"),
        "The new tokens are put in front of the prompt. A text goes on at its end: `torch.cat([idx, new], dim=1)`."),
    row("BigramLanguageModel", "length_of_the_whole_text",
        replace("range(max_new_tokens)", "range(max_new_tokens - idx.shape[1])"),
        "max_new_tokens is taken for the length of the whole text. It counts the new tokens alone, and the prompt "
        "comes on top."),
    row("BigramLanguageModel", "one_token_too_many", replace("range(max_new_tokens)", "range(max_new_tokens + 1)"),
        "There is one new token too many. `range(max_new_tokens)` has as many steps as it says, from 0 on."),
    row("BigramLanguageModel", "at_least_one_token", replace("range(max_new_tokens)", "range(max(1, max_new_tokens))"),
        "At least one token is drawn, even where none is asked for. Look at max_new_tokens before the first draw, as a "
        "`for` loop does."),
    row("BigramLanguageModel", "first_text_alone", replace("for _ in", "idx = idx[:1]\n        for _ in"),
        "Only the first text goes on. generate takes a batch, and continues each of its texts."),
    row("BigramLanguageModel", "lonely_prompt_squeezed", replace("return idx", "return idx.squeeze()"),
        "`squeeze()` removes every dimension of size one, so a prompt of one text, or of one token, loses its shape."),
    row("BigramLanguageModel", "prompt_of_one_token_refused",
        replace("for _ in",
                'if idx.shape[1] < 2:\n            raise ValueError("the prompt is too short")\n        for _ in'),
        "A prompt of a single token is refused. It is enough for a bigram model, and the usual way to begin with "
        "nothing."),
    row("BigramLanguageModel", "idx_changed_in_place",
        replace("for _ in", "prompt = idx\n        for _ in")
        .replace("return idx", "prompt[:] = idx[:, -prompt.shape[1] :]\n        return idx"),
        "The caller's idx was changed. Methods with an underscore, and `idx[…] = …`, work on the tensor itself; "
        "`torch.cat` makes a new one."),
    row("BigramLanguageModel", "targets_flattened_in_place",
        replace(f"return logits, {LOSS}",
                f"loss = {LOSS}\n        targets.resize_(targets.numel())\n        return logits, loss"),
        "The caller's targets, or idx, were changed. Methods with an underscore, such as `resize_`, work on the tensor "
        "itself; `flatten` and `reshape` give a new one."),
    row("BigramLanguageModel", "generator_ignored", replace(", generator=generator", ""), IGNORED),
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
