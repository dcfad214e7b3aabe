"""``adaptag convert``: the model file of one program in, that of another out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from adaptag.cli.arguments import argument, option

__all__ = ["convert"]


def convert(
    model: Annotated[
        Path, argument(metavar="MODEL", help="The model: of adaptag, CRFsuite, CRF++ or Wapiti.")
    ],
    output: Annotated[Path, option("--output", "-o", help="The model file to write.")],
    to: Annotated[
        str,
        option(
            metavar="adaptag|crfsuite|crf++|wapiti",
            help="The program that the written model is for.",
        ),
    ] = "adaptag",
) -> None:
    """Convert a tagger between the model files of adaptag and of other programs.

    The first bytes of MODEL say what it is. The written model gives the same labels. That of CRF++
    is the text form, which crf_learn -C makes a binary one of.
    """
    from adaptag.cli.output import check_files
    from adaptag.decoding.model import Model
    from adaptag.errors import ParameterError, unknown
    from adaptag.foreign.files import FORMATS, write_foreign

    if to != "adaptag" and to not in FORMATS:
        raise ParameterError(f"--to: {unknown('format', to, ['adaptag', *FORMATS])}")
    check_files({"--output": output}, {"MODEL": model})
    loaded = Model.load(model)
    if to == "adaptag":
        loaded.save(output)
    else:
        write_foreign(loaded, output, to)
