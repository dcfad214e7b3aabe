"""adaptag."""
