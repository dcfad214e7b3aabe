"""What the commands that compare and tune share: the options of their tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from adaptag.cli.options import (
    CommentOption,
    DocstartOption,
    FormatOption,
    SeparatorOption,
    file_format,
)
from adaptag.cli.settings import with_parameters_of, with_settings
from adaptag.experiments.declarations import TAGGING
from adaptag.training.settings import TrainingSettings

if TYPE_CHECKING:
    from adaptag.experiments.declarations import TaskDeclaration
    from adaptag.experiments.tasks import Task

__all__ = ["make_task", "with_task"]


def column_files(
    format: FormatOption = "auto",  # noqa: A002
    separator: SeparatorOption = "auto",
    comment: CommentOption = "",
    skip_docstart: DocstartOption = False,
) -> Any:
    """The options of tagging on how files are written."""
    return file_format(format, separator, comment, skip_docstart)


FILE_OPTIONS = ("format", "separator", "comment", "skip_docstart")


def with_task(
    task: TaskDeclaration, *, training: Iterable[str], without: Iterable[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a task.

    Args:
        task: The task.
        training: Names of settings of training that the command has options for.
        without: Names of settings of the task that it has none for.
    """
    left_out = {*TrainingSettings.declared(), *without} - set(training)
    settings = with_settings(*task.groups, TrainingSettings, without=left_out)
    if task is not TAGGING:
        return settings
    files = with_parameters_of(column_files)
    return lambda command: files(settings(command))


def make_task(task: TaskDeclaration, options: Mapping[str, Any]) -> Task:
    """The task with those of its settings that were given as options."""
    from adaptag.experiments.tasks import task_of

    given = {name: options[name] for name in task.declared() if name in options}
    if task is TAGGING:
        given["format"] = column_files(**{name: options[name] for name in FILE_OPTIONS})
    return task_of(task.name, given)
