"""Real projects that use CRFsuite, run with adaptag in its place: ``make compat``."""
