"""What somebody has to do now and then: forget vectors nobody asked for and workers long dead."""

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from ragsite.tenancy import namespace

from . import heartbeat
from .models import EmbeddingCache


def tidy() -> None:
    heartbeat.forget_the_dead()
    too_old = Now() - timedelta(days=settings.EMBEDDING_CACHE_DAYS)
    with connection.cursor() as cursor:
        cursor.execute("SELECT namespace_id FROM ragsite.namespace_ids()")
        tenants = [row[0] for row in cursor.fetchall()]
    for namespace_id in tenants:
        with namespace(namespace_id):
            EmbeddingCache.objects.filter(created_at__lt=too_old).delete()
