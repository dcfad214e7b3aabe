"""The settings of learning from a stream."""

from __future__ import annotations

from dataclasses import dataclass

from adaptag.settings import Settings, setting

__all__ = ["StreamSettings"]


@dataclass(kw_only=True)
class StreamSettings(Settings):
    """The settings of training on a stream."""

    max_features: int | None = setting(
        None,
        "With a stream: ignore new features once there are this many.",
        "integer [1, 4294967295]",
        default_text="no limit",
    )
    pass_size: int | None = setting(
        None,
        "With a stream: number of sentences that count as a pass, for regularisation and the "
        "schedules of learning rates.",
        "integer [1, inf)",
        default_text="that of the model, or 10,000",
    )
