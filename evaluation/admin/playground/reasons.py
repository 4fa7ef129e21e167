"""Messages that say why a candidate is not among the results."""

SENTENCES = {
    "beyond_k": "ranked after the first k",
    "duplicate": "has the same content as a better passage",
    "max_per_document": "max_per_document was reached",
    "merged": "joined with the neighbouring passage above",
    "min_relevance": "below the minimum relevance",
    "query_syntax": "lacks the quoted phrase, or contains an excluded word",
    "token_budget": "did not fit into the context",
}


def sentence_of(code: str) -> str:
    kind, _, stage = code.partition(": ")
    if kind == "threshold":
        return f"its {stage} score is below the threshold"
    return SENTENCES.get(code, code.replace("_", " "))
