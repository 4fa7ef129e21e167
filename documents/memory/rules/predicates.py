"""Built-in rules for predicates: whether they have one value or several, and how fast facts age."""

from dataclasses import dataclass

from .names import predicate_key

# Half-lives in days by class; facts with None do not age.
DURABLE, SLOW, MEDIUM, FAST = "durable", "slow", "medium", "fast"
HALF_LIVES: dict[str, float | None] = {DURABLE: None, SLOW: 1095.0, MEDIUM: 365.0, FAST: 30.0}


@dataclass(frozen=True, slots=True)
class ValueRule:
    """`is_single`: a subject has one value at a time, so a new value closes the previous one."""

    is_single: bool
    half_life_days: float | None  # None: it does not age


def _rule(is_single: bool, age_class: str) -> ValueRule:
    return ValueRule(is_single, HALF_LIVES[age_class])


# An unknown predicate may have several values, so that nothing is closed by mistake.
UNKNOWN = _rule(False, MEDIUM)

_KNOWN: dict[tuple[bool, str], str] = {
    (True, DURABLE): "birthday, born, born in, born on, birth date, birth place, birth name, "
    "date of birth, place of birth, died, died in, died on, founded, founded in, founded on, "
    "founding date, isbn, native language, mother tongue, blood type, species, capital, "
    "serial number, invoice date, launched on, released on, release date",
    (True, SLOW): "name, first name, last name, full name, surname, gender, pronouns, nationality, "
    "married to, spouse, husband, wife, partner, lives in, address, city, country, headquarters, "
    "headquartered in, located in, location, timezone, time zone, email, phone, website, "
    "legal name, owner, owned by, parent company, industry, marital status, religion, dietary "
    "preference, diet, license, currency, color, size, weight, height, width, length, unit, model, "
    "brand, manufacturer, category, language, warranty, warranty period, preferred language",
    (True, MEDIUM): "works at, job, job title, occupation, profession, position, role, title, "
    "salary, employer, manager, reports to, ceo, cto, cfo, chair, president, director, leader, "
    "led by, department, team, age, plan, subscription, tier, price, cost, budget, revenue, "
    "population, headcount, version, latest version, rating, rank, favorite color, score, "
    "capacity, limit, deadline, due date, owner team, on call, assigned to, assignee, quantity",
    (True, FAST): "status, state, mood, feels, current task, current location, working on, stage, "
    "progress, availability, available, stock, in stock, balance, next meeting, weather, priority",
    (False, DURABLE): "parent, mother, father, child, children, son, daughter, brother, sister, "
    "sibling, studied at, graduated from, alumnus of, authored, wrote, invented, founded by, "
    "co founded, visited, won, award",
    (
        False,
        SLOW,
    ): "speaks, knows, friend of, friend, member of, owns, allergic to, allergy, skill, "
    "skilled in, pet, hobby, alias, also known as, tag, part of, has part, subsidiary, supplier, "
    "customer, certified in, dislikes",
    (
        False,
        MEDIUM,
    ): "likes, loves, prefers, enjoys, interested in, interest, uses, watches, reads, "
    "plays, follows, collaborates with, competes with, sells, offers, supports, requires, needs",
    (False, FAST): "wants, plans to, planning, attends, looking for, bought, meeting with, task, "
    "todo, reading, watching, listening to",
}
# Synonyms of known predicates.
_SYNONYMS = {
    "works at": "works for, working at, working for, employed by, employed at, employer, "
    "works with company, work place, workplace, company",
    "lives in": "lives at, living in, resides in, residence, home, home town, hometown, based in, "
    "moved to, city of residence",
    "located in": "located at, is in, lies in, situated in",
    "headquarters": "headquartered in, headquarter, hq, head office",
    "married to": "spouse, husband, wife",
    "birth date": "date of birth, born on, birthday, birthdate, dob",
    "birth place": "place of birth, born in, birthplace",
    "job title": "job, occupation, profession, works as, working as",
    "reports to": "manager, managed by, boss",
    "phone": "phone number, telephone, telephone number, mobile, mobile number",
    "email": "email address, e mail, mail address",
    "name": "named, is called, called",
    "child": "children, has child",
    "allergic to": "allergy",
    "ceo": "chief executive officer, chief executive, is led by ceo",
    "price": "costs, cost, unit price",
    "likes": "like, fond of",
    "prefers": "prefer",
    "speaks": "speaks language, language spoken",
}
# "favorite dish", "current mood", "number of seats" have one value, whatever the noun is.
_SINGLE_BEGINNINGS = ("favorite ", "current ", "preferred ", "primary ", "main ", "latest ")
_SINGLE_PATTERNS = ("number of ", "date of ", "place of ", "total ", "default ")
_SINGLE_ENDINGS = (" name", " number", " date", " id", " status", " price", " address", " title")

ALIASES: dict[str, str] = {
    predicate_key(other): known
    for known, others in _SYNONYMS.items()
    for other in others.split(", ")
    if predicate_key(other) != known
}
RULES: dict[str, ValueRule] = {
    ALIASES.get(predicate_key(name), predicate_key(name)): _rule(*kind)
    for kind, names in _KNOWN.items()
    for name in names.split(", ")
}


def default_rule(key: str) -> ValueRule:
    """Return the built-in rule of a normalised predicate."""
    if (known := RULES.get(key)) is not None:
        return known
    if key.startswith("current "):
        return _rule(True, FAST)
    if key.startswith(_SINGLE_BEGINNINGS + _SINGLE_PATTERNS) or key.endswith(_SINGLE_ENDINGS):
        return _rule(True, SLOW)
    return UNKNOWN
