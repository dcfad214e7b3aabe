"""rjieba with its own dictionary: cut TEXT OUT."""

from __future__ import annotations

import sys

import rjieba

from peers.cutting import cut_lines

if __name__ == "__main__":
    rjieba.cut("")  # loads the dictionary
    cut_lines(*sys.argv[1:], single=lambda lines: [rjieba.cut(line) for line in lines])
