"""The ready models beside the full models that they were made of, and jieba, on one core.

usage: taskset -c 0 python benchmarks/ready_models.py [--repeats N]

Full models are trained here in two passes, since more would change neither their size nor their
speed. All take turns on the same test texts; the best of N turns counts. jieba is measured where it
is installed. Prints a table of rates, and their ratios to the first row of each task.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import adaptag
from adaptag.segmentation.segmenter import Segmenter
from models import chinese, english
from models.corpora import cedict_words, read_conllu
from models.making import pairs_f1
from reproduction.data import data_folder

PASSES = 2


def rates(contestants, n_units, repeats):
    """The best rate of each contestant, in thousands of units per second."""
    best = {}
    for _ in range(repeats):
        for name, work in contestants.items():
            begin = time.perf_counter()
            work()
            best[name] = min(best.get(name, 1e9), time.perf_counter() - begin)
    return {name: n_units / seconds / 1e3 for name, seconds in best.items()}


def show(task, unit, found):
    first = next(iter(found.values()))
    for name, rate in found.items():
        print(f"{task:16} {name:22} {rate:10,.0f} thousand {unit}/s   {rate / first:6.2f}")


def english_pos(data, repeats):
    train, test = (
        read_conllu(data / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu")
        for part in ("train", "test")
    )
    full = adaptag.train([s.pairs for s in train], passes=PASSES, **english.FEATURES)
    small = adaptag.load("en-pos")
    tokens, texts = [list(s.words) for s in test], [s.text for s in test]
    n = sum(map(len, tokens))
    found = rates(
        {
            "full": lambda: full.tag_all(tokens, threads=1),
            "en-pos": lambda: small.tag_all(tokens, threads=1),
            "en-pos, raw text": lambda: small.tag_texts(texts, threads=1, probabilities=False),
        },
        n,
        repeats,
    )
    show("English tags", "tokens", found)


def chinese_words(data, repeats):
    train, test = (
        read_conllu(data / "ud_chinese_gsd" / f"{part}.conll") for part in ("train", "test")
    )
    words = [s.words for s in test]
    texts = ["".join(each) for each in words]
    lexicon, _ = cedict_words()
    full = Segmenter.train([s.words for s in train], **{**chinese.SETTINGS, "passes": PASSES})
    full.dictionary.add(lexicon, 1.5)
    small, pos = adaptag.load("zh-words"), adaptag.load("zh-pos")
    cut = {
        "full": lambda: full.cut_all(texts, 1),
        "zh-words": lambda: small.cut_all(texts, 1),
    }
    tag = {"zh-pos": lambda: pos.cut_pos_all(texts, 1)}
    try:
        import jieba
        from jieba import posseg
    except ImportError:
        print("jieba is not installed")
    else:
        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
        cut["jieba"] = lambda: [jieba.lcut(text) for text in texts]
        tag["jieba.posseg"] = lambda: [posseg.lcut(text) for text in texts]
        theirs = pairs_f1(
            *([[(w, "") for w in s] for s in each] for each in (cut["jieba"](), words))
        )
        print(f"F1 of words on the test data: jieba {theirs:.2f}")
    n = sum(map(len, texts))
    show("Chinese words", "characters", rates(cut, n, repeats))
    show("Chinese tags", "characters", rates(tag, n, repeats))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    english_pos(data_folder(), repeats)
    chinese_words(data_folder(), repeats)
