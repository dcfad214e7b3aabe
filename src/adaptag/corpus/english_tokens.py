"""Tokens of English as treebanks cut them: ``do n't``, ``it 's``, ``15 - year``, ``$ 5``.

The rules follow the English Web Treebank of Universal Dependencies. A pattern finds tokens from
left to right, none of which contains white space; contractions are cut off words in a second step.
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["english_tokens"]

APOSTROPHES = "'\u2019"
QUOTES = APOSTROPHES + "\u2018`\u00b4"
ABBREVIATIONS = (
    "Adm Apr Assn Aug Ave Blvd Bros Capt Cmdr Co Col Corp Cpl Dec Dept Dr Esq Feb Fig Fri Ft Gen "
    "Gov Hon Inc Jan Jr Jul Jun Lt Ltd Maj Messrs Mon Mr Mrs Ms Mt Nov Oct Ph Pres Prof Rd Rep "
    "Rev Sen Sep Sept Sgt Sr St Ste Supt Thu Tue Univ Wed approx dept est etc ext vs"
)
PREFIXES = (  # that a hyphen does not cut off
    "anti co counter cross de e ex extra hyper inter intra macro mega meta micro mid mini mis "
    "multi neo non over para post pre pro pseudo psycho quasi re semi sub super trans tri ultra "
    "un under uni"
)
# Words that are two, and where they are cut.
DOUBLE = {
    **dict.fromkeys(("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"), 3),
    **dict.fromkeys(("im", "ive"), 1),
    **dict.fromkeys(("thats", "whats"), 4),
}
# Verbs that "nt" is cut off: "dont" as "don't".
NEGATED = "ai are ca could did do does had has have is must should was were wo would"
UNITS = "am pm a\\.m\\. p\\.m\\. km kg mg ml cm mm lbs? oz ft mph hrs? mins? yrs? ghz mhz gb mb"


def english_tokens(line: str) -> list[tuple[int, int]]:
    """Find the tokens of a line: the start and end of each."""
    places = []
    for found in _pattern().finditer(line):
        start, end = found.span()
        cut = _second_part(found[0]) if found["word"] else 0
        if cut:
            places.append((start, start + cut))
        places.append((start + cut, end))
    return places


def _second_part(word: str) -> int:
    """Where the second of two tokens of a word begins; 0 where it is one token."""
    ending = _ending().search(word)
    if ending and ending.start():
        return ending.start()
    return DOUBLE.get(word.lower(), 0)


@cache
def _ending() -> re.Pattern[str]:
    a = f"[{APOSTROPHES}]"
    verbs = "|".join(f"(?<=^{verb})" for verb in NEGATED.split())
    return re.compile(
        f"(?:n{a}t|{a}(?:s|m|d|re|ve|ll)|(?<=s){a}|(?:{verbs})nt)$",
        re.IGNORECASE,
    )


@cache
def _pattern() -> re.Pattern[str]:
    """What a token may be, in the order in which it is tried."""
    letter = r"[^\W\d_]"
    a = f"[{APOSTROPHES}]"
    prefixes = "|".join(PREFIXES.split())
    words = rf"{letter}[\w\u0300-\u036f]*"
    return re.compile(
        "|".join(
            (
                r"(?:https?|ftp|file)://[^\s<>\"]*[^\s<>\".,;:!?')\]]",
                r"www\.[^\s<>\"]*[^\s<>\".,;:!?')\]]",
                r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}",
                r"[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.(?:com|org|net|edu|gov|co\.uk|html?|doc|pdf|xls|jpg|txt)\b"
                r"(?:/[^\s<>\"]*[^\s<>\".,;:!?')\]])?",
                r"[:;=8xX]['\u2019]?-?[()\[\]DPpO|/\\3](?!\w)|<3|\^_\^|[(\[]-?[:;=](?!\w)",  # faces
                r"\d{1,2}:\d\d(?::\d\d)?",  # times
                r"\d+(?:[/.]\d+){2,}|\d{1,4}/\d{1,4}(?:/\d{2,4})?",  # dates, fractions
                r"(?:\d-)?\(?\d{3}\)?-\d{3}-\d{4}|\b\d{3}-\d{4}\b|\d{1,2}-\d{1,2}-\d{2,4}",
                r"\d+(?:st|nd|rd|th|s)\b",
                rf"\d+(?:,\d{{3}})*(?:\.\d+)?(?=(?:{'|'.join(UNITS.split())})\b)",
                r"[-+]?\d+(?:,\d{3})+(?:\.\d+)?|\d*\.\d+|\d+(?!\w)",
                r"(?i:a\.m\.|p\.m\.|e\.g\.|i\.e\.|ph\.d\.?|a\.k\.a\.)",
                rf"(?:{letter}\.){{2,}}",  # U.S.
                r"\b[A-Z]\.(?=\s|[A-Z])|\bNo\.(?=\d)",
                rf"\b(?:{'|'.join(ABBREVIATIONS.split())})\.(?=\s|[,;:)\]])",
                rf"(?<=\d){a}s\b|{a}\d\ds?\b",
                rf"(?P<word>(?i:(?:{prefixes})-)?{words}(?:[&_]{words})*(?:{a}{words})*"
                rf"(?:(?<=s){a}(?!\w))?)",
                rf"{a}(?i:s|m|d|re|ve|ll|em|til|cause|n)\b",
                r"\w+",
                r"(?P<same>[.!?,*=~#+>|<_-])(?P=same)+|[!?]+|\.\?",
                rf"[{QUOTES}]{{2}}",
                r"[^\s\0-\x1f\u200b-\u200f\u2060\ufeff]",
            )
        )
    )
