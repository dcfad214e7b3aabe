from __future__ import annotations

import numpy as np
import pytest

from adaptag.corpus.chunks import ChunkScheme
from adaptag.errors import ParameterError


def chunks(*sentences: str) -> list[tuple[int, int, str]]:
    labels = " ".join(sentences).split()
    scheme = ChunkScheme(sorted({*labels, "O", "B-X"}))
    ids = np.array([scheme.labels.index(label) for label in labels], dtype=np.int32)
    offsets = np.cumsum([0, *(len(sentence.split()) for sentence in sentences)])
    return [(i, j, scheme.types[t]) for i, j, t in scheme.spans(ids, offsets).tolist()]


@pytest.mark.parametrize(
    ("labels", "chunked"),
    [
        (["O", "B-NP", "I-NP"], True),
        (["B", "M", "E", "S"], True),
        (["O", "B-X", "I-X", "L-X", "U-X"], True),
        (["I-NP"], True),
        (["O", "B-a-b", "I-"], True),
        (["O"], False),
        ([], False),
        (["NN", "VB", "O"], False),
        (["O", "B-NP", "IN"], False),
        (["O-X", "B-X"], False),
        (["O", "b-X"], False),
        (["-X", "B-X"], False),
    ],
)
def test_labels_are_chunked_if_all_have_a_chunk_prefix(labels, chunked):
    assert ChunkScheme(labels).chunked is chunked


def test_types_are_what_follows_the_first_hyphen():
    scheme = ChunkScheme(["I-b", "O", "B-a-c", "S", "B-b", "O"])
    assert scheme.types == ("", "a-c", "b")
    assert scheme.type_of.tolist() == [2, -1, 1, 0, 2, -1]
    assert scheme.type_of.dtype == np.int32


def test_labels_that_are_not_chunked_have_no_chunks():
    scheme = ChunkScheme(["NN", "B-X", "O"])
    assert scheme.types == ()
    assert scheme.type_of.tolist() == [-1, -1, -1]
    assert not scheme.starts.any()
    assert not scheme.ends.any()
    assert scheme.spans(np.array([0, 1, 2]), np.array([0, 3])).shape == (0, 3)


# The pairs of one type where a chunk goes on are few; a new one starts everywhere else.
@pytest.mark.parametrize("previous", "BIESO")
@pytest.mark.parametrize("current", "BIESO")
def test_starts_and_ends_of_one_type(previous, current):
    labels = ["O", "B-X", "I-X", "E-X", "S-X"]
    scheme = ChunkScheme(labels)
    p, c = (next(i for i, x in enumerate(labels) if x[0] == y) for y in (previous, current))
    goes_on = previous + current in {"BI", "BE", "II", "IE"}
    assert scheme.starts[p, c] == (current != "O" and not goes_on)
    assert scheme.ends[p, c] == (previous != "O" and not goes_on)


def test_another_type_starts_another_chunk():
    scheme = ChunkScheme(["B-X", "I-Y"])
    assert scheme.starts[0, 1]
    assert scheme.ends[0, 1]


def test_outside_of_the_sentence_acts_like_o():
    scheme = ChunkScheme(["B-X", "I-X", "E-X", "S-X", "O"])
    for matrix in (scheme.starts, scheme.ends):
        assert matrix.shape == (6, 6)
        assert (matrix[5] == matrix[4]).all()
        assert (matrix[:, 5] == matrix[:, 4]).all()


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I-X I-X O I-X B-X", [(0, 2, "X"), (3, 4, "X"), (4, 5, "X")]),  # IOB1
        ("B-X I-X B-X O B-Y", [(0, 2, "X"), (2, 3, "X"), (4, 5, "Y")]),  # IOB2
        ("I-X E-X I-X I-Y O", [(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")]),  # IOE1
        ("I-X E-X E-X E-Y O", [(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")]),  # IOE2
        ("B-X E-X S-X B-X I-X E-X", [(0, 2, "X"), (2, 3, "X"), (3, 6, "X")]),  # BIOES
        ("B-X L-X U-X B-X I-X L-X", [(0, 2, "X"), (2, 3, "X"), (3, 6, "X")]),  # BILOU
        ("B E S B M M E", [(0, 2, ""), (2, 3, ""), (3, 7, "")]),  # BMES
        (
            "O I-X E-Y S-Y I-Y O E-X",
            [(1, 2, "X"), (2, 3, "Y"), (3, 4, "Y"), (4, 5, "Y"), (6, 7, "X")],
        ),
        ("O O", []),
        ("", []),
    ],
)
def test_spans(sentence, expected):
    assert chunks(sentence) == expected


def test_spans_stop_at_the_end_of_the_sentence():
    assert chunks("", "O B-X", "", "I-X I-X", "I-X", "") == [(1, 2, "X"), (2, 4, "X"), (4, 5, "X")]


def test_spans_are_int64():
    assert ChunkScheme(["B"]).spans(np.zeros(3, np.int32), np.array([0, 3])).dtype == np.int64


def follows(scheme: ChunkScheme, name: str) -> dict[str, str]:
    """Which labels may follow each; ``<`` and ``>`` are the start and the end of the sentence."""
    legal = scheme.legal(name)
    columns = np.array([*scheme.labels, ">"])
    return {p: " ".join(columns[row]) for p, row in zip([*scheme.labels, "<"], legal, strict=True)}


def test_legal_bio():
    assert follows(ChunkScheme(["O", "B-X", "I-X", "B-Y", "I-Y"]), "iob2") == {
        "O": "O B-X B-Y >",
        "B-X": "O B-X I-X B-Y >",
        "I-X": "O B-X I-X B-Y >",
        "B-Y": "O B-X B-Y I-Y >",
        "I-Y": "O B-X B-Y I-Y >",
        "<": "O B-X B-Y >",
    }


@pytest.mark.parametrize("roles", ["BIES", "BILU", "BMES"])
def test_legal_bioes(roles):
    b, i, e, s = (f"{role}-X" for role in roles)
    assert follows(ChunkScheme(["O", b, i, e, s, "S-Y", "I-Y"]), "bioes") == {
        "O": f"O {b} {s} S-Y >",
        b: f"{i} {e}",
        i: f"{i} {e}",
        e: f"O {b} {s} S-Y >",
        s: f"O {b} {s} S-Y >",
        "S-Y": f"O {b} {s} S-Y >",
        "I-Y": "I-Y",
        "<": f"O {b} {s} S-Y >",
    }


@pytest.mark.parametrize(
    ("labels", "scheme", "message"),
    [
        (["O", "B-X"], "bioe", "unknown label scheme 'bioe'; did you mean 'bioes'"),
        (["O", "B-X", "E-X"], "iob2", "label 'E-X' .* 'iob2'; allowed: O .* B, I, M"),
        (["O", "U-X"], "iob2", "label 'U-X'"),
        (["O", "B-X", "I-X"], "bioes", "no label has a prefix E or S"),
        (["O", "B-X", "S-X"], "ioe2", "label 'B-X' .* 'ioe2'; allowed: O .* I, E, L, M"),
        (["NN", "VB"], "bioes", "the labels mark no chunks"),
    ],
)
def test_legal_says_what_does_not_fit(labels, scheme, message):
    with pytest.raises(ParameterError, match=message):
        ChunkScheme(labels).legal(scheme)
