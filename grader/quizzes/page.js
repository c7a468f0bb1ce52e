"use strict";

// Marking, as grader/quizzes/answers.py and marking.py do it. A test compares the two.

const COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
const LONGEST = 200;

/** An answer that cannot be read; its message says what to write. */
class Unreadable extends Error {}

function squeezed(raw) {
  const text = raw.trim().replace(/\s+/g, " ");
  if (text.length > LONGEST) throw new Unreadable("Write nothing but the answer.");
  return text;
}

function bare(raw) {
  return squeezed(raw).replace(/^[$`*_ ]+|[$`*_ ]+$/g, "").replace(/[\u2212\u2013]/g, "-");
}

/** Read a number exactly, as [numerator, denominator]. */
function readNumber(raw) {
  const text = bare(raw);
  const decimal = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,3}))?$/.exec(text);
  if (decimal && (decimal[2] || decimal[3])) {
    const digits = BigInt(decimal[2] + (decimal[3] || ""));
    const exponent = Number(decimal[4] || 0) - (decimal[3] || "").length;
    const size = 10n ** BigInt(Math.abs(exponent));
    const number = decimal[1] === "-" ? -digits : digits;
    return exponent < 0 ? [number, size] : [number * size, 1n];
  }
  const fraction = /^([+-]?)([0-9]+) *\/ *([0-9]+)$/.exec(text);
  if (fraction && BigInt(fraction[3])) {
    return [BigInt(fraction[2]) * (fraction[1] === "-" ? -1n : 1n), BigInt(fraction[3])];
  }
  throw new Unreadable("Write a number like 50257, 3.125, 1e-3 or 1/8.");
}

/** Return whether two numbers differ by numerator / denominator at most. */
function isNear(one, other, numerator, denominator) {
  const difference = one[0] * other[1] - other[0] * one[1];
  return (difference < 0n ? -difference : difference) * denominator <= numerator * one[1] * other[1];
}

function readShape(raw) {
  let text = bare(raw).replace(/X/g, "x");
  for (let layer = 0; layer < 2; layer++) {
    const brackets = /^(?:torch\.Size\((.*)\)|\((.*)\)|\[(.*)\])$/.exec(text);
    if (brackets) text = brackets.slice(1).find((group) => group !== undefined).trim();
  }
  if (!raw.replace(/[\s_]/g, "")) throw new Unreadable("Write a shape like (2, 4, 5).");
  if (!text) return [];
  const sizes = text.replace(/,$/, "").trimEnd().split(/ *[,x\u00d7] *| +/);
  if (!sizes.every((size) => /^[0-9]{1,9}$/.test(size))) {
    throw new Unreadable("Write whole numbers like (2, 4, 5), (7,) or, for a scalar, ().");
  }
  return sizes.map(Number);
}

function readLetters(item, raw) {
  const letters = [...bare(raw).toLowerCase().replace(/[\s,;.()[\]>\u2192-]+/g, "")];
  const range = `from ${item.letters[0]} to ${item.letters[item.letters.length - 1]}`;
  const isKnown = letters.length && letters.every((letter) => item.letters.includes(letter));
  if (item.kind === "several_choices") {
    if (!isKnown) throw new Unreadable("Tick at least one box.");
    return [...new Set(letters)].sort();
  }
  if (item.kind === "order") {
    if (!isKnown || [...letters].sort().join("") !== item.letters) {
      throw new Unreadable(`Write each letter ${range} once.`);
    }
  } else if (!isKnown || letters.length > 1) {
    throw new Unreadable("Choose one answer.");
  }
  return letters;
}

/** Return the sentence on a number that is right as far as it goes, but has fewer decimals than asked for. */
function tooShort(item, key, raw) {
  const written = /^[+-]?(?:[0-9]+\.?|\.(?=[0-9]))([0-9]*)$/.exec(bare(raw));
  if (!item.decimals || !written || written[1].length >= item.decimals) return null;
  const count = written[1].length;
  if (!isNear(readNumber(raw), readNumber(key.right), 1n, 2n * 10n ** BigInt(count))) return null;
  const has = `${COUNTS[count]} decimal${count === 1 ? "" : "s"}`;
  const are = item.decimals === 1 ? "is" : "are";
  return `${bare(raw)} has ${has}, and ${COUNTS[item.decimals]} ${are} asked for: write it to all of them.`;
}

function markOrder(given, right) {
  let pairs = 0;
  let inOrder = 0;
  given.forEach((first, place) => given.slice(place + 1).forEach((second) => {
    pairs += 1;
    if (right.indexOf(first) < right.indexOf(second)) inOrder += 1;
  }));
  const sentence = `<p>${inOrder} of the ${pairs} pairs of steps are in the right order.</p>`;
  return { right: inOrder === pairs, sentences: [sentence] };
}

function markWritten(key, fits) {
  if (fits(key.right)) return { right: true, sentences: [] };
  return { right: false, sentences: key.slips.filter(([value]) => fits(value)).map(([, text]) => text).slice(0, 1) };
}

