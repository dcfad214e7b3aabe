"""Going on: from a checkpoint, bit for bit, and from a model, which grows."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import adaptag
from adaptag.cli.main import app
from adaptag.corpus.ingredients import ingredients
from adaptag.errors import ModelError, ParameterError
from adaptag.training import orders
from adaptag.training.algorithms import algorithms
from adaptag.training.checkpoint import Checkpoint

ONLINE = [name for name, one in algorithms().items() if one.online]
every = pytest.mark.parametrize("name", ONLINE)
SPLITS = ingredients(80, 0, 40)
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\n*2:%x[0,0]\nB"


def data(sentences):
    return [list(zip(s.tokens, s.labels, strict=True)) for s in sentences]


TRAIN, OTHER = data(SPLITS.train), data(SPLITS.test)


def train(*args, **given):
    given.setdefault("template", TEMPLATE)
    return adaptag.train(*args, **given)


@every
@pytest.mark.parametrize("batch", [1, 7])
def test_five_passes_and_five_more_are_ten(name, batch, tmp_path):
    kept = tmp_path / "checkpoint"
    whole = train(TRAIN, algorithm=name, passes=10, seed=3, batch=batch)
    half = train(TRAIN, algorithm=name, passes=5, seed=3, batch=batch, checkpoint=kept)
    resumed = train(TRAIN, passes=10, resume=kept)
    assert len(half.provenance["passes"]) == 5
    assert resumed.to_bytes() == whole.to_bytes()  # history and provenance too
    assert (resumed.provenance["algorithm"], resumed.provenance["seed"]) == (name, 3)


@every
def test_looking_at_development_data_changes_no_bit(name):
    plain = train(TRAIN, algorithm=name, passes=3)
    watched = train(TRAIN, algorithm=name, passes=3, dev=OTHER, patience=99)
    best = watched.provenance["best_pass"]
    again = train(TRAIN, algorithm=name, passes=best)
    assert watched.weights.tobytes() == again.weights.tobytes()
    assert [p["loss"] for p in watched.provenance["passes"]] == [
        p["loss"] for p in plain.provenance["passes"]
    ]


def test_the_best_pass_survives_a_stop(tmp_path):
    kept = tmp_path / "checkpoint"
    given = {"dev": OTHER, "patience": 99}
    whole = train(TRAIN, algorithm="perceptron", passes=12, **given)
    train(TRAIN, algorithm="perceptron", passes=6, checkpoint=kept, **given)
    resumed = train(TRAIN, passes=12, resume=kept, **given)
    assert resumed.to_bytes() == whole.to_bytes()


def test_a_checkpoint_of_a_checkpoint(tmp_path):
    kept = tmp_path / "checkpoint"
    for passes in (1, 2, 3):
        resumed = train(TRAIN, passes=passes, resume=kept, checkpoint=kept)
    assert resumed.to_bytes() == train(TRAIN, passes=3).to_bytes()


@every
@pytest.mark.parametrize("batch", [1, 7])
def test_a_pass_that_was_interrupted_is_finished(name, batch, tmp_path, monkeypatch):
    monkeypatch.setattr(orders, "SLICE_TOKENS", 1)
    kept = tmp_path / "checkpoint"

    class Interrupt(adaptag.Callback):
        seen = 0

        def on_progress(self, sentences):
            self.seen += sentences
            if self.seen > 2.5 * len(TRAIN):
                raise KeyboardInterrupt

    given = {"algorithm": name, "batch": batch, "passes": 4}
    whole = train(TRAIN, **given)
    stopped = train(TRAIN, checkpoint=kept, callbacks=[Interrupt()], **given)
    assert stopped.provenance["stopped"] == "interrupt"
    assert len(stopped.provenance["passes"]) == 2
    resumed = train(TRAIN, resume=kept)
    assert resumed.to_bytes() == whole.to_bytes()  # the loss of all parts of the pass too


def test_a_grown_model_goes_on_too(tmp_path):
    kept = tmp_path / "checkpoint"
    old = train(TRAIN, passes=2)
    whole = adaptag.train(OTHER, start=old, passes=4)
    adaptag.train(OTHER, start=old, passes=2, checkpoint=kept)
    resumed = adaptag.train(OTHER, start=old, passes=4, resume=kept)
    assert resumed.to_bytes() == whole.to_bytes()


def test_a_checkpoint_belongs_to_its_data(tmp_path):
    kept = tmp_path / "checkpoint"
    train(TRAIN, passes=1, checkpoint=kept)
    for other in (TRAIN[:-1], OTHER, [*TRAIN[1:], TRAIN[0]]):
        with pytest.raises(ParameterError, match="the checkpoint belongs to other training data"):
            train(other, passes=1, resume=kept)
    with pytest.raises(ParameterError, match="the checkpoint belongs to other training data"):
        train(TRAIN, passes=1, resume=kept, template="U0:%x[0,0]")


@pytest.mark.parametrize(
    "given", [{"algorithm": "sgd"}, {"seed": 2}, {"rate": 0.2}, {"rate": "auto"}, {"threads": 2}]
)
def test_settings_that_differ_from_the_checkpoint_are_refused(given, tmp_path):
    kept = tmp_path / "checkpoint"
    train(TRAIN, passes=1, rate=0.1, checkpoint=kept)
    (name,) = given
    with pytest.raises(ParameterError, match=f"^{name} is .*, but the checkpoint was trained with"):
        train(TRAIN, passes=2, resume=kept, **given)


def test_settings_of_the_checkpoint_may_be_given_again(tmp_path):
    kept = tmp_path / "checkpoint"
    given = {"algorithm": "adf", "rate": "auto", "seed": 3, "threads": 1, "sigma": 2}
    train(TRAIN, passes=1, checkpoint=kept, **given)
    resumed = train(TRAIN, passes=2, resume=kept, **given)
    assert resumed.to_bytes() == train(TRAIN, passes=2, **given).to_bytes()
    rate = resumed.provenance["parameters"]["rate"]
    assert train(TRAIN, passes=2, resume=kept, rate=rate).weights.tobytes()


def test_fewer_passes_than_were_made_are_refused(tmp_path):
    kept = tmp_path / "checkpoint"
    train(TRAIN, passes=3, checkpoint=kept)
    with pytest.raises(ParameterError, match="passes is 2, but the checkpoint has 3 finished"):
        train(TRAIN, passes=2, resume=kept)
    assert len(train(TRAIN, resume=kept).provenance["passes"]) == 3  # those of the checkpoint


def test_a_damaged_checkpoint_is_refused(tmp_path):
    kept = tmp_path / "checkpoint"
    train(TRAIN[:5], passes=1, checkpoint=kept)
    content = kept.read_bytes()
    for at in range(0, len(content), 97):
        kept.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        with pytest.raises(ModelError):
            Checkpoint.load(kept)
    train(TRAIN[:5], passes=1).save(kept)
    with pytest.raises(ModelError, match="holds an adaptag model; expected an adaptag checkpoint"):
        Checkpoint.load(kept)


@every
def test_a_model_grows(name):
    """The start of training from a model is that model; then it learns what is new."""
    old = train(TRAIN, algorithm=name, passes=3)
    new = [*OTHER, *[[("brand", "NEW"), ("new", "LABEL")]] * 10]
    grown = adaptag.train(new, start=old, algorithm=name, passes=20)
    assert grown.labels[: len(old.labels)] == old.labels
    assert {"NEW", "LABEL"} < set(grown.labels)
    assert grown.index.n_predicates > old.index.n_predicates
    assert grown.tag(["brand", "new"]) == ["NEW", "LABEL"]
    assert grown.provenance["start"]["sentences"] == len(TRAIN)
    assert grown.evaluate(TRAIN).accuracy > 50  # not all forgotten


def test_weights_start_where_the_model_ended():
    old = train(TRAIN, passes=5)
    seen = []

    class Watch(adaptag.Callback):
        def on_pass(self, history):
            seen.append(history[-1].loss)
            return True

    adaptag.train(TRAIN, start=old, callbacks=[Watch()])
    train(TRAIN, callbacks=[Watch()])
    assert seen[0] < old.provenance["passes"][-1]["loss"] < seen[1]


def test_a_start_that_does_not_fit_is_refused(tmp_path):
    old = train(TRAIN, passes=1)
    with pytest.raises(ParameterError, match="has its template and features already"):
        train(OTHER, start=old)
    with pytest.raises(ParameterError, match="encoded without the model to start from"):
        adaptag.train(adaptag.encode(OTHER, template=TEMPLATE), start=old)
    with pytest.raises(ParameterError, match="encoded without the model to start from"):
        adaptag.train(adaptag.encode(TRAIN), start=old)
    encoded = adaptag.encode(OTHER, start=old)
    assert adaptag.train(encoded, start=old, passes=1).index.n_predicates > 0
    path = tmp_path / "model"
    old.save(path)
    one = adaptag.train(encoded, start=path, passes=1)
    assert one.weights.tobytes() == adaptag.train(OTHER, start=old, passes=1).weights.tobytes()


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line_goes_on(tmp_path):
    text = "\n\n".join("\n".join("\t".join(t) for t in s) for s in TRAIN) + "\n"
    train_file, kept, model = (tmp_path / n for n in ("train.txt", "checkpoint", "model"))
    train_file.write_text(text)
    run("train", train_file, "-m", model, "--passes", 4)
    whole = model.read_bytes()
    run("train", train_file, "-m", model, "--passes", 2, "--checkpoint", kept)
    run("train", train_file, "-m", model, "--passes", 4, "--resume", kept)
    assert model.read_bytes() == whole
    more = tmp_path / "more.txt"
    more.write_text("brand\tNEW\nnew\tLABEL\n")
    run("train", more, "--from", model, "-m", tmp_path / "grown", "--passes", 20)
    assert adaptag.Model.load(tmp_path / "grown").tag(["brand", "new"]) == ["NEW", "LABEL"]


def test_sentences_can_be_selected():
    whole = adaptag.encode(TRAIN, template=TEMPLATE)
    chosen = np.array([5, 3, 70, 3])
    some = whole.select(chosen)
    again = adaptag.Dataset.encode(
        adaptag.api.corpus_of([TRAIN[i] for i in chosen]), whole.index, whole.label_names
    )
    assert some.index is whole.index
    assert np.array_equal(some.labels, again.labels)
    for name in ("sentences", "positions", "predicates"):
        assert np.array_equal(getattr(some.encoded, name), getattr(again.encoded, name))
    assert len(whole.select(np.array([], np.int64))) == 0
