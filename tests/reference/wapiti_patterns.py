"""Wapiti's patterns, slowly: backtracking over bytes, and one string for each pattern."""

from __future__ import annotations

import re
import string

CLASSES = {
    "d": string.digits,
    "a": string.ascii_letters,
    "w": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase,
    "u": string.ascii_uppercase,
    "p": string.punctuation,
    "s": " \t\n\v\f\r",
}
MACRO = re.compile(rb'%([xXtTmM])\[([+-]?\d+),(\d+)(?:,"((?:[^"\\]|\\.)*)")?\]')


def parse(pattern):
    """The items of an expression, each a set of bytes and how often it stands, and the anchors."""
    at_start = pattern.startswith(b"^")
    rest = pattern[at_start:]
    items = []
    for atom, repeat in re.findall(rb"(\\.|[^\\])([*?]?)", rest, re.DOTALL):
        name = atom[1:].decode("latin-1") if len(atom) > 1 else ""
        if atom == b".":
            members = set(range(256))
        elif name.lower() in CLASSES:
            members = set(CLASSES[name.lower()].encode())
            members = members if name.islower() else set(range(256)) - members
        else:
            members = {atom[-1]}
        items.append((members, repeat, atom))
    at_end = bool(items) and items[-1][1:] == (b"", b"$")
    return at_start, at_end, items[: len(items) - at_end]


def search(pattern, cell):
    """The first match: its begin and its length, as Wapiti counts it; None where there is none."""
    at_start, at_end, items = parse(pattern)

    def attempt(k, place, count):
        if k == len(items):
            return not at_end or place == len(cell), count
        members, repeat, _ = items[k]

        def fits(at):
            return at < len(cell) and cell[at] in members

        if repeat == b"":
            return attempt(k + 1, place + 1, count + 1) if fits(place) else (False, count)
        if repeat == b"?":
            if fits(place):
                found, count = attempt(k + 1, place + 1, count + 1)  # what fails counts too
                if found:
                    return True, count
            return attempt(k + 1, place, count)
        while True:
            found, total = attempt(k + 1, place, count)  # what fails does not count
            if found:
                return True, total
            if not fits(place):
                return False, count
            place, count = place + 1, count + 1

    for begin in range(1 if at_start else len(cell) + 1):
        found, count = attempt(0, begin, 0)
        if found:
            return begin, count
    return None


def value(macro, pattern, cell):
    """What a macro makes of a cell."""
    if macro in b"xX":
        result = cell
    else:
        match = search(pattern, cell)
        if macro in b"tT":
            return b"true" if match else b"false"
        result = cell[match[0] : match[0] + match[1]] if match else b""
    return result.lower() if macro.isupper() else result


def observation(pattern, sentence, t):
    """The string that a pattern makes at token ``t`` of a sentence of rows of cells."""

    def fill(match):
        macro, row, column, expression = match.groups()
        place = t + int(row)
        if 0 <= place < len(sentence):
            cell = sentence[place][int(column)].encode()
        else:
            distance = -place if place < 0 else place - len(sentence) + 1
            sign = "-" if place < 0 else "+"
            cell = f"_x{sign}{distance if distance <= 4 else '#'}".encode()
        return value(macro, expression, cell)

    return MACRO.sub(fill, pattern.encode())
