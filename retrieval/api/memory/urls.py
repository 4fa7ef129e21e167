from django.urls import path

from . import naming, proposals, views

urlpatterns = [
    path("facts/search", views.FactSearchView.as_view(), name="facts-search"),
    path("facts/history", views.HistoryView.as_view(), name="facts-history"),
    path("facts/erase", views.EraseView.as_view(), name="facts-erase"),
    path("facts/propose", proposals.ProposeView.as_view(), name="facts-propose"),
    path("facts/<uuid:pk>", views.FactView.as_view(), name="fact"),
    path("facts/<uuid:pk>/retract", views.RetractView.as_view(), name="fact-retract"),
    path("facts/<uuid:pk>/confirm", views.ConfirmView.as_view(), name="fact-confirm"),
    path("facts/<uuid:pk>/approve", views.ApproveView.as_view(), name="fact-approve"),
    path("facts/<uuid:pk>/reject", views.RejectView.as_view(), name="fact-reject"),
    path("fact-rules", naming.RuleListView.as_view(), name="fact-rules"),
    path("fact-rules/<uuid:pk>", naming.RuleView.as_view(), name="fact-rule"),
    path("fact-aliases", naming.AliasListView.as_view(), name="fact-aliases"),
    path("fact-aliases/<uuid:pk>", naming.AliasView.as_view(), name="fact-alias"),
    path("fact-erasures", naming.ErasureListView.as_view(), name="fact-erasures"),
]
