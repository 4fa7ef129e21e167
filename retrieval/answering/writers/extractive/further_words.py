"""Function words of languages that `retrieval.answering.question.function_words` does not cover."""

FURTHER_FUNCTION_WORDS = {
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
# Pairs of characters, for scripts without spaces.
UNSPACED_FUNCTION_WORDS = (
    "什么 什麼 多少 哪个 哪個 哪些 哪里 哪裡 何时 何時 为什 為什 怎么 怎麼 "
    "怎样 如何 是什 是谁 谁是 哪一 几个 的是 是哪 么时 时候 的什 何で 何が "
    "何を した ます です どこ いつ だれ 誰が なぜ どの どう"
)
