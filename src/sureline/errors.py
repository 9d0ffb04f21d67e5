"""Every error that sureline raises on purpose; the lowest module, imported by all others."""


class SurelineError(Exception):
    """The parent of all sureline errors: catch this one to catch them all."""


class InvalidParameter(SurelineError, ValueError):
    """A parameter, or a combination of parameters, that does not exist or is out of range."""


class DataError(SurelineError, ValueError):
    """Input that cannot be learned from or predicted on: it says which row and why."""


class ModelFileError(SurelineError):
    """A model file that cannot be read or written: it says which file and why."""


def show(value: object) -> str:
    """A value as messages show it: its `repr`, but a NumPy number or string as Python's."""
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, set) and value:
        return f"{{{', '.join(map(show, value))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(show, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{show(key)}: {show(value[key])}' for key in value)}}}"
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return repr(str(value)) if isinstance(value, str) else str(value)
    return repr(value)
