"""The tutorial of sklearn-crfsuite, CoNLL-2002 named entities, with its import or adaptag's.

usage: python -m peers.tutorial sklearn_crfsuite|adaptag tutorial|defaults TRAIN TEST

Below the imports all is the same for both; `defaults` are those of `CRF()`, instead of the
tutorial's arguments. Prints one line of JSON: seconds of `fit` and `predict`, the peak memory of
the process after `fit`, and the weighted F1 of the tutorial.
"""

from __future__ import annotations

import json
import sys
import time

from peers.dictionary_crf import features, peak_mb, read

if sys.argv[1] == "adaptag":
    import adaptag as sklearn_crfsuite
    from adaptag import metrics
else:
    import sklearn_crfsuite
    from sklearn_crfsuite import metrics


ARGUMENTS = {
    "tutorial": {
        "algorithm": "lbfgs",
        "c1": 0.1,
        "c2": 0.1,
        "max_iterations": 100,
        "all_possible_transitions": True,
    },
    "defaults": {"random_state": 0},
}


def main(arguments: str, train: str, test: str) -> None:
    train_sents, test_sents = read(train), read(test)
    X_train, y_train = features(train_sents), [[t[2] for t in s] for s in train_sents]  # noqa: N806
    X_test, y_test = features(test_sents), [[t[2] for t in s] for s in test_sents]  # noqa: N806
    crf = sklearn_crfsuite.CRF(**ARGUMENTS[arguments])
    begin = time.perf_counter()
    crf.fit(X_train, y_train)
    fitted = time.perf_counter()
    peak = peak_mb()
    y_pred = crf.predict(X_test)
    done = time.perf_counter()
    labels = list(crf.classes_)
    labels.remove("O")
    f1 = metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels)
    figures = {"fit_s": fitted - begin, "predict_s": done - fitted, "peak_mb": peak, "f": 100 * f1}
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[2:])
