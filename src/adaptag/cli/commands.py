"""The commands of ``adaptag``: the module and the function of each, in the order of the help."""

from __future__ import annotations

import importlib
from collections.abc import Callable

__all__ = ["COMMANDS", "GROUPS", "TAKES", "command_of"]

GROUPS = {
    "segment": "Word segmentation: train a segmenter, cut text, score it, find new words.",
    "classify": "Classification of documents: train a classifier, classify, score.",
}
COMMANDS = {
    ("train",): "train.train",
    ("tune",): "tune.tune",
    ("tag",): "tag.tag",
    ("render",): "render.render",
    ("evaluate",): "evaluate.evaluate",
    ("compare",): "compare.compare",
    ("learn",): "learn.learn",
    ("annotate",): "annotate.annotate",
    ("inspect",): "inspect.inspect",
    ("serve",): "serve.serve",
    ("calibrate",): "calibrate.calibrate",
    ("compact",): "compact.compact",
    ("convert",): "convert.convert",
    ("encode",): "encode.encode",
    ("clusters",): "clusters.clusters",
    ("convert-labels",): "convert_labels.convert_labels",
    ("models",): "models.models",
    ("algorithms",): "algorithms.algorithms",
    ("demo",): "demo.demo",
    ("segment", "compare"): "compare.compare_segmenters",
    ("segment", "tune"): "tune.tune_segmenter",
    ("segment", "train"): "segment.train",
    ("segment", "cut"): "cut.cut",
    ("segment", "evaluate"): "segment.evaluate",
    ("segment", "new-words"): "segment.new_words",
    ("classify", "compare"): "compare.compare_classifiers",
    ("classify", "tune"): "tune.tune_classifier",
    ("classify", "train"): "classify.train",
    ("classify", "predict"): "classify.predict",
    ("classify", "evaluate"): "classify.evaluate",
}
TAKES = {  # the command that each kind of file is for
    "model": "tag",
    "segmenter": "segment cut",
    "classifier": "classify predict",
    "dataset": "train",
    "checkpoint": "train --resume",
}


def command_of(names: tuple[str, ...]) -> Callable[..., None]:
    """Import the function of a command."""
    from adaptag.cli.output import interruptible

    module, function = COMMANDS[names].split(".")
    command: Callable[..., None] = getattr(
        importlib.import_module(f"adaptag.cli.{module}"), function
    )
    return interruptible(command)
