"""People and their browsers, as Django's test client plays them."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from ragsite.database.tenancy import operator


@pytest.fixture
def person(db: Any) -> User:
    with operator():
        return User.objects.create_superuser("ann", password="x")


@pytest.fixture
def signed_in(client: Client, person: User) -> Client:
    with operator():
        client.force_login(person)
    return client
