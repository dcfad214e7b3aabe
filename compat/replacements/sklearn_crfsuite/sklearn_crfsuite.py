"""``import sklearn_crfsuite`` is ``import adaptag`` where this folder is in PYTHONPATH."""

import sys

import adaptag

sys.modules[__name__] = adaptag
