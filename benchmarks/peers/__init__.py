"""The peers, each behind the same two commands: `train` and `tag`."""
