from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from evaluation.learning.votes import FeedbackVotes
        from retrieval.learned import boosting

        boosting.use(FeedbackVotes())  # because retrieval does not import this app
