"""``import pycrfsuite`` is ``import adaptag.pycrfsuite`` where this folder is in PYTHONPATH."""

import sys

import adaptag.pycrfsuite

sys.modules[__name__] = adaptag.pycrfsuite
