from django.urls import path

from . import feedback, golden, runs

urlpatterns = [
    path("feedback", feedback.FeedbackListView.as_view(), name="feedback"),
    path("golden-sets", golden.GoldenSetListView.as_view(), name="golden-sets"),
    path("golden-sets/<uuid:pk>", golden.GoldenSetView.as_view(), name="golden-set"),
    path(
        "golden-sets/<uuid:pk>/queries", golden.GoldenQueryListView.as_view(), name="golden-queries"
    ),
    path("golden-queries/<uuid:pk>", golden.GoldenQueryView.as_view(), name="golden-query"),
    path(
        "golden-queries/<uuid:pk>/judgements",
        golden.JudgementListView.as_view(),
        name="golden-query-judgements",
    ),
    path("judgements/<uuid:pk>", golden.JudgementView.as_view(), name="judgement"),
    path("evaluations", runs.RunListView.as_view(), name="evaluations"),
    path("evaluations/compare", runs.CompareView.as_view(), name="evaluations-compare"),
    path("evaluations/<uuid:pk>", runs.RunView.as_view(), name="evaluation"),
    path("evaluations/<uuid:pk>/cancel", runs.CancelRunView.as_view(), name="evaluation-cancel"),
    path("evaluations/<uuid:pk>/queries", runs.ScoreListView.as_view(), name="evaluation-queries"),
]
