"""The web application on a real socket, and agents with keys of two tenants."""

from collections.abc import Callable, Iterator

import pytest

from documents.accounts import keys
from documents.models import Namespace
from ragsite.database.tenancy import operator

from ...client import Api
from ...project.answer_site import Site, serving
from .agent import ERAS, Agent


@pytest.fixture
def site(db: None) -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def agent_of(site: Site) -> Callable[..., Agent]:
    def create(
        tenant: Namespace, scopes: tuple[str, ...] = ("read", "write"), era: str = "auto"
    ) -> Agent:
        with operator():
            _, plain = keys.issue(tenant, scopes=scopes)
        return Agent(site.mcp_url, plain, era)

    return create


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def agent(agent_of: Callable[..., Agent], library: Api, tenant: Namespace, era: str) -> Agent:
    """In each era, for a tenant who has a library."""
    return agent_of(tenant, era=era)


@pytest.fixture
def stranger(agent_of: Callable[..., Agent], other_tenant: Namespace, era: str) -> Agent:
    return agent_of(other_tenant, era=era)
