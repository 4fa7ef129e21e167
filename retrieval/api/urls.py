from django.urls import path

from . import query

urlpatterns = [path("query", query.QueryView.as_view(), name="query")]
