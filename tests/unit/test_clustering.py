"""Word clusters: the fast form against recounting, and the command."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from adaptag.cli.main import app
from adaptag.errors import CorpusError, ParameterError
from adaptag.features.cluster_tree import Merger, codes_of
from adaptag.features.clustering import (
    Bigrams,
    Classes,
    ClusteredWord,
    cluster_words,
    write_paths,
)
from adaptag.features.extractors import Clusters
from adaptag.features.settings import ClusterSettings
from tests.reference import clustering as reference

N_CLASSES = 5


def random_text(seed: int) -> list[list[str]]:
    """Sentences of twelve words, each with its own next words."""
    rng = np.random.default_rng(seed)
    follows = rng.dirichlet(np.full(12, 0.4), 12)
    sentences = []
    for _ in range(40):
        word, sentence = int(rng.integers(12)), []
        for _ in range(rng.integers(1, 8)):
            word = int(rng.choice(12, p=follows[word]))
            sentence.append(f"w{word}")
        sentences.append(sentence)
    return sentences


def exchanged(text: list[list[str]], cutoff: int, passes: int) -> Classes:
    bigrams = Bigrams.count(text, cutoff)
    classes = Classes(bigrams, min(N_CLASSES, len(bigrams.words)))
    for _ in range(passes):
        for word in range(len(bigrams.words)):
            classes.move(word)
    return classes


@pytest.mark.parametrize("cutoff", [1, 8])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_words_move_and_classes_merge_where_recounting_says(seed, passes, cutoff):
    text = random_text(seed)
    classes = exchanged(text, cutoff, passes)
    expected = reference.exchange(text, N_CLASSES, cutoff, passes)
    assert dict(zip(classes.text.words, classes.class_of.tolist(), strict=False)) == expected
    merger = Merger(classes.counts, classes.n_classes)
    groups = [frozenset([c]) for c in range(classes.n_classes)]
    for first, second, gain in reference.merge(text, expected):
        a, b = merger.best()
        assert {groups[a], groups[b]} == {first, second}
        assert merger.gains[a, b] == pytest.approx(gain, abs=1e-8)
        groups[a] |= groups[b]
        groups[b] = groups[-1]
        groups.pop()
        merger.merge(a, b)


def test_counts_stay_those_of_the_text():
    text = random_text(5)
    classes = exchanged(text, 3, 2)
    fresh = Classes(classes.text, classes.n_classes)
    np.testing.assert_array_equal(classes.transposed, classes.counts.T)
    np.testing.assert_allclose(classes.counts.sum(axis=1), classes.totals)
    assert classes.counts.sum() == fresh.counts.sum() == sum(map(len, text)) + len(text)


def test_codes_are_paths():
    assert codes_of(((0, 3), (2, 1)), 4) == ["00", "11", "10", "01"]
    assert codes_of(0, 1) == ["0"]


def test_words_with_the_same_neighbours_share_a_cluster(tmp_path):
    text = [f"{a} {b} {c}".split() for a in "xy" for b in ("dog", "cat") for c in "uv"] * 2
    shares = []
    words = cluster_words(text, ClusterSettings(clusters=3, cutoff=2), shares.append)
    code_of = {entry.word: entry.code for entry in words}
    assert code_of["dog"] == code_of["cat"]
    assert code_of["x"] == code_of["y"]
    assert len(set(code_of.values())) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert words == cluster_words(text, ClusterSettings(clusters=3, cutoff=2))
    write_paths(tmp_path / "paths", words)
    assert Clusters.read(tmp_path / "paths") == Clusters.learn(text, clusters=3, cutoff=2)
    assert "\tdog\t8\n" in (tmp_path / "paths").read_text()


def test_few_words():
    assert cluster_words([["a"]], ClusterSettings(cutoff=1)) == [ClusteredWord("0", "a", 1)]
    with pytest.raises(CorpusError, match="no word occurs 3 times or more"):
        cluster_words([["a", "b"]])
    with pytest.raises(ParameterError, match="clusters is 1"):
        Clusters.learn([["a"]], clusters=1)


def test_the_command(tmp_path):
    (tmp_path / "a.txt").write_text("the dog barks\nthe cat barks\n\n")
    (tmp_path / "b.txt").write_text("a dog sleeps\n")
    paths = tmp_path / "paths"
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    result = CliRunner().invoke(app, ["clusters", *files, "-o", str(paths), "--cutoff", "2"])
    assert result.exit_code == 0, result.output
    assert "3 words in 3 clusters" in result.output
    found = [line.split("\t") for line in paths.read_text().splitlines()]
    assert {(word, n) for _, word, n in found} == {("the", "2"), ("dog", "2"), ("barks", "2")}
