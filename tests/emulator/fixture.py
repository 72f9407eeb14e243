"""Fixtures for the emulators: each runs once per session, and only if a test asks for it."""

from collections.abc import Iterator

import pytest

from tests.emulator import server
from tests.emulator.place import Place, azure_place, gcs_place, local_place, s3_place


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with server.moto(tmp_path_factory.mktemp("moto")) as endpoint:
        yield s3_place(endpoint)


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("azurite")
    try:
        server.azurite_command()
    except server.UnavailableError as error:
        pytest.skip(str(error))
    with server.azurite(folder) as endpoint:
        yield azure_place(endpoint)


@pytest.fixture(scope="session")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("gcs")
    try:
        server.fake_gcs_binary()
    except server.UnavailableError as error:
        pytest.skip(str(error))
    with server.fake_gcs(folder) as endpoint:
        yield gcs_place(endpoint)


@pytest.fixture(params=["local", "s3", "azure"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Each store that the tests can write to."""
    if request.param == "local":
        return local_place(tmp_path_factory.mktemp("lake"))
    store_place: Place = request.getfixturevalue(request.param)
    return store_place


@pytest.fixture(params=["s3", "azure"])
def remote(request: pytest.FixtureRequest) -> Place:
    """Each remote store that the tests can write to."""
    store_place: Place = request.getfixturevalue(request.param)
    return store_place
