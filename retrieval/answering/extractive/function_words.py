"""Words that say how something is asked, not what about. By language, as people write them."""

FUNCTION_WORDS = {
    "en": (
        "a about after all also am an and any are as at be been before being between both but "
        "by can could did do does during each few for from had has have he her his how i if "
        "in into is it its many may me might more most much must my name named no not of on "
        "or other our s shall she should so some such t than that the their them then there "
        "these they this those through to under until up us was we were what when where which "
        "while who whom whose why will with would you your please tell explain describe give"
    ),
    "de": (
        "aber als am an auch auf aus bei bin bis bist da das dass dem den der des die dies "
        "diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer "
        "eines er es etwas fur gab gegen gibt haben hat hatte hatten ich ihr ihre im in ist "
        "jede jeder kann konnen konnte man mein mich mir mit nach nicht noch nur ob oder ohne "
        "sein seine sich sie sind so soll uber um und uns unter viel viele vom von vor wann "
        "war waren warum was welche welchem welchen welcher welches wem wen wenn wer werden "
        "wessen wie wieso wieviel wieviele will wir wird wo wofur woher wohin wodurch wurde "
        "wurden zu zum zur zwischen heisst nennt"
    ),
    "es": (
        "a al algo como con cual cuales cuando cuanta cuantas cuanto cuantos de del donde "
        "durante el ella ellas ellos en entre era eran es esa ese eso esta estaba estan este "
        "esto estos fue fueron ha habia han hasta hay la las le les lo los mas me mi mucho "
        "muchos muy no nos o para pero por porque que quien quienes se ser si sin sobre son "
        "su sus tan tanto te tiene tienen tipo tu un una unas uno unos y ya nombre llama"
    ),
    "fr": (
        "a ai au aux avec avait avaient ce cela ces cet cette combien comme comment dans de "
        "depuis des du elle elles en entre est et etait etaient ete etre eu il ils je l la le "
        "les leur leurs lui mais me mes moi mon ne nos notre nous on ont ou par pas plus pour "
        "pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son "
        "sont sur ta te tes tu un une vos votre vous y d c n t"
    ),
    "it": (
        "a ad ai al alla alle anche c che chi ci come con cosa cui d da dai dal dalla degli "
        "dei del della delle di dove e ed era erano essere fu furono gli ha hanno i il in io "
        "l la le lei lo loro lui ma mi nei nel nella non o per perche piu qual quale quali "
        "quando quanta quante quanti quanto questa queste questi questo se si sono su sua sue "
        "sui sul suo tra un una uno viene"
    ),
    "pt": (
        "a ao aos as com como da das de do dos e ela elas ele eles em entre era eram essa "
        "esse esta este eu foi foram ha isso isto ja la lhe mais mas me muito na nas nao no "
        "nos o onde os ou para pela pelo por porque qual quais quando quanta quantas quanto "
        "quantos que quem se sem ser seu sua sao sobre tem um uma voce"
    ),
    "nl": (
        "aan af al als bij daar dan dat de der deze die dit door een en er haar had heb "
        "hebben heeft het hij hoe hoeveel hun ik in is je kan kunnen maar me meer men met "
        "mijn na naar niet nog nu of om omdat ons ook op over te tot uit van veel voor waar "
        "waarom wanneer waren was wat we welk welke werd werden wie wij wil worden wordt zal "
        "ze zei zich zij zijn zo zou"
    ),
    "ru": (
        "а без был была были было в вам вас весь во вот все вы где да для до его ее если есть "
        "еще же за зачем и из или им их к как какая какие каким каких какого какое какой "
        "каком какую когда кем кого кому которая которые который кто куда ли мне мы на над не "
        "него нее нет ни них но о об он она они оно от откуда по под почему при с сколько со "
        "так также там то того тоже только том ты у уже чего чей чем чему через что чтобы эта "
        "эти это этого этой этом этот я"
    ),
    "ar": (
        "ما ماذا من متى اين أين كيف كم لماذا هل اي أي في على إلى الى عن مع هذا هذه ذلك تلك "
        "التي الذي الذين هو هي هم كان كانت كانوا يكون تكون أن ان إن لا لم لن قد ثم أو او و "
        "بين عند بعد قبل اسم"
    ),
    "pl": (
        "a ale aby by byc byl byla bylo byly ci co czy czyj dla do gdzie go i ich ile ilu im "
        "ja jak jaka jaki jakie jakich jako je jego jej jest juz kiedy kim kogo komu kto "
        "ktora ktore ktory ma na nad nie o od oraz po pod przez przy sa sie ta tak tam te "
        "tego tej ten to tu w we z za ze"
    ),
    "tr": (
        "acaba ama bir bu da de daha en gibi hangi hangisi icin ile kac kadar kim kimdir kimi "
        "kimin mi mu ne neden nedir nerede nereye nasil o olan olarak oldu olur ve veya ya "
        "zaman"
    ),
    "sv": (
        "att av blev bli de den dess det detta du ej en er ett fran for ha hade han har hon "
        "hur i inte ja jag kan med men mot nar och om pa sa sig sin som till under ut vad var "
        "varfor vem vems vid vilka vilken vilket"
    ),
}
# Pairs of characters, in scripts that put no spaces between words.
UNSPACED_FUNCTION_WORDS = (
    "什么 什麼 多少 哪个 哪個 哪些 哪里 哪裡 何时 何時 为什 為什 怎么 怎麼 "
    "怎样 如何 是什 是谁 谁是 哪一 几个 的是 是哪 么时 时候 的什 何で 何が "
    "何を した ます です どこ いつ だれ 誰が なぜ どの どう"
)
