"""Which groups of workers are known, so that the dashboard shows none that has ended as silent."""

from documents.jobs import heartbeat


def test_a_group_that_was_replaced_is_forgotten_and_those_of_other_hosts_are_not(db: None):
    running, ended = heartbeat.group(72), heartbeat.group(71)
    for name in (ended, running, "elsewhere:71"):
        heartbeat.beat(name)
    heartbeat.forget_ended(running)
    assert heartbeat.age(ended) is None
    assert heartbeat.age(running) is not None
    assert heartbeat.age("elsewhere:71") is not None
