"""The admin's first page: the state of the service, in figures that link to the lists behind them.

In: the operator and a period. Out: the values of templates/admin/dashboard/dashboard.html. It is in
the topmost app because it uses all of them; every figure comes from one bounded statement. May
import what `evaluation.admin` may.
"""

from typing import cast

from django.contrib import admin

from documents.accounts.operator_site import OperatorSite

from .page import dashboard

cast(OperatorSite, admin.site).dashboard = dashboard

__all__ = ["dashboard"]
