"""``adaptag demo``: the whole way on a corpus that comes with the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptag.cli.arguments import option

if TYPE_CHECKING:
    from adaptag.corpus.spans import TaggedText
    from adaptag.decoding.model import Model

__all__ = ["demo"]


def demo(
    model: Annotated[Path, option("--model", "-m", help="Where to save the model.")] = Path(
        "demo.adaptag"
    ),
    passes: Annotated[int, option(min=1, help="Maximum number of passes.")] = 10,
    write: Annotated[
        Path | None,
        option(
            metavar="FOLDER",
            help="Only write the demo corpus into this folder, as column files to try the other "
            "commands on: train.txt, dev.txt and test.txt.",
        ),
    ] = None,
) -> None:
    """Train on recipe ingredient lines, score the model, tag unseen lines, save it."""
    if write is not None:
        _write_corpus(write)
        return
    from rich.console import Console

    from adaptag import api
    from adaptag.cli.show import show_texts
    from adaptag.corpus.ingredients import UNSEEN_LINES, ingredients, tokenize
    from adaptag.evaluation.table import table

    console = Console()
    splits = ingredients()
    console.print(
        f"Recipe ingredients: {len(splits.train):,} lines to train on, {len(splits.dev):,} to "
        f"choose the best pass, {len(splits.test):,} to test.\n"
    )
    sys.stdout.flush()
    trained = api.train(
        [sentence.tokens for sentence in splits.train],
        [sentence.labels for sentence in splits.train],
        dev=[list(zip(s.tokens, s.labels, strict=True)) for s in splits.dev],
        passes=passes,
        verbose=True,
    )
    tagged = trained.tag_all([sentence.tokens for sentence in splits.test])
    console.print(table(api.evaluate([s.labels for s in splits.test], tagged)))
    console.print("\n[bold]Lines that it has never seen[/], with the probability of each part:\n")
    show_texts([_tagged(trained, tokenize(line)) for line in UNSEEN_LINES], trained.scheme.types)
    trained.save(model)
    console.print(f"\nSaved to [bold]{model}[/]. Next: [bold]adaptag inspect {model}[/]")


def _write_corpus(folder: Path) -> None:
    """Write the three parts of the demo corpus as column files."""
    from adaptag.corpus.ingredients import column_text, ingredients
    from adaptag.errors import FileError
    from adaptag.storage.files import folder_to_fill, read_bytes, replace_file, shown

    splits = ingredients()
    parts = {folder / f"{name}.txt": getattr(splits, name) for name in ("train", "dev", "test")}
    texts = {path: column_text(sentences).encode() for path, sentences in parts.items()}
    for path, text in texts.items():
        if path.exists() and not (path.is_file() and read_bytes(path) == text):
            raise FileError(f"{shown(path)} exists already; choose another folder for --write")
    with folder_to_fill(folder):
        for path, text in texts.items():
            with replace_file(path) as file:
                file.write(text)
            print(f"{path}: {len(parts[path]):,} lines of recipe ingredients")
    print(f"Next: adaptag train {folder / 'train.txt'} --dev {folder / 'dev.txt'}")


def _tagged(model: Model, tokens: list[str]) -> TaggedText:
    from adaptag.corpus.tagged_texts import token_text

    segments = model.segments(tokens)
    return token_text(tokens, [(s.first, s.last, s.type, s.probability) for s in segments])
