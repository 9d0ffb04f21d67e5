"""The data set included in sureline, so that the demo needs no download."""

from __future__ import annotations

import re
from importlib.resources import files

# A message starts with its label; a line without one continues the message before it.
_START = re.compile(r"^(ham|spam)\t", re.MULTILINE)


def sms_spam() -> tuple[list[str], list[str]]:
    """The SMS Spam Collection v1: text messages, each labelled ``"ham"`` or ``"spam"``.

    It was collected by Almeida, Gómez Hidalgo and Yamakami (2011) and comes under the licence
    CC BY 4.0; see ``sms-spam.ATTRIBUTION.txt`` beside this file.

    Returns
    -------
    texts, labels : lists of str
        The 5,574 messages and their labels, in the order of the file.

    Examples
    --------
    >>> from sureline.data import sms_spam
    >>> texts, labels = sms_spam()
    >>> texts[1], labels[1]
    ('Ok lar... Joking wif u oni...', 'ham')
    >>> len(texts), labels.count("ham"), labels.count("spam")
    (5574, 4827, 747)
    """
    table = files("sureline.data").joinpath("sms-spam.tsv").read_text(encoding="utf-8")
    _, *fields = _START.split(table)
    labels, messages = fields[::2], fields[1::2]
    # The file breaks its one two-line message inside a word: join the lines without a space.
    return [message.replace("\n", "") for message in messages], labels
