"""Files and Python objects → sentences."""
