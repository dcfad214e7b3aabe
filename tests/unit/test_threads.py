"""One object used by several threads: each run is a process of its own, for it may crash."""

import os
import subprocess
import sys

CUT_WHILE_WORDS_ARE_ADDED = """
import threading
from adaptag import Segmenter

sentences = [["天气", "很", "好"], ["我", "喜欢", "北京"], ["北京", "天气", "好"]] * 20
segmenter = Segmenter.train(sentences, passes=2)
text = "我喜欢北京天气很好" * 20_000
expected = segmenter.cut(text)
segmenter.dictionary.add(["我喜欢"])
stop, results = threading.Event(), []

def cut():
    while not stop.is_set():
        results.append(segmenter.cut(text))

threads = [threading.Thread(target=cut) for _ in range(3)]
for thread in threads:
    thread.start()
for k in range(150):
    words = [f"{chr(0x5E00 + k)}{chr(0x5E00 + j)}" for j in range(1000)]
    segmenter.dictionary.add(words)
    if k % 3 == 0:
        segmenter.dictionary.remove(words)
stop.set()
for thread in threads:
    thread.join()
assert results and all("".join(words) == text for words in results)
assert len(segmenter.dictionary) == 1 + 100 * 1000, len(segmenter.dictionary)
segmenter.dictionary.remove(["我喜欢"])
assert segmenter.cut(text) == expected
print("done")
"""

LEARN_FROM_SEVERAL_THREADS = """
import threading
from adaptag import StreamTrainer

trainer = StreamTrainer("general")
failures = []

def learn(number):
    try:
        for part in range(15):
            tokens = [[f"w{number}.{part}.{i}.{t}" for t in range(8)] for i in range(20)]
            trainer.learn(tokens, [["A", "B"] * 4] * 20)
            trainer.model()
    except Exception as error:
        failures.append(error)

threads = [threading.Thread(target=learn, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
assert trainer.progress.sentences == 4 * 15 * 20, trainer.progress
assert trainer.model().tag(["x"] * 4) == ["A", "B", "A", "B"]
print("done")
"""

BUILD_ONE_INDEX_FROM_SEVERAL_THREADS = """
import threading
from adaptag._native import core
from adaptag.corpus.columns import ColumnCorpus
from adaptag.features.template import Template

template = Template.load("general", 1)
builder = core.IndexBuilder(template.program())

def add(number):
    for part in range(10):
        sentences = [[f"w{number}.{part}.{t}" for t in range(500)]]
        corpus = ColumnCorpus.from_sentences(sentences)
        builder.add_columns(corpus.text, corpus.cells, corpus.sentences)
        builder.snapshot()

threads = [threading.Thread(target=add, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
positions, predicates, _ = builder.take(tuple(2 * n + 1 for n in builder.counts))
assert len(positions) == 4 * 10 * 500 + 1
assert positions[-1] == len(predicates)
print("done")
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},  # freed tables are gone at once
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_words_are_added_while_others_cut():
    run(CUT_WHILE_WORDS_ARE_ADDED)


def test_a_stream_is_learned_from_several_threads():
    run(LEARN_FROM_SEVERAL_THREADS)


def test_one_index_is_built_from_several_threads():
    run(BUILD_ONE_INDEX_FROM_SEVERAL_THREADS)
