"""One model shared by many threads while others load, save, swap and change dictionaries.

``python -m tests.unit.sharing 600`` runs for ten minutes, prints what was done and how much memory
was used, and fails where an answer is none of a version's answers.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import adaptag

SENTENCES = [["The", "cat", "sat"], ["A", "dog", "ran", "far"], ["it", "sat"], ["far", "dogs"]]
LABELS = [
    [["D", "N", "V"], ["D", "N", "V", "A"], ["P", "V"], ["A", "N"]],
    [["X", "X", "Y"], ["X", "Y", "Y", "Y"], ["Y", "X"], ["X", "X"]],
]
WORDS = [["天天", "中国", "人民"], ["中国", "人", "民"], ["人民", "天"]]
TEXTS = ["天天中国人民", "中国人民", "人民天天", "天中国人"]
DICTIONARIES = [{}, {"国人": 900.0}, {"天中": float("inf")}, {"国人民": 900.0, "天天中": 500.0}]
THREADS = 8


class Shared:
    """What the threads share: the current models, and what each version answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taggers = [adaptag.train(SENTENCES, labels, passes=5) for labels in LABELS]
        self.tags = [[model.tag(s) for s in SENTENCES] for model in self.taggers]
        for number, model in enumerate(self.taggers):
            model.save(folder / f"tagger{number}")
            model.save(folder / "tagger")
        segmenter = adaptag.Segmenter.train(WORDS, passes=5)
        segmenter.save(folder / "segmenter")
        self.cuts = []
        for words in DICTIONARIES:
            own = adaptag.Segmenter.load(folder / "segmenter")
            own.dictionary.add(words)
            self.cuts.append([own.cut(text) for text in TEXTS])
        self.tagger, self.segmenter = self.taggers[0], segmenter
        self.lock = threading.Lock()
        self.deadline = 0.0
        self.counts = dict.fromkeys(("tag", "cut", "swap", "dictionary"), 0)
        self.wrong: list[str] = []

    def working(self) -> bool:
        return time.monotonic() < self.deadline and not self.wrong

    def count(self, name: str, n: int) -> None:
        with self.lock:
            self.counts[name] += n

    def use(self, seed: int) -> None:
        """Tag and cut, and compare with the answers of all versions."""
        rng, done = random.Random(seed), [0, 0]
        while self.working():
            i, j = rng.randrange(len(SENTENCES)), rng.randrange(len(TEXTS))
            tags = self.tagger.tag(SENTENCES[i])
            if all(tags != version[i] for version in self.tags):
                self.wrong.append(f"tags {tags} of {SENTENCES[i]}")
            table = self.tagger.tag_all(SENTENCES, threads=2)
            if table not in self.tags:
                self.wrong.append(f"tags {table}")
            words = self.segmenter.cut(TEXTS[j])
            if all(words != version[j] for version in self.cuts):
                self.wrong.append(f"words {words} of {TEXTS[j]}")
            done = [done[0] + 1 + len(SENTENCES), done[1] + 1]
            time.sleep(0.002)  # the others want the GIL, too
        self.count("tag", done[0])
        self.count("cut", done[1])

    def swap(self, seed: int) -> None:
        """Save, load and replace the models that the others use."""
        rng, done = random.Random(seed), 0
        path = self.folder / f"own{seed}"
        while self.working():
            self.taggers[rng.randrange(2)].save(self.folder / "tagger")
            self.tagger = adaptag.load(self.folder / "tagger", copy=rng.random() < 0.5)
            self.segmenter.save(path)
            adaptag.Segmenter.load(path)
            if rng.random() < 0.1:  # as ``cp new old`` does
                data = self.taggers[rng.randrange(2)].to_bytes()
                with (self.folder / "copied").open("wb") as file:
                    file.write(data)
                self.tagger = adaptag.load(self.folder / "copied")
            done += 1
        self.count("swap", done)

    def change(self, seed: int) -> None:
        """Change the dictionary of the shared segmenter, one of the versions at a time."""
        rng, done = random.Random(seed), 0
        current = self.segmenter
        while self.working():
            own = adaptag.Segmenter.load(self.folder / "segmenter")
            own.dictionary.add(DICTIONARIES[rng.randrange(len(DICTIONARIES))])
            self.segmenter = own
            word = rng.choice(["猫猫", "狗狗", "鸟鸟"])  # in no text: no answer changes
            current.dictionary.add({word: rng.random()})
            current.dictionary.remove(word)
            current = own
            done += 1
        self.count("dictionary", done)

    def run(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        targets = [self.use] * THREADS + [self.swap] + [self.change] * 2
        threads = [
            threading.Thread(target=self.guarded, args=(target, seed))
            for seed, target in enumerate(targets)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def guarded(self, target, seed: int) -> None:
        try:
            target(seed)
        except BaseException as error:
            self.wrong.append(repr(error))


def resident() -> float:
    """The memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(seconds: float) -> int:
    with tempfile.TemporaryDirectory() as folder:
        shared = Shared(Path(folder))
        begin, step = time.monotonic(), min(30.0, seconds / 4)
        for number in itertools.count(1):
            shared.run(min(step, max(0.1, begin + seconds - time.monotonic())))
            counts = ", ".join(f"{name} {n:,}" for name, n in shared.counts.items())
            print(f"{number * step:6.0f} s  {resident():6.1f} MB  {counts}", flush=True)
            if shared.wrong or time.monotonic() >= begin + seconds:
                break
        for text in shared.wrong[:5]:
            print("wrong:", text)
    return int(bool(shared.wrong))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0))