/** Mark an answer to a variant of an item: {right, sentences}, or {problem} if it is no answer yet. */
function mark(item, variant, raw) {
  const key = item.variants[variant];
  try {
    if (item.kind === "number") {
      const given = readNumber(raw);
      const [numerator, denominator] = item.decimals ? [1n, 10n ** BigInt(item.decimals)] : [0n, 1n];
      const marked = markWritten(key, (value) => isNear(given, readNumber(value), numerator, denominator));
      const problem = marked.right ? null : tooShort(item, key, raw);
      return problem ? { problem } : marked;
    }
    if (item.kind === "shape") {
      const given = readShape(raw).join();
      return markWritten(key, (value) => given === value.join());
    }
    const letters = readLetters(item, raw);
    if (item.kind === "order") return markOrder(letters, key.right);
    return { right: letters.join() === key.right.join(), sentences: letters.map((letter) => key.sentences[letter]) };
  } catch (error) {
    if (error instanceof Unreadable) return { problem: error.message };
    throw error;
  }
}

// The page.

const items = JSON.parse(document.getElementById("data").textContent);
const firstTries = new Map();

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") made.innerHTML = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function showScore() {
  const right = [...firstTries.values()].filter(Boolean).length;
  document.getElementById("score").textContent =
    `${right} of ${items.length} right at the first try, ${firstTries.size} answered.`;
}

/** Return the fields to answer in. The question describes them to a screen reader. */
function fields(item, number, key) {
  const described = { "aria-describedby": `question-${number}` };
  const options = Object.entries(key.options);
  const isTicked = options.length && item.kind !== "order";
  if (isTicked) {
    const type = item.kind === "several_choices" ? "checkbox" : "radio";
    const labels = options.map(([letter, html]) => element("label", { class: "option" },
      element("input", { type, name: `answer-${number}`, value: letter }),
      element("span", {}, `${letter}) `), element("span", { html })));
    return [element("fieldset", described, element("legend", {}, "Your answer"), ...labels)];
  }
  const steps = options.map(([letter, html]) => element("div", { class: "option" },
    element("span", {}, `${letter})`), element("span", { html })));
  const input = element("input", { type: "text", name: `answer-${number}`, autocomplete: "off",
    autocapitalize: "none", spellcheck: "false", ...described });
  return [element("div", { id: `steps-${number}` }, ...steps), element("label", { class: "written" }, item.hint, input)];
}

function program(code) {
  const lines = code.split("\n").map((line) => element("span", {}, line || " "));
  return element("pre", { class: "program", tabindex: "0", "aria-label": "The program" }, element("code", {}, ...lines));
}

function typed(form) {
  const ticked = [...form.querySelectorAll("input:checked")].map((input) => input.value).join(" ");
  const text = form.querySelector("input[type=text]");
  return text ? text.value : ticked;
}

function verdict(place, item, key, marked) {
  place.className = marked.problem ? "verdict" : `verdict ${marked.right ? "right" : "wrong"}`;
  if (marked.problem) {
    place.replaceChildren(element("p", {}, marked.problem));
    return;
  }
  const answer = marked.right ? [] : [element("p", { html: `The answer: ${key.accepted}` })];
  place.replaceChildren(
    element("p", {}, marked.right ? "Right." : "Not right."),
    ...marked.sentences.map((html) => element("div", { html })),
    ...answer,
    element("div", { html: key.explanation }),
  );
}

function ask(item, number) {
  let variant = Math.floor(Math.random() * item.variants.length);
  const form = element("form", { "aria-labelledby": `heading-${number}`, novalidate: "" });
  const body = element("div");
  const place = element("div", { class: "verdict", role: "status" });

  function draw() {
    const key = item.variants[variant];
    const question = element("div", { id: `question-${number}`, html: key.question });
    if (item.code) question.append(program(item.code));
    body.replaceChildren(question, ...fields(item, number, key));
    place.replaceChildren();
    place.className = "verdict";
  }

  form.append(
    element("h2", { id: `heading-${number}` }, `${number}. ${item.heading}`),
    element("p", { class: "asked" }, item.asked), body, element("button", { type: "submit" }, "Check"));
  if (item.variants.length > 1) {
    const again = element("button", { type: "button" }, "Other numbers");
    again.addEventListener("click", () => {
      variant = (variant + 1 + Math.floor(Math.random() * (item.variants.length - 1))) % item.variants.length;
      draw();
      form.querySelector("input").focus();
    });
    form.append(again);
  }
  form.append(place);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const marked = mark(item, variant, typed(form));
    if (!marked.problem && !firstTries.has(number)) firstTries.set(number, marked.right);
    verdict(place, item, item.variants[variant], marked);
    showScore();
  });
  draw();
  return form;
}

document.getElementById("items").append(...items.map((item, index) => ask(item, index + 1)));
showScore();
