"""What the pages and services of adaptag share: guards, running, page files."""
