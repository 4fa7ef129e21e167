"""Other words for a second search without a model: the words of a question that carry meaning.

A question's politeness and grammar pull its vector towards other questions. What is left of
"Could you please tell me what to do when the radio is silent?" is "radio silent".
"""

import re

# Question words, articles, pronouns, auxiliaries, prepositions; and what people wrap questions in.
_FUNCTION_WORDS = {
    "en": """a about all am an and any are as at be been being but by can could did do does doing
        done for from had has have having he her hers him his how i if in into is it its just may
        me might mine must my of on or our ours please shall she should so some tell than that the
        their them then there these they this those to under us was we were what when where whether
        which while who whom whose why will with would you your yours know explain describe give
        want need like happens happen many much let lets don doesn didn isn aren won wouldn couldn
        shouldn wasn weren hasn haven hadn""",
    "de": """aber alle als am an auch auf aus bei bin bis bist bitte da dann das dass dein deine dem
        den der des die dies diese dieser dieses doch du durch ein eine einem einen einer eines er
        es euch für gibt habe haben hat hatte ich ihr ihre im in ist ja kann können könnten man mein
        meine mich mir mit muss müssen nach nicht noch oder ob ohne sag sagen sein seine sich sie
        sind so soll sollte über um und uns unser unter viel viele vom von vor wann war waren warum
        was welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieso wieviel
        wir wird wo wofür woher wohin wurde wurden würde zu zum zur""",
    "fr": """à ai as au aux avec avez avons c ce cela ces cet cette combien comment d dans de des
        dire dis donc du elle elles en es est et étaient était être eu fait faire faut il ils j je
        l la laquelle le lequel les lesquels leur leurs lui m ma mais me mes moi mon n ne nos notre
        nous on ont ou où par pas peut peuvent peux plaît pour pourquoi pouvez qu quand que quel
        quelle quelles quels qui quoi s sa sans se ses si sil son sont sous sur t ta te tes toi ton
        tu un une vos votre vous y""",
    "es": """a al ante como cómo con cual cuál cuales cuáles cuando cuándo cuanta cuánta cuantas
        cuántas cuanto cuánto cuantos cuántos de debe debo del desde dime donde dónde e el él ella
        ellas ellos en entre era es esa ese eso esta está están este esto estos favor fue fueron ha
        hace hacer hay he la las le les lo los me mi mis muy nos o para pero por porque puede puedo
        que qué quien quién quienes quiénes se ser si sin sobre son su sus te tiene tienen tu tus u
        un una unas uno unos y ya yo""",
    "it": """a ad agli ai al alla alle che chi ci come con cosa cui da dal dalla dei del della delle
        di dove e è ed era essere favore fu gli ha hanno ho i il in io la le lo loro ma mi mio nei
        nel nella non o per perché può quale quali quando quanta quante quanti quanto quella quello
        questa questo se si sono su sua suo sul sulla ti tu tuo un una uno""",
    "pt": """a ao aos as à às com como da das de devo dizer do dos e é ela ele em era essa esse esta
        está este eu favor foi foram há isso lhe mas me meu minha na nas no nos o onde os ou para
        pela pelo pode por porque posso qual quais quando quanta quantas quanto quantos que quem se
        sem ser seu sua são tem um uma você""",
    "nl": """aan als alstublieft bij dan dat de der deze die dit doen door een en er ga geef had
        heb hebben heeft het hij hoe hoeveel hun ik in is je jij kan kunt kunnen maar me mee mij
        mijn moet naar niet of om onder ons op over te tot uit van veel voor waar waarom wanneer
        waren was wat we welk welke wie wij wil wordt worden zal ze zij zijn zo zou""",
    "ru": """а бы был была были было быть в вам вас ваш во вот вы где да для до его ее её ей если
        есть еще ещё ж же за и из или им их к как какая какие какого какой какую ко когда кого кому
        кто куда ли либо меня мне мной можно мой мы на надо нам нас наш не него нет но ну о об он
        она они оно от по под пожалуйста почему при про с свой сколько скажите со так там то тот
        тоже ты у уже чего чей чем что чтобы чьё эта эти это этот я""",
}
_WORD = re.compile(r"[^\W_](?:[\w.'’/@:+#-]*[\w+#])?")
_BEFORE = re.compile(r"\A(?:[^\W\d_]{1,2}|qu)['’](?=\w)", re.IGNORECASE)  # l'horaire, d'avion
_AFTER = re.compile(r"['’](?:s|t|d|m|ll|re|ve)\Z", re.IGNORECASE)  # radio's, what's


def second_query(question: str, language: str) -> str | None:
    """The content words of a question, as a query. None where that is nothing new, or where no
    list of function words is kept for the language (an ISO 639-1 code)."""
    function_words = _words_of(language)
    if not function_words:
        return None
    words = [_AFTER.sub("", _BEFORE.sub("", word)) for word in _WORD.findall(question)]
    kept = [word for word in words if word.casefold() not in function_words]
    if not kept or len(kept) == len(question.split()):
        return None
    return " ".join(dict.fromkeys(kept))


def _words_of(language: str) -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.get(language, "").split())
