"""Every error that sureline raises on purpose; the lowest module, imported by all others."""


class SurelineError(Exception):
    """The parent of all sureline errors: catch this one to catch them all."""


class InvalidParameter(SurelineError, ValueError):
    """A parameter, or a combination of parameters, that does not exist or is out of range."""


class DataError(SurelineError, ValueError):
    """Input that cannot be learned from or predicted on: it says which row and why."""


class ModelFileError(SurelineError):
    """A model file that cannot be read or written: it says which file and why."""
