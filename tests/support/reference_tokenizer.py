"""How a text becomes features, in slow and obvious Python."""

import re
from collections import Counter
from math import log

# Thai, Lao, Burmese, Hangul, Khmer, kana and Chinese characters.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323ff]"
)


def features(
    text,
    ngrams=(1, 2),
    chars="auto",
    char_scope="words",
    lowercase=True,
    stop_words=(),
    min_length=1,
    counts="binary",
):
    """The features of a text by name, in the order in which it first has them."""
    low = text.lower() if lowercase else text
    words = [word for word in re.findall(r"\w+", low) if len(word) >= min_length]
    words = [word for word in words if word not in stop_words]
    found = Counter()
    if ngrams:
        for i in range(len(words)):
            for n in range(ngrams[0], ngrams[1] + 1):
                if i + n <= len(words):
                    found[" ".join(words[i : i + n])] += 1
    if chars:
        unspaced = chars == "auto"
        chars = (1, 3) if unspaced else chars
        pieces = [re.sub(r"\s+", " ", low)]
        if unspaced or char_scope == "words":
            pieces = [f" {word} " for word in words if not unspaced or UNSPACED.search(word)]
        for piece in pieces:
            for i in range(len(piece)):
                for n in range(chars[0], chars[1] + 1):
                    if i + n <= len(piece) and not (unspaced and piece[i : i + n] == " "):
                        found[f"‹{piece[i : i + n]}›"] += 1
    value = {"binary": lambda n: 1.0, "counts": float, "log": lambda n: 1.0 + log(n)}[counts]
    return {name: value(n) for name, n in found.items()}


def normalized(row):
    """A row of length 1."""
    length = sum(value * value for value in row.values()) ** 0.5
    return {name: value / length for name, value in row.items()}
