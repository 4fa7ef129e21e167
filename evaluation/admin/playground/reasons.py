"""Why a candidate is not among the results, in sentences."""

SENTENCES = {
    "beyond_k": "ranked after the first k",
    "duplicate": "says the same as a better passage",
    "max_per_document": "its document has its share of passages already",
    "merged": "joined with the neighbouring passage above",
    "min_relevance": "less relevant than asked for",
    "query_syntax": "lacks the quoted phrase, or holds an excluded word",
    "token_budget": "did not fit into the context",
}


def sentence_of(code: str) -> str:
    kind, _, stage = code.partition(": ")
    if kind == "threshold":
        return f"its {stage} score is below the threshold"
    return SENTENCES.get(code, code.replace("_", " "))
