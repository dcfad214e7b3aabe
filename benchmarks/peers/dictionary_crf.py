"""A CRF over feature dictionaries, with adaptag or sklearn-crfsuite: whichever is asked for.

Features are those of sklearn-crfsuite's tutorial. Prints one line of JSON: seconds of `fit` and
`predict`, and the peak memory of the process before and after `fit`.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def read(path: str) -> list[list[list[str]]]:
    text = Path(path).read_text(encoding="utf-8")
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return [[line.split() for line in block.strip().split("\n")] for block in blocks]


def word_features(sentence: list[list[str]], i: int) -> dict[str, Any]:
    word, tag = sentence[i][:2]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tag,
        "postag[:2]": tag[:2],
    }
    for step in (-1, 1):
        if not 0 <= i + step < len(sentence):
            features["BOS" if step < 0 else "EOS"] = True
            continue
        near, near_tag = sentence[i + step][:2]
        features |= {
            f"{step:+d}:word.lower()": near.lower(),
            f"{step:+d}:word.istitle()": near.istitle(),
            f"{step:+d}:word.isupper()": near.isupper(),
            f"{step:+d}:postag": near_tag,
            f"{step:+d}:postag[:2]": near_tag[:2],
        }
    return features


def features(sentences: list[list[list[str]]]) -> list[list[dict[str, Any]]]:
    return [[word_features(s, i) for i in range(len(s))] for s in sentences]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main(library: str, options: str, train: str, test: str, output: str) -> None:
    if library == "adaptag":
        from adaptag import CRF
    else:
        from sklearn_crfsuite import CRF
    sentences, unseen = read(train), read(test)
    items, labels = features(sentences), [[token[2] for token in s] for s in sentences]
    unseen_items = features(unseen)
    crf = CRF(**json.loads(options))
    before = peak_mb()
    begin = time.perf_counter()
    crf.fit(items, labels)
    fitted = time.perf_counter()
    after = peak_mb()
    predicted = crf.predict(unseen_items)
    done = time.perf_counter()
    lines = [" ".join(map(str, one)) for one in predicted]
    Path(output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(
        json.dumps(
            {
                "fit_s": fitted - begin,
                "predict_s": done - fitted,
                "before_mb": before,
                "peak_mb": after,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
