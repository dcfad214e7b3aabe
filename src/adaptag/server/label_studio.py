"""Label Studio's contract for machine-learning backends: predictions for its tasks.

Label Studio calls ``GET /health``, ``POST /setup`` with a project's labelling configuration,
``POST /predict`` with tasks, and ``POST /webhook`` after annotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from adaptag.errors import described
from adaptag.server.declarations import Anything, Body, Field, ListOf, Text
from adaptag.web.guards import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adaptag.server.models import ServedModel
    from adaptag.server.service import Service

__all__ = ["PREDICT", "SETUP", "WEBHOOK", "Labelling", "predict", "setup", "webhook"]

OBJECT = Anything("a JSON object", dict, "object")
CONFIGURATION = Text("a labelling configuration, in XML")
SETUP = Body({"schema": Field(CONFIGURATION, "The labelling configuration.")}, lenient=True)
PREDICT = Body(
    {
        "tasks": Field(ListOf(OBJECT, "a list of tasks"), "The tasks."),
        "label_config": Field(CONFIGURATION, "The labelling configuration."),
    },
    inputs=("tasks",),
    lenient=True,
    example={"tasks": [{"id": 1, "data": {"text": "2 cups chopped onions"}}]},
)
WEBHOOK = Body({"action": Field(Text(), "What has happened.")}, lenient=True)

CONTROLS = {"model": "Labels", "segmenter": "Labels", "classifier": "Choices"}
WORD = "word"  # the label of the regions of a segmenter


@dataclass(frozen=True)
class Labelling:
    """What a prediction must name, from a labelling configuration.

    Attributes:
        from_name: The control that labels: ``<Labels>`` or ``<Choices>``.
        to_name: The object that is labelled: ``<Text>``.
        field: The field of a task's data that holds the text.
        labels: The labels that there are; empty if any is allowed.
    """

    from_name: str = "label"
    to_name: str = "text"
    field: str = "text"
    labels: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: str | None, control: str) -> Labelling:
        """Read a labelling configuration; ``control`` is the kind of control that is needed."""
        if not configuration:
            return cls()
        if "<!" in configuration.replace("<!--", ""):
            raise RequestError("the labelling configuration declares entities, which is refused")
        try:
            root = ElementTree.fromstring(configuration)
        except (ElementTree.ParseError, RecursionError, ValueError) as error:
            raise RequestError(f"the labelling configuration is not XML: {error}") from None
        texts = {item.get("name"): item for item in root.iter() if item.get("value", "")[:1] == "$"}
        for item in root.iter(control):
            target = texts.get((item.get("toName") or "").split(",")[0])
            if target is not None and item.get("name"):
                allowed = (child.get("value") for child in item)
                return cls(
                    str(item.get("name")),
                    str(target.get("name")),
                    str(target.get("value"))[1:],
                    frozenset(value for value in allowed if value),
                )
        raise RequestError(
            f"the labelling configuration has no <{control}> whose toName is a <Text>"
        )

    def label(self, name: str) -> str | None:
        """The label of the configuration that a model's label stands for; None if there is none."""
        if not self.labels or name in self.labels:
            return name
        same = [label for label in self.labels if label.lower() == name.lower()]
        return same[0] if same else None


def setup(served: ServedModel, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``/setup``: check the labelling configuration, and say which model there is."""
    Labelling.read(request.get("schema"), CONTROLS[served.kind])
    return {"model_version": _version(served)}


async def predict(
    service: Service, served: ServedModel, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Answer ``/predict``: a prediction for each task."""
    labelling = Labelling.read(request.get("label_config"), CONTROLS[served.kind])
    texts = [_text(task, labelling.field, k) for k, task in enumerate(request["tasks"])]
    task = {"model": "tag", "segmenter": "segment", "classifier": "classify"}[served.kind]
    answers = await service.answer(served, task, texts, is_text=True, probabilities=True)
    results = []
    for text, answer in zip(texts, answers, strict=True):
        regions = _REGIONS[served.kind](text, answer, labelling)
        scores = [region["score"] for region in regions if "score" in region]
        prediction = {"result": regions, "model_version": _version(served)}
        if scores:
            prediction["score"] = round(sum(scores) / len(scores), 6)
        results.append(prediction)
    return {"results": results, "model_version": _version(served)}


def webhook(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``/webhook``: nothing is trained here."""
    return {
        "status": "ignored",
        "action": request.get("action"),
        "message": "this server does not train; train with adaptag train or adaptag learn, and "
        "replace the model's file: it is loaded again",
    }


def _version(served: ServedModel) -> str:
    return f"{served.name} {served.version}"


def _text(task: Mapping[str, Any], field: str, k: int) -> str:
    data = task.get("data")
    text = data.get(field) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise RequestError(
            f"tasks[{k}].data.{field} is {described(text)}; allowed: a string, as the labelling "
            "configuration says"
        )
    return text


def _tagged(text: str, answer: Mapping[str, Any], labelling: Labelling) -> list[dict[str, Any]]:
    regions = []
    for k, span in enumerate(answer["spans"]):
        label = labelling.label(span["label"])
        if label is not None:
            region = _region(labelling, k, text, span["start"], span["end"], label)
            if "probability" in span:
                region["score"] = span["probability"]
            regions.append(region)
    return regions


def _segmented(text: str, answer: Mapping[str, Any], labelling: Labelling) -> list[dict[str, Any]]:
    label = labelling.label(WORD) or min(labelling.labels)
    return [
        {**_region(labelling, k, text, start, end, label), "score": probability}
        for k, ((start, end), probability) in enumerate(
            zip(answer["offsets"], answer["probabilities"], strict=True)
        )
    ]


def _region(
    labelling: Labelling, k: int, text: str, start: int, end: int, label: str
) -> dict[str, Any]:
    return {
        "id": f"adaptag{k}",
        "from_name": labelling.from_name,
        "to_name": labelling.to_name,
        "type": "labels",
        "value": {"start": start, "end": end, "text": text[start:end], "labels": [label]},
    }


def _classified(_: str, answer: Mapping[str, Any], labelling: Labelling) -> list[dict[str, Any]]:
    label = labelling.label(answer["label"])
    if label is None:
        return []
    return [
        {
            "id": "adaptag0",
            "from_name": labelling.from_name,
            "to_name": labelling.to_name,
            "type": "choices",
            "value": {"choices": [label]},
            "score": answer["probabilities"][answer["label"]],
        }
    ]


_REGIONS = {"model": _tagged, "segmenter": _segmented, "classifier": _classified}
