"""The API of python-crfsuite: ``import adaptag.pycrfsuite as pycrfsuite`` is all that changes.

Models of CRFsuite are opened as they are. Training is adaptag's: see the guide for how CRFsuite's
algorithms and parameters are mapped to its own.
"""

from adaptag.pycrfsuite.errors import CRFSuiteError, LabelError, TaggerClosedError
from adaptag.pycrfsuite.items import ItemSequence
from adaptag.pycrfsuite.tagger import Tagger
from adaptag.pycrfsuite.trainer import BaseTrainer, Trainer

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "LabelError",
    "Tagger",
    "TaggerClosedError",
    "Trainer",
]

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose parameters and files these are."""
