"""Django's admin, with our own frame around it (documents/operator_site.py)."""

from django.contrib.admin.apps import AdminConfig


class OperatorAdminConfig(AdminConfig):
    default_site = "documents.operator_site.OperatorSite"
