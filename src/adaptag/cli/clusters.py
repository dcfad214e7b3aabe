"""``adaptag clusters``: raw text in, word clusters out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adaptag.cli.arguments import argument, option
from adaptag.cli.options import EncodingOption
from adaptag.cli.output import say
from adaptag.cli.settings import with_settings
from adaptag.errors import counted
from adaptag.features.settings import ClusterSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["clusters"]


@with_settings(ClusterSettings)
def clusters(
    text: Annotated[
        list[Path],
        argument(
            metavar="TEXT…",
            help="Raw text (.gz, .xz; - for stdin): a sentence per line, its tokens separated by "
            "white space.",
        ),
    ],
    output: Annotated[Path, option("--output", "-o", help="The file of clusters to write.")],
    encoding: EncodingOption = None,
    **options: Any,
) -> None:
    """Put the words of raw text into clusters of words with similar neighbours.

    These are the bigram classes of Brown et al. (1992). Each cluster has a binary code; clusters
    whose codes begin alike are similar. The file has lines of code, word and count, separated by
    tabs, as other programs for Brown clusters write them.
    """
    from adaptag.cli.output import check_files
    from adaptag.cli.progress import share_bar
    from adaptag.features.clustering import cluster_words, write_paths

    settings = ClusterSettings(**options).check()
    check_files({"--output": output}, {f"TEXT {k}": path for k, path in enumerate(text, 1)})
    with share_bar("clustering") as bar:
        task, reached = bar.add_task("", total=1.0), 0.0

        def report(share: float) -> None:
            nonlocal reached
            bar.advance(task, share - reached)
            reached = share

        words = cluster_words(_sentences(text, encoding), settings, report)
    write_paths(output, words)
    n_clusters = len({entry.code for entry in words})
    say(f"{output}: {counted(len(words), 'word')} in {counted(n_clusters, 'cluster')}")


def _sentences(paths: list[Path], encoding: str | None) -> Iterator[list[str]]:
    from adaptag.corpus.text import read_lines
    from adaptag.storage.encodings import with_encoding

    for path in paths:
        for lines in read_lines(with_encoding(path, encoding)):
            yield from (tokens for line in lines if (tokens := line.split()))
