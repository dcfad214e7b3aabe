"""Datasets of Ray in and out: tokens get labels, texts get words or a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptag.errors import ParameterError
from adaptag.ray.connection import node_cpus, pool_size, require_ray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptag.ray.work import Work
    from adaptag.storage.files import PathLike
    from adaptag.storage.stored import Stored

__all__ = ["classify", "cut", "tag"]

ROWS = 1024  # of a batch


def tag(
    dataset: Any,
    model: PathLike | Stored,
    *,
    tokens: str | Sequence[str] = "tokens",
    tags: str = "tags",
    legal: str | None = None,
    marginals: bool = False,
    threads: int = 1,
    workers: int | None = None,
) -> Any:
    """Tag the sentences of a dataset of Ray.

    Args:
        dataset: A ``ray.data.Dataset``.
        model: The model, or its file.
        tokens: The column of the tokens, lists of strings; or several columns, for tokens of
            several columns.
        tags: The column to add, lists of labels.
        legal: As in ``Model.tag``.
        marginals: Whether a column ``probabilities`` is added too, with that of each label.
        threads: The number of threads of each worker.
        workers: The most workers; None means as many as there are CPUs for.

    Returns:
        The dataset with the labels, to be computed when it is used.
    """
    require_ray()
    from adaptag.decoding.tagged import TagOptions
    from adaptag.ray.work import Tagging

    names = tokens if isinstance(tokens, str) else tuple(tokens)
    options = TagOptions(marginals=marginals, legal=legal)
    work = Tagging(options=options, tokens=names, tags=tags)
    return _mapped(dataset, work, model, threads, workers)


def cut(
    dataset: Any,
    model: PathLike | Stored,
    *,
    text: str = "text",
    words: str = "words",
    probabilities: bool = False,
    threads: int = 1,
    workers: int | None = None,
) -> Any:
    """Cut the texts of a dataset of Ray into words, without the white space between them.

    Args:
        dataset: A ``ray.data.Dataset``.
        model: The segmenter, or its file.
        text: The column of the texts.
        words: The column to add, lists of words.
        probabilities: Whether a column ``probabilities`` is added too, with that of each word.
        threads: The number of threads of each worker.
        workers: The most workers; None means as many as there are CPUs for.

    Returns:
        The dataset with the words, to be computed when it is used.
    """
    require_ray()
    from adaptag.ray.work import Cutting

    work = Cutting(probabilities=probabilities, text=text, words=words)
    return _mapped(dataset, work, model, threads, workers)


def classify(
    dataset: Any,
    model: PathLike | Stored,
    *,
    text: str = "text",
    label: str = "label",
    probabilities: bool = False,
    threads: int = 1,
    workers: int | None = None,
) -> Any:
    """Classify the texts of a dataset of Ray.

    Args:
        dataset: A ``ray.data.Dataset``.
        model: The classifier, or its file.
        text: The column of the texts.
        label: The column to add.
        probabilities: Whether a column ``probabilities`` is added too, with that of each class.
        threads: The number of threads of each worker.
        workers: The most workers; None means as many as there are CPUs for.

    Returns:
        The dataset with the classes, to be computed when it is used.
    """
    require_ray()
    from adaptag.ray.work import Classifying

    work = Classifying(probabilities=probabilities, text=text, label=label)
    return _mapped(dataset, work, model, threads, workers)


def _mapped(
    dataset: Any, work: Work, model: PathLike | Stored, threads: int, workers: int | None
) -> Any:
    from adaptag.ray.jobs import model_bytes
    from adaptag.storage.stored import Stored

    ray = require_ray()
    if not isinstance(dataset, ray.data.Dataset):
        raise ParameterError(f"{type(dataset).__name__}; allowed: a ray.data.Dataset")
    if not ray.is_initialized():
        ray.init()
    loaded = model if isinstance(model, Stored) else work.model_type.load(model)
    if not isinstance(loaded, work.model_type):
        raise ParameterError(f"{type(loaded).__name__}; allowed: a {work.model_type.__name__}")
    work.check(loaded)
    work.check_tables()
    most = pool_size(ray, threads)
    return dataset.map_batches(
        TableWorker,
        batch_size=ROWS,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(workers or most, most)),
        fn_constructor_kwargs={
            "work": work,
            "model": ray.put(model_bytes(model)),
            "threads": threads,
        },
        num_cpus=_reserved(ray, threads),
    )


def _reserved(ray: Any, threads: int) -> float:
    """The CPUs that a worker reserves: half of what it uses, and none where nodes have one CPU.

    What comes before in a dataset, such as reading files, needs CPUs too. If workers reserved all
    of them, they would wait for ever for their input.
    """
    return 0.5 * threads if max(node_cpus(ray)) >= 2 else 0


class TableWorker:
    """Works on Arrow tables, in a process of the cluster."""

    def __init__(self, work: Work, model: Any, threads: int) -> None:
        import ray

        self.work = work
        self.threads = threads
        self.model = work.model_type.from_bytes(ray.get(model))  # a view of shared memory

    def __call__(self, table: Any) -> Any:
        """Add columns to a table."""
        from adaptag.ray.arrow import with_columns
        from adaptag.ray.blocks import added_columns

        return with_columns(table, added_columns(self.work, self.model, table, self.threads)[0])
