"""Words that carry grammar rather than meaning, in the most common languages.

Used where a question's own words matter (carrying terms over, a second search, naming what is
missing), never for indexing: the index has its own rules.
"""

_LISTS = {
    "en": """
        a about above after again all also am an and any are aren as at be because been
        before being below between both but by can could couldn describe did didn do does
        doesn doing don done down during each explain few for from further get give had
        hadn happen happens has hasn have haven having he her here hers him his how i if in
        into is isn it its just know let lets like many may me might mine more most much
        must my need no nor not of off on once only or other our ours out over own please
        same shall she should shouldn so some such tell than that the their them then there
        these they this those through to too under until up us very want was wasn we were
        weren what when where whether which while who whom whose why will with won would
        wouldn you your yours
    """,
    "de": """
        aber alle als also am an auch auf aus bei bin bis bist bitte da damit dann das dass
        dein deine dem den denn der des dessen die dies diese dieser dieses doch dort du
        durch ein eine einem einen einer eines er es etwas euch für gegen gibt habe haben
        hat hatte hier ich ihm ihn ihr ihre im in ist ja jede jeder jedes kann kein keine
        können könnten lang man mehr mein meine mich mir mit muss müssen nach nicht noch
        nun nur ob oder ohne sag sagen sehr sein seine sich sie sind so soll sollte um und
        uns unser unter viel viele vom von vor wann war waren warum was welche welchem
        welchen welcher welches wem wen wenn wer werde werden wie wieder wieso wieviel will
        wir wird wo wofür woher wohin wurde wurden würde zu zum zur zwischen über
    """,
    "fr": """
        a afin ai as au aussi autre aux avait avec avez avoir avons c ce cela ces cet cette
        ceux chez combien comme comment d dans de des dire dis donc du elle elles en es est
        et eu eux faire fait faut il ils j je l la laquelle le lequel les lesquels leur
        leurs lui là m ma mais me mes moi mon même n ne nos notre nous on ont ou où par pas
        peut peuvent peux plaît plus pour pourquoi pouvez qu quand que quel quelle quelles
        quels qui quoi s sa sans se ses si sil son sont sous sur t ta te tes toi ton très
        tu un une vers vos votre vous y à étaient était été être
    """,
    "es": """
        a al algo alguna algunas alguno algunos ante antes como con cual cuales cuando
        cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo
        de debe debo del desde dime donde durante dónde e el ella ellas ellos en entre era
        es esa esas ese eso esos esta estas este esto estos está están favor fue fueron ha
        hace hacer hacia han hasta hay he la las le les lo los me mi mis muy más nada ni no
        nos nosotros o otra otro para pero poco por porque puede puedo que quien quienes
        quién quiénes qué se ser si sin sobre son su sus sí también tan te tiene tienen
        todo todos tu tus u un una unas uno unos y ya yo él
    """,
    "it": """
        a ad agli ai al alla alle allo anche che chi ci come con cosa cui da dagli dai dal
        dalla dalle dallo de degli dei del della delle dello di dove e ed era essere favore
        fu gli ha hanno ho i il in io la le lei li lo loro lui ma mi mia mio ne negli nei
        nel nella nelle nello no noi non o per perché più può qual quale quali quando
        quanta quante quanti quanto quella quello questa queste questi questo se si sia
        sono su sua sugli sui sul sulla sulle suo ti tra tu tuo un una uno vi voi è
    """,
    "pt": """
        a ao aos as até com como da das de dela dele devo dizer do dos e ela elas ele eles
        em entre era essa esse esta este está eu favor foi foram há isso isto já lhe mais
        mas me meu minha na nas no nos num não nós o onde os ou para pela pelas pelo pelos
        pode por porque posso quais qual quando quanta quantas quanto quantos que quem se
        sem ser seu seus sob sobre sua suas são também te tem um uma você vocês à às é
    """,
    "nl": """
        aan al alles als alstublieft ben bij dan dat de der deze die dit doch doen door dus
        een en er ga ge geef geen haar had heb hebben heeft hem het hier hij hoe hoeveel
        hun iets ik in is ja je jij kan kon kunnen kunt maar me mee meer men met mij mijn
        moet na naar niet nog nu of om omdat onder ons ook op over te tegen toch toen tot u
        uit uw van veel voor waar waarom wanneer want waren was wat we welk welke werd wie
        wij wil worden wordt zal ze zelf zich zij zijn zo zonder zou
    """,
    "ru": """
        а без бы был была были было быть в вам вас ваш весь во вот все всего вы где да для
        до его ее ей если есть еще ещё её ж же за здесь и из или им их к как какая какие
        какого какой какую ко когда кого кому кто куда ли либо меня мне много мной можно
        мой мы на над надо нам нас наш не него нее нет ни но ну о об один он она они оно от
        по под пожалуйста после почему при про с свой скажите сколько со так также там то
        тогда того тоже только тот ты у уже чего чей чем что чтобы чьё эта эти это этого
        этой этом этот я
    """,
}
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
_IN_ANY_LANGUAGE = frozenset[str]().union(*FUNCTION_WORDS.values())


def is_function_word(word: str, *, language: str = "") -> bool:
    """Check the given language, or all of them if it is unknown or not given."""
    return word.casefold() in FUNCTION_WORDS.get(language, _IN_ANY_LANGUAGE)
