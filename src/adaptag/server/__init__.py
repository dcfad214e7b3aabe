"""The tagging server: models behind an address."""
