"""The data set that comes with sureline."""

from collections import Counter
from importlib.resources import files

from sureline.data import sms_spam


def test_every_message_is_read_with_its_label():
    texts, labels = sms_spam()
    assert len(texts) == len(labels) == 5574
    assert Counter(labels) == {"ham": 4827, "spam": 747}
    assert texts[0].startswith("Go until jurong point")
    assert (texts[-1], labels[-1]) == ("Rofl. Its true to its name", "ham")


def test_no_message_holds_a_line_break_a_label_or_nothing():
    texts, _ = sms_spam()
    assert all(texts)
    assert not any("\n" in text or "\t" in text for text in texts)


def test_the_message_broken_over_two_lines_is_joined():
    texts, labels = sms_spam()
    joined = "Nah I don't think he goes to usf, he lives around here though"
    assert (texts[4], labels[4]) == (joined, "ham")


def test_nothing_of_the_file_is_lost():
    texts, labels = sms_spam()
    table = files("sureline.data").joinpath("sms-spam.tsv").read_text(encoding="utf-8")
    again = "".join(f"{label}\t{text}" for label, text in zip(labels, texts, strict=True))
    assert again == table.replace("\n", "")


def test_the_attribution_comes_with_the_file():
    text = files("sureline.data").joinpath("sms-spam.ATTRIBUTION.txt").read_text(encoding="utf-8")
    for part in ("Almeida", "Gómez Hidalgo", "Yamakami", "CC BY 4.0", "Changes:"):
        assert part in text
