"""Model files of other programs, read as models of adaptag and written."""
