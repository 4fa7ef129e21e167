"""Django's admin with our own site class (documents/accounts/operator_site.py)."""

from django.contrib.admin.apps import AdminConfig


class OperatorAdminConfig(AdminConfig):
    default_site = "documents.accounts.operator_site.OperatorSite"
