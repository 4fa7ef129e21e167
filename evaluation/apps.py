from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from evaluation.golden.feedback import words_in_feedback
        from evaluation.learning.votes import FeedbackVotes
        from retrieval.learned import boosting
        from retrieval.memory import forgetting

        # because retrieval does not import this app
        boosting.use(FeedbackVotes())
        forgetting.also_in(words_in_feedback)
