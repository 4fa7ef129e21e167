"""Which passages count as which judgements, and how often."""

from evaluation.measures.matching import Judged, RankedPassage, as_run, meets, units_of

SPAN = Judged("a", "doc", 3, 100, 200)


def test_a_span_is_met_by_half_of_it_or_by_a_passage_half_inside():
    assert meets(RankedPassage("doc", 150, 400), SPAN)
    assert not meets(RankedPassage("doc", 151, 400), SPAN)
    assert meets(RankedPassage("doc", 190, 205), SPAN)  # a short passage, two thirds inside
    assert not meets(RankedPassage("doc", 195, 215), SPAN)
    assert meets(RankedPassage("doc", 0, 1000), SPAN)  # a long passage that holds all of it
    assert not meets(RankedPassage("doc", 200, 300), SPAN)
    assert not meets(RankedPassage("other", 100, 200), SPAN)


def test_documents_rank_where_their_first_passage_does_and_count_once():
    judged = [Judged("x", "x", 1), Judged("y", "y", 2)]
    passages = [RankedPassage(name, 0, 10) for name in ("z", "z", "x", "z", "x", "y")]
    units = units_of(passages, judged)
    assert [(unit.name, unit.passage) for unit in units] == [("other 0", 0), ("x", 2), ("y", 5)]


def test_with_spans_each_passage_counts_but_a_repetition_of_what_is_found_does_not():
    passages = [
        RankedPassage("doc", 0, 90),
        RankedPassage("doc", 90, 190),  # finds it
        RankedPassage("doc", 110, 210),  # and again
        RankedPassage("doc", 300, 400),
    ]
    units = units_of(passages, [SPAN])
    assert [unit.name for unit in units] == ["other 0", "a", "other 3"]


def test_a_passage_that_meets_two_judgements_is_both_the_better_one_first():
    judged = [Judged("less", "doc", 1, 0, 20), Judged("more", "doc", 3, 30, 60)]
    units = units_of([RankedPassage("doc", 0, 100)], judged)
    assert [unit.name for unit in units] == ["more", "less"]


def test_scores_keep_the_order_without_ties():
    units = units_of([RankedPassage(str(n), 0, 1) for n in range(100)], [])
    scores = as_run(units)
    assert sorted(scores, key=lambda name: -scores[name]) == [unit.name for unit in units]
    assert len(set(scores.values())) == 100
