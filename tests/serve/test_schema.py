"""The service against its own OpenAPI document: whatever it allows gets an answer, never a 500."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_runs import Served

from sureline.serve.calls import Settings
from sureline.serve.requests import Limits

pytest_plugins = ["serve_fixtures"]


@pytest.fixture(scope="module")
def service(mail_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "mail.sureline"
    path.write_bytes(mail_file.read_bytes())
    served = Served(path.parent, Settings(max_body=2**16), Limits())
    yield served
    served.close()


def test_every_request_that_the_document_allows_is_answered(service, pytestconfig):
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    seen = set()
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=100 if pytestconfig.getoption("--all") else 10,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), known=st.booleans())
        def answered(case, known):
            if known and "name" in case.path_parameters:
                case.path_parameters["name"] = "mail"
            response = case.call()
            assert response.status_code < 500, response.text
            if response.status_code >= 400:
                assert response.json()["error"]
            else:
                case.validate_response(response)

        answered()
        seen.add(operation.label)
    assert "POST /v1/models/{name}/learn" in seen
    assert service.client.get("/v1/models/mail").status_code == 200
