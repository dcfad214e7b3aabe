"""Letter case and character classes are those of one Unicode version, in every build."""

import importlib.util
import re
import unicodedata
from pathlib import Path

import pytest

import adaptag
from adaptag.corpus.columns import ColumnCorpus
from adaptag.features.template import Template
from tests.reference import template as oracle
from tests.unit.making import index_of

FOLDER = Path(__file__).parents[2] / "cpp"
SPEC = importlib.util.spec_from_file_location("unicode_tables", FOLDER / "unicode_tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)

same_version = pytest.mark.skipif(
    unicodedata.unidata_version != tables.VERSION,
    reason=f"this Python has Unicode {unicodedata.unidata_version}, not {tables.VERSION}",
)
CODES = [  # all but most of the planes that are the same all through
    *range(0x21, 0x7F),
    *range(0xA1, 0xD800),
    *range(0xE000, 0x20000),
    *range(0x2A600, 0x2A800),
    *range(0x2B600, 0x2B900),
    *range(0x2CE00, 0x2D000),
    *range(0x2EB00, 0x31400),
    *range(0xE0000, 0xE0200),
    *range(0x10FF00, 0x110000),
]


@pytest.fixture(scope="module")
def transforms():
    """What the core makes of each character: {character: (lower case, shape)}."""
    characters = [c for c in map(chr, CODES) if not c.isspace() and c not in "/\ufeff"]
    template = "U:%x[0,0]/%lower[0,0]/%shape[0,0]"
    index = adaptag.encode([characters], [["A"] * len(characters)], template=template).index
    names = (index.name(k)[2:].split("/") for k in range(index.n_of_kind[0]))
    return {character: (lower, shape) for character, lower, shape in names}


def stored_ranges(name):
    text = tables.HEADER.read_text(encoding="utf-8")
    body = re.search(rf"{name}\[\] = {{(.*?)}};", text, re.DOTALL)[1]
    return [
        tuple(int(x) if x.lstrip("-").isdigit() else x.strip("'") for x in entry.split(", "))
        for entry in re.findall(r"{([^}]*)}", body)
    ]


@same_version
def test_the_header_is_what_the_script_writes():
    assert tables.HEADER.read_text(encoding="utf-8") == tables.header()


@same_version
def test_every_character_is_as_in_the_database(transforms):
    assert len(transforms) > 100_000
    for character, (lower, shape) in transforms.items():
        code = ord(character)
        assert lower == chr(code + tables.lower(code)), hex(code)
        expected = tables.shape(code)
        assert shape == (character if expected == tables.ITSELF else expected), hex(code)


def test_every_character_is_as_in_the_header(transforms):
    shapes = stored_ranges("shape_ranges")
    for (first, value), (end, _) in zip(shapes, [*shapes[1:], (0x110000, "")], strict=True):
        for code in range(first, end):
            expected = {"-": chr(code), "A": "Xx"[(code - first) % 2]}.get(value, value)
            assert transforms.get(chr(code), ("", expected))[1] == expected, hex(code)
    lowers = {
        code: offset
        for first, last, stride, offset in stored_ranges("lower_ranges")
        for code in range(first, last + 1, stride)
    }
    for character, (lower, _) in transforms.items():
        assert lower == chr(ord(character) + lowers.get(ord(character), 0)), hex(ord(character))


def test_ranges_are_in_order():
    starts = [first for first, _ in stored_ranges("shape_ranges")]
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert {value for _, value in stored_ranges("shape_ranges")} <= set("-AXxdo")
    ends = [end for first, last, *_ in stored_ranges("lower_ranges") for end in (first, last)]
    assert ends == sorted(ends)


def test_another_unicode_version_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "VERSION", "1.1.5")
    with pytest.raises(SystemExit, match=r"this Python has Unicode .*; the tables are of 1\.1\.5"):
        tables.header()


@same_version
def test_every_character_has_the_lower_case_and_shape_of_the_oracle():
    characters = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    tokens = ["-".join(characters[k : k + 128]) for k in range(0, len(characters), 128)]
    for macro, function in [("lower", oracle.lower), ("shape", oracle.shape)]:
        corpus = ColumnCorpus.from_sentences([tokens])
        index, encoded = index_of(corpus, Template(f"U%{macro}[0,0]"))
        found = [index.name(p)[1:] for p in encoded.predicates.tolist()]
        assert len(found) == len(tokens)
        wrong = [(t, f) for t, f in zip(tokens, found, strict=True) if f != function(t)]
        assert wrong[:1] == []
