"""Words and characters of a text, by the rules of Unicode for word boundaries (UAX #29).

A text is first translated, character by character, to the letters of the classes below; a short
regular expression then finds the words. The class of a character is found where it first occurs:
by its category and by the standard's own lists, which ``unicodedata`` does not have.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

__all__ = ["characters_in", "words_in"]

BLANK = " "  # white space, and what is neither visible nor part of a word
LETTER, HEBREW, KATAKANA, DIGIT, CONNECTOR = "AHKNX"
MID_LETTER, MID_NUMBER, MID_BOTH, QUOTE, DOUBLE_QUOTE = "LMBqd"
MARK, FORMAT, JOINER = "ECZ"  # stay with the character before them
FLAG, PICTURE, OTHER = "FPV"  # two of FLAG are a flag; what a joiner joins; all else

CATEGORIES = {
    **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl"), LETTER),
    **dict.fromkeys(("Mn", "Mc", "Me"), MARK),
    **dict.fromkeys(("Zs", "Zl", "Zp", "Cc"), BLANK),
    "Cf": FORMAT,
    "Nd": DIGIT,
    "Pc": CONNECTOR,
}
# Letters that no word is made of: each is a token. Han and other ideographs, Hiragana, and the
# scripts of South East Asia that put no space between words.
SINGLE = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x3006, 0x3007), (0x3021, 0x3029), (0x3038, 0x303A), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FE), (0xAA60, 0xAADF), (0xF900, 0xFAFF),
    (0x11700, 0x1174F), (0x16FE4, 0x18DFF), (0x1B001, 0x1B11F), (0x1B132, 0x1B132),
    (0x1B150, 0x1B152), (0x1B170, 0x1B2FF), (0x20000, 0x3FFFF),
)  # fmt: skip
KATAKANA_RANGES = (
    (0x3031, 0x3035), (0x309B, 0x309C), (0x30A0, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF),
    (0x32D0, 0x32FE), (0x3300, 0x3357), (0xFF66, 0xFF9D), (0x1AFF0, 0x1AFFE), (0x1B000, 0x1B000),
    (0x1B120, 0x1B122), (0x1B155, 0x1B155), (0x1B164, 0x1B167),
)  # fmt: skip
HEBREW_RANGES = ((0x05D0, 0x05EA), (0x05EF, 0x05F2), (0xFB1D, 0xFB1D), (0xFB1F, 0xFB28),
                 (0xFB2A, 0xFB4F))  # fmt: skip
SYMBOLS = (  # that are part of words
    (0x02C2, 0x02C5), (0x02D2, 0x02D7), (0x02DE, 0x02DF), (0x02E5, 0x02EB), (0x02ED, 0x02ED),
    (0x02EF, 0x02FF), (0x055A, 0x055C), (0x055E, 0x055E), (0x058A, 0x058A), (0x05F3, 0x05F3),
    (0x070F, 0x070F), (0x24B6, 0x24E9), (0xA708, 0xA716), (0xA720, 0xA721), (0xA789, 0xA78A),
    (0xAB5B, 0xAB5B), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189),
)  # fmt: skip
PICTURES = (  # Extended_Pictographic
    (0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x203C), (0x2049, 0x2049), (0x2122, 0x2122),
    (0x2194, 0x2199), (0x21A9, 0x21AA), (0x231A, 0x231B), (0x2328, 0x2328),
    (0x2388, 0x2388), (0x23CF, 0x23CF), (0x23E9, 0x23F3), (0x23F8, 0x23FA), (0x24C2, 0x24C2),
    (0x25AA, 0x25AB), (0x25B6, 0x25B6), (0x25C0, 0x25C0), (0x25FB, 0x25FE), (0x2600, 0x2605),
    (0x2607, 0x2612), (0x2614, 0x2685), (0x2690, 0x2705), (0x2708, 0x2712), (0x2714, 0x2714),
    (0x2716, 0x2716), (0x271D, 0x271D), (0x2721, 0x2721), (0x2728, 0x2728), (0x2733, 0x2734),
    (0x2744, 0x2744), (0x2747, 0x2747), (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755),
    (0x2757, 0x2757), (0x2763, 0x2767), (0x2795, 0x2797), (0x27A1, 0x27A1), (0x27B0, 0x27B0),
    (0x27BF, 0x27BF), (0x2934, 0x2935), (0x2B05, 0x2B07), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50),
    (0x2B55, 0x2B55), (0x3030, 0x3030), (0x303D, 0x303D), (0x3297, 0x3297), (0x3299, 0x3299),
    (0x1F000, 0x1F0FF), (0x1F10D, 0x1F10F), (0x1F12F, 0x1F12F), (0x1F16C, 0x1F171),
    (0x1F17E, 0x1F17F), (0x1F18E, 0x1F18E), (0x1F191, 0x1F19A), (0x1F1AD, 0x1F1E5),
    (0x1F201, 0x1F20F), (0x1F21A, 0x1F21A), (0x1F22F, 0x1F22F), (0x1F232, 0x1F23A),
    (0x1F23C, 0x1F23F), (0x1F249, 0x1F3FA), (0x1F400, 0x1F53D), (0x1F546, 0x1F64F),
    (0x1F680, 0x1F6FF), (0x1F774, 0x1F77F), (0x1F7D5, 0x1F7FF), (0x1F80C, 0x1F80F),
    (0x1F848, 0x1F84F), (0x1F85A, 0x1F85F), (0x1F888, 0x1F88F), (0x1F8AE, 0x1F8FF),
    (0x1F90C, 0x1F93A), (0x1F93C, 0x1F945), (0x1F947, 0x1FAFF), (0x1FC00, 0x1FFFD),
)  # fmt: skip
NUMBER_SIGNS = (
    (0x0600, 0x0605), (0x06DD, 0x06DD), (0x0890, 0x0891), (0x08E2, 0x08E2), (0x19DA, 0x19DA),
    (0x110BD, 0x110BD), (0x110CD, 0x110CD),
)  # fmt: skip
RANGES = (  # the first that has a character decides, before its category
    (SYMBOLS, LETTER),
    (PICTURES, PICTURE),
    (((0x1F1E6, 0x1F1FF),), FLAG),
    (((0x1F3FB, 0x1F3FF), (0xFF9E, 0xFF9F), (0xE0020, 0xE007F)), MARK),
    (KATAKANA_RANGES, KATAKANA),
    (NUMBER_SIGNS, DIGIT),
)
CHARACTERS = {
    **dict.fromkeys(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a", MID_LETTER),
    **dict.fromkeys(
        ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe50\ufe54\uff0c\uff1b", MID_NUMBER
    ),
    **dict.fromkeys(".\u2018\u2019\u2024\ufe52\uff07\uff0e", MID_BOTH),
    "'": QUOTE,
    '"': DOUBLE_QUOTE,
    "\u200b": BLANK,
    "\u200c": MARK,
    "\u200d": JOINER,
    "\u066b": DIGIT,
}


class _Classes(dict[int, str]):
    """The class of each character, by its number; found where it is first asked for."""

    def __missing__(self, code: int) -> str:
        self[code] = value = class_of(chr(code))
        return value


def class_of(character: str) -> str:
    """The class of a character: its Word_Break property, or that it is blank or a picture."""
    if character in CHARACTERS:
        return CHARACTERS[character]
    code = ord(character)
    for ranges, value in RANGES:
        if any(first <= code <= last for first, last in ranges):
            return value
    value = CATEGORIES.get(unicodedata.category(character), OTHER)
    if value == LETTER:
        if any(first <= code <= last for first, last in SINGLE):
            return OTHER
        if any(first <= code <= last for first, last in HEBREW_RANGES):
            return HEBREW
    return value


_CLASSES = _Classes()


def words_in(text: str) -> list[tuple[int, int]]:
    """Find the words and the other visible characters of a text: the start and end of each."""
    found = _word_pattern().finditer(text.translate(_CLASSES))
    return [match.span() for match in found]


def characters_in(text: str) -> list[tuple[int, int]]:
    """Find the visible characters of a text, each with its marks: the start and end of each."""
    found = _character_pattern().finditer(text.translate(_CLASSES))
    return [match.span() for match in found]


_EXTEND = "ECZ"
MOST_MARKS = 7  # of a Hebrew letter that a quotation mark stays with
_JOINED = f"(?:(?<=Z)P[{_EXTEND}]*)*"  # WB3c
_SINGLE = f"F[{_EXTEND}]*F[{_EXTEND}]*|[^ CZ][{_EXTEND}]*{_JOINED}"  # WB4, WB15, WB999


@cache
def _word_pattern() -> re.Pattern[str]:
    """Words by the rules WB5 to WB13b, else a single character."""
    e = f"[{_EXTEND}]*"
    behind = "|".join(f"(?<=H{f'[{_EXTEND}]' * n})" for n in range(MOST_MARKS + 1))
    after_hebrew = f"(?=[qd])(?:{behind})"
    run = f"[AH][AH{_EXTEND}]*"
    between = f"(?:[LBq]{e}|{after_hebrew}d{e}(?=H))"  # WB6, WB7, WB7b, WB7c
    letters = f"{run}(?:{between}{run})*"  # WB5
    digits = f"N[N{_EXTEND}]*"
    number = f"{digits}(?:[MBq]{e}{digits})*"  # WB8, WB11, WB12
    katakana = f"K[K{_EXTEND}]*"  # WB13
    unit = f"(?:(?:{letters}|{number})+|{katakana})"  # WB9, WB10
    join = f"X[X{_EXTEND}]*"  # WB13a, WB13b
    quote = f"{after_hebrew}q{e}"  # WB7a
    chain = f"{unit}(?:{join}{unit})*(?:{quote}|{join})?"
    plain = "A+(?=[ V])"  # most words
    return re.compile(f"{plain}|(?:{chain}|{join}(?:{chain})?){_JOINED}|{_SINGLE}")


@cache
def _character_pattern() -> re.Pattern[str]:
    return re.compile(_SINGLE)
