"""The measurements, one module per task; importing it declares them all."""

from tasks import (  # noqa: F401
    algorithms,
    bio_ner,
    compact,
    conll2000,
    machine,
    pku,
    roofline,
    scaling,
    sentiment,
    tutorial,
)
