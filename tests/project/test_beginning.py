"""A namespace's transaction begins in one round trip, with everything it needs."""

import pytest
from django.db import OperationalError, connection, connections

from documents.models import Document, Namespace
from ragsite.database.tenancy import namespace, set_locally


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s, true)", [name])
        value: str = cursor.fetchone()[0]
        return value


def test_the_tenant_and_settings_hold_until_the_transaction_ends(tenant: Namespace):
    with namespace(tenant.pk, {"work_mem": "7MB"}):
        assert setting("ragsite.namespace") == str(tenant.pk)
        assert setting("work_mem") == "7MB"
        assert connection.in_atomic_block
    assert setting("ragsite.namespace") in ("", None)
    assert setting("work_mem") != "7MB"


def test_what_is_set_already_is_not_set_again(
    tenant: Namespace, django_assert_num_queries: pytest.FixtureRequest
):
    with namespace(tenant.pk, {"work_mem": "7MB"}):
        with django_assert_num_queries(0):
            set_locally({"work_mem": "7MB"})
        set_locally({"work_mem": "9MB"})
        assert setting("work_mem") == "9MB"


def test_a_value_that_would_have_to_be_escaped_is_refused(tenant: Namespace):
    with pytest.raises(ValueError, match="escaped"), namespace(tenant.pk, {"work_mem": "1\\'"}):
        pass
    with namespace(tenant.pk, {"application_name": "O'Neil"}):
        assert setting("application_name") == "O'Neil"


def test_an_error_rolls_back_and_leaves_the_connection_usable(tenant: Namespace):
    with pytest.raises(RuntimeError), namespace(tenant.pk):
        raise RuntimeError
    with namespace(tenant.pk):
        assert Document.objects.count() == 0


def test_a_connection_that_died_is_an_operational_error_as_elsewhere(tenant: Namespace):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    with pytest.raises(OperationalError), namespace(tenant.pk):
        pass
    connection.close()
    with namespace(tenant.pk):
        assert Document.objects.count() == 0
