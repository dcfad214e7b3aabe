"""The tasks that experiments are made on: the settings of each, and the command that trains it.

This module imports declarations only, so that the command line can read them quickly; what a task
does with data is in ``tasks.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptag.classification.settings import DocumentFeatures
from adaptag.corpus.settings import DocumentFormat
from adaptag.features.settings import CharacterFeatures, FeatureSettings
from adaptag.segmentation.settings import SegmenterSettings
from adaptag.training.settings import TaggingSettings, TrainingSettings

if TYPE_CHECKING:
    from adaptag.settings import Parameter, Settings

__all__ = ["CLASSIFICATION", "SEGMENTATION", "TAGGING", "TASKS", "TaskDeclaration"]


@dataclass(frozen=True)
class TaskDeclaration:
    """The name and the settings of a task.

    Attributes:
        name: The name of the task.
        command: The words of the command that trains a model for it.
        groups: The groups of settings that say what is trained: features, formats, metrics.
    """

    name: str
    command: tuple[str, ...]
    groups: tuple[type[Settings], ...]

    def declared(self) -> dict[str, Parameter]:
        """The declarations of the settings by name, without those of how training goes."""
        return {
            name: declaration
            for group in self.groups
            for name, declaration in group.declared().items()
            if name not in TrainingSettings.declared()
        }

    def searchable(self) -> dict[str, Parameter]:
        """The settings that can be searched: those that declare values to try."""
        return {name: p for name, p in self.declared().items() if p.search}


TAGGING = TaskDeclaration("tagging", ("adaptag", "train"), (FeatureSettings, TaggingSettings))
SEGMENTATION = TaskDeclaration(
    "segmentation", ("adaptag", "segment", "train"), (SegmenterSettings, CharacterFeatures)
)
CLASSIFICATION = TaskDeclaration(
    "classification", ("adaptag", "classify", "train"), (DocumentFormat, DocumentFeatures)
)
TASKS = {task.name: task for task in (TAGGING, SEGMENTATION, CLASSIFICATION)}
