"""Ready models for adaptag, and their cards: data without code, licensed under CC BY-SA 4.0."""
