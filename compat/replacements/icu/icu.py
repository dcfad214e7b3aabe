"""The names of PyICU, which has no wheels, so that test modules that import it can be read."""


class BreakIterator:
    """Has none of PyICU's methods: the tests that need them fail."""


class Locale:
    """Likewise."""
