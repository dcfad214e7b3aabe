"""Settings are declared once: checks, arguments, options and records follow from that."""

from __future__ import annotations

import dataclasses
import inspect
import math

import numpy as np
import pytest
from sklearn.base import clone

import adaptag
from adaptag.classification.documents import DocumentClassifier
from adaptag.classification.settings import DocumentFeatures
from adaptag.corpus.settings import DocumentFormat
from adaptag.errors import NotTrainedError, ParameterError
from adaptag.features.settings import CharacterFeatures, ClusterSettings, FeatureSettings
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.settings import Parameter, Settings, setting, split_options
from adaptag.streams.settings import StreamSettings
from adaptag.training.settings import TaggingSettings, TrainingSettings, parameter_names

GROUPS = [
    CharacterFeatures, ClusterSettings, DocumentFeatures, DocumentFormat, FeatureSettings,
    SegmenterSettings, StreamSettings, TaggingSettings, TrainingSettings,
]  # fmt: skip
COMMANDS = {
    ("train",): (FeatureSettings, TaggingSettings, StreamSettings),
    ("encode",): (FeatureSettings,),
    ("clusters",): (ClusterSettings,),
    ("learn",): (StreamSettings,),
    ("segment", "train"): (SegmenterSettings, CharacterFeatures, TrainingSettings),
    ("classify", "train"): (DocumentFormat, DocumentFeatures, TrainingSettings),
}
SENTENCES, LABELS = [["a", "b"], ["c"]], [["X", "Y"], ["X"]]


@pytest.mark.parametrize("group", GROUPS)
def test_defaults_are_within_their_bounds_and_have_help(group):
    group().check()
    assert group.declared()
    for name, declaration in group.declared().items():
        assert declaration.name == name
        assert declaration.help.endswith(".")
        assert declaration.help[0].isupper()
        assert declaration.shown_default
        if declaration.default is None:
            assert declaration.default_text
        for value in declaration.search:
            assert declaration.check(value) == value


@pytest.mark.parametrize(
    ("group", "values", "message"),
    [
        (FeatureSettings, {"cutoff": 0}, r"cutoff is 0; allowed: integer \[1, "),
        (FeatureSettings, {"cutoff": 1.5}, "cutoff is 1.5"),
        (FeatureSettings, {"cutoff": True}, "cutoff is True"),
        (FeatureSettings, {"cutoff": None}, "cutoff is None"),
        (FeatureSettings, {"edge_share": math.nan}, "edge_share is nan"),
        (FeatureSettings, {"rich_edges": 1}, "rich_edges is 1; allowed: True, False"),
        (FeatureSettings, {"hash_bits": 31}, "hash_bits is 31"),
        (FeatureSettings, {"hash_bits": 9, "cutoff": 2}, "cannot be combined with hash_bits"),
        (CharacterFeatures, {"fold": "x"}, "fold is 'x'; allowed: none, width, types"),
        (CharacterFeatures, {"plain_edges": True, "edge_cutoff": 2}, "cannot be combined"),
        (TrainingSettings, {"algorithm": "adv"}, "unknown algorithm 'adv'; did you mean 'adf'"),
        (TrainingSettings, {"passes": 0}, "passes is 0"),
        (TrainingSettings, {"seed": -1}, "seed is -1"),
        (TrainingSettings, {"threads": 0}, "threads is 0"),
        (TrainingSettings, {"parameters": [1]}, "parameters is "),
        (TrainingSettings, {"parameters": {"rat": 1}}, "did you mean 'rate'"),
        (TrainingSettings, {"parameters": {"rate": -1}}, "rate is -1"),
        (TaggingSettings, {"metric": "f1"}, "metric is 'f1'; allowed: auto, F1, accuracy"),
    ],
)
def test_values_outside_their_bounds(group, values, message):
    with pytest.raises(ParameterError, match=message):
        group(**values).check()


def test_whole_numbers_may_be_floats():
    assert FeatureSettings(cutoff=2.0).check().cutoff == 2
    assert isinstance(FeatureSettings(cutoff=2.0).check().cutoff, int)


def test_numbers_of_numpy_become_plain_numbers():
    given = {"cutoff": np.float32(2), "edge_cutoff": np.int64(3), "edge_share": np.half(0.5)}
    record = FeatureSettings(**given).check().record()
    assert {name: repr(record[name]) for name in given} == {
        "cutoff": "2",
        "edge_cutoff": "3",
        "edge_share": "0.5",
    }


