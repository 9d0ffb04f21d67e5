"""Logs are lines of JSON, whatever is in them."""

import json
import logging

from sureline.serve.logs import Lines


def test_a_line_is_json_with_its_fields_and_trace():
    try:
        raise ValueError('a "quoted"\nproblem')
    except ValueError as problem:
        info = type(problem), problem, problem.__traceback__
    record = logging.LogRecord("n", logging.ERROR, "f", 1, 'it said "%s"', ("a\nb",), info)
    record.fields = {"status": 500}
    [line] = Lines().format(record).splitlines()
    made = json.loads(line)
    assert (made["level"], made["message"], made["status"]) == ("error", 'it said "a\nb"', 500)
    assert "quoted" in made["trace"]
