"""Values as people write them, from text and to text: ``1,2``, ``none``, ``true``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from sureline.declaration import alternatives, declared
from sureline.errors import DataError, InvalidParameter
from sureline.options import Drift

NAMES: dict[Any, str] = {
    NoneType: "none",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "two numbers such as 1,2",
    Drift: "settings such as false_alarms=1e-5,memory=2 or half_life=10000",
    Mapping: 'JSON such as {"spam": 2}',
}


def parse_value(value: str, hint: Any, what: str) -> Any:
    """The value that a text means for a parameter of this type."""
    for kind in _alternatives(hint):
        try:
            return _parse(value, kind)
        except InvalidParameter:  # which says more
            raise
        except ValueError:
            continue
    raise InvalidParameter(f"{what} must be {describe_type(hint)}, got {value!r}")


def describe_type(hint: Any) -> str:
    """What a parameter may be, in words."""
    words = list[str]()
    for kind in _alternatives(hint):
        if _is_choice(kind):
            words += map(str, get_args(kind))
        else:
            words.append(NAMES.get(get_origin(kind) or kind, "a value"))
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} or {last}" if others else last


def write_value(value: Any) -> str:
    """A value as an option takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))
    if isinstance(value, dict):
        return json.dumps({str(key): weight for key, weight in value.items()})
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, Drift):
        return ",".join(f"{name}={write_value(each)}" for name, each in asdict(value).items())
    return str(value)


def read_words(path: str, option: str) -> list[str]:
    """The words of a file, one per line."""
    from pathlib import Path

    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"{option} {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{option} {path} is not UTF-8 text; convert it first") from None
    return [line.strip() for line in lines if line.strip()]


def _alternatives(hint: Any) -> list[Any]:
    """The types that a parameter may have, those first that fewer texts fit."""
    kinds = [kind for kind in alternatives(hint) if getattr(kind, "__name__", "") != "RandomState"]
    return sorted(kinds, key=lambda kind: (kind is not NoneType, not _is_choice(kind)))


def _is_choice(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _parse(value: str, kind: Any) -> Any:
    """`value` as this one type, or a ValueError."""
    if _is_choice(kind):
        for choice in get_args(kind):
            if str(choice).lower() == value.lower():
                return choice
        raise ValueError(value)
    if kind is NoneType:
        if value.lower() != "none":
            raise ValueError(value)
        return None
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    if kind in (int, float, str):
        return kind(value)
    if kind is Drift:
        return _parse_drift(value)
    if get_origin(kind) is tuple:
        low, _, high = value.partition(",")
        return int(low), int(high)
    return _parse_weights(value)


def _parse_drift(value: str) -> Drift:
    """Settings as ``name=value,name=value``."""
    options, given = declared(Drift), dict[str, Any]()
    for pair in value.split(","):
        name, equals, written = (part.strip() for part in pair.partition("="))
        if not equals:
            raise ValueError(value)
        if name not in options:
            raise InvalidParameter(f"--drift has no setting {name!r}; it has {', '.join(options)}")
        given[name] = parse_value(written, options[name].kind, f"--drift {name}")
        if not options[name].fits(given[name]):
            allowed = options[name].allowed.replace("None", "none")
            raise InvalidParameter(f"--drift {name} must be {allowed}, got {written}")
    return Drift(**given)


def _parse_weights(value: str) -> dict[str, float]:
    """A JSON object of numbers by label; labels get the type of the input's once it is known."""
    read = json.loads(value)
    if not isinstance(read, dict) or not all(type(each) in (int, float) for each in read.values()):
        raise ValueError(value)
    return {key: float(weight) for key, weight in read.items()}