def test_a_misspelt_argument_is_found_among_all_names():
    for name, meant in [("pases", "passes"), ("cutof", "cutoff"), ("sigm", "sigma")]:
        with pytest.raises(ParameterError, match=f"unknown argument '{name}'; .*'{meant}'"):
            adaptag.train(SENTENCES, LABELS, **{name: 3})
    with pytest.raises(ParameterError, match="'rare_weigt'; did you mean 'rare_weight'"):
        adaptag.Segmenter.train([["天"]], rare_weigt=1)
    with pytest.raises(ParameterError, match="'normalize'; did you mean 'normalise'"):
        DocumentClassifier.train(["a"], ["x"], normalize=True)


def test_signatures_show_every_setting():
    shown = inspect.signature(adaptag.train).parameters
    for group in (FeatureSettings, TaggingSettings):
        for name, declaration in group.declared().items():
            assert shown[name].default == declaration.default
    assert {"data", "labels", "dev", "callbacks"} <= set(shown)


@pytest.mark.parametrize("kind", [adaptag.CRF, adaptag.MaxEntClassifier, adaptag.Segmenter])
def test_estimators_have_the_settings_as_arguments(kind):
    estimator = kind()
    names = set(estimator.get_params())
    assert {"algorithm", "passes", "patience", "converge", "threads", "verbose"} <= names
    assert ("seed" in names) != ("random_state" in names)
    assert estimator.set_params(passes=7).passes == 7
    assert clone(estimator).passes == 7
    assert estimator == estimator
    assert estimator != kind()
    assert hash(estimator) != hash(kind())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_have_an_option_for_every_setting(command, program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    shown = " ".join(program(*command, "--help").out.split())
    for group in COMMANDS[command]:
        for name, declaration in group.declared().items():
            if declaration.option:
                option = declaration.flag.split("/")[0] or f"--{name.replace('_', '-')}"
                assert option in shown, option
                assert " ".join(declaration.help.split())[:30] in shown


def test_a_new_setting_needs_only_its_declaration():
    @dataclasses.dataclass(kw_only=True)
    class More(FeatureSettings):
        depth: int = setting(2, "How deep to look.", "integer [0, 9]", search=(1, 2))

    assert isinstance(More.declared()["depth"], Parameter)
    assert More(depth=3).check().record()["depth"] == 3
    assert More(depth=3).given() == {"depth": 3}
    with pytest.raises(ParameterError, match="depth is 10"):
        More(depth=10).check()
    more, rest = split_options({"depth": 1, "rate": 2}, More, also=parameter_names())
    assert (more, rest) == ({"depth": 1}, {"rate": 2})
    assert isinstance(More(), Settings)


def test_records_are_what_a_model_keeps():
    model = adaptag.train(SENTENCES, LABELS, passes=2, cutoff=1, sigma=2.0, seed=4)
    assert model.provenance["feature_settings"] == FeatureSettings().record()
    kept = model.provenance["training_settings"]
    assert (kept["patience"], kept["metric"]) == (5, "auto")
    assert (model.provenance["seed"], model.provenance["parameters"]["sigma"]) == (4, 2.0)
    assert adaptag.Model.from_bytes(model.to_bytes()).provenance == model.provenance


def test_verbose_writes_one_line_per_pass(capsys):
    dev = [[("a", "X"), ("b", "Y")]]
    adaptag.train(SENTENCES, LABELS, passes=2, dev=dev, verbose=True, rate=0.1)
    *lines, last = capsys.readouterr().err.splitlines()
    assert [line.split()[:2] for line in lines] == [["pass", "1"], ["pass", "2"]]
    assert last.startswith("best dev accuracy ")
    assert all("dev accuracy" in line for line in lines)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(adaptag.Segmenter(), "model_"), (adaptag.CRF(), "model_"), (adaptag.CRF(), "classes_"),
     (adaptag.MaxEntClassifier(), "coef_")],
)  # fmt: skip
def test_what_only_training_gives_is_an_attribute_error(estimator, name):
    assert not hasattr(estimator, name)
    with pytest.raises(AttributeError):
        getattr(estimator, name)


def test_an_untrained_segmenter_says_so():
    with pytest.raises(NotTrainedError, match="not trained yet: call fit"):
        adaptag.Segmenter().cut("天")
    with pytest.raises(NotTrainedError, match="the stream has not begun"):
        adaptag.StreamTrainer().model()
