"""Cutting with adaptag, timed, in a process of its own: segmentation_cut.py TEXT OUT MODEL."""

from __future__ import annotations

import sys

from peers.cutting import cut_lines

from adaptag import Segmenter

if __name__ == "__main__":
    text, output, model = sys.argv[1:]
    segmenter = Segmenter.load(model)
    cut_lines(
        text,
        output,
        single=lambda lines: [segmenter.cut(line) for line in lines],
        all=lambda lines: segmenter.cut_all(lines, threads=1),
    )
