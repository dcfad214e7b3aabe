"""jieba with its own dictionary: cut TEXT OUT."""

from __future__ import annotations

import logging
import sys

import jieba

from peers.cutting import cut_lines

if __name__ == "__main__":
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    cut_lines(*sys.argv[1:], single=lambda lines: [jieba.lcut(line) for line in lines])
