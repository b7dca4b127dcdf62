"""Word lists of the text analysis: data only, kept apart from the code that uses them."""

from typing import Final

ENGLISH_STOP_WORDS: Final = frozenset(
    """
    a an the this that these those some any each every either neither both all such i me my mine myself we us
    our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself
    they them their theirs themselves one ones someone anyone everyone something anything everything am is are
    was were be been being do does did doing done have has had having will would shall should can could may
    might must ought need dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont wouldnt cant couldnt
    shouldnt im ive youre youve youd youll its theyre theyve theyd theyll weve were
    thats whats wheres whos hows theres heres lets and or but nor so yet if then else than as because since
    while although though unless until of in on at by to from with without within into onto upon about over
    under between among through during before after above below up down out off for against around across along
    near per via not no yes also too very just only even still again ever quite really rather almost what which
    who whom whose when where why how there here now once more most much many few less least other another same
    own please ok okay hey hi hello oh wow yeah
    """.split()
)
"""Words that carry no subject matter; contractions are listed as they are typed without the apostrophe ("dont")."""

CONVERSATION_WORDS: Final = frozenset(
    """
    remember recall tell told say said mention mentioned talk talked ask asked discuss discussed chat
    conversation previously earlier
    """.split()
)
"""English words by which a question speaks about the conversation and not about its subject."""

IRREGULAR_FORMS: Final = dict(
    pair.split(":")
    for pair in """
    went:go gone:go goes:go bought:buy brought:bring thought:think taught:teach caught:catch sought:seek
    fought:fight ate:eat eaten:eat drank:drink drunk:drink drove:drive driven:drive flew:fly flown:fly grew:grow
    grown:grow knew:know known:know threw:throw thrown:throw drew:draw drawn:draw wore:wear worn:wear tore:tear
    torn:tear swore:swear sworn:swear spoke:speak spoken:speak broke:break broken:break chose:choose
    chosen:choose froze:freeze frozen:freeze stole:steal stolen:steal woke:wake woken:wake wrote:write
    written:write rode:ride ridden:ride rose:rise risen:rise hid:hide hidden:hide bit:bite bitten:bite gave:give
    given:give took:take taken:take shook:shake shaken:shake fell:fall fallen:fall forgot:forget
    forgotten:forget got:get gotten:get sang:sing sung:sing swam:swim swum:swim began:begin begun:begin ran:run
    rang:ring sank:sink sat:sit stood:stand understood:understand won:win found:find held:hold told:tell
    sold:sell said:say paid:pay laid:lay lost:lose left:leave felt:feel kept:keep slept:sleep met:meet led:lead
    fed:feed sent:send spent:spend lent:lend built:build dealt:deal meant:mean heard:hear made:make saw:see
    seen:see came:come became:become hung:hang stuck:stick shot:shoot lit:light dug:dig slid:slide spun:spin
    struck:strike swung:swing children:child men:man women:woman feet:foot teeth:tooth mice:mouse geese:goose
    people:person wives:wife lives:life knives:knife leaves:leaf shelves:shelf better:good best:good worse:bad
    worst:bad mom:mother mum:mother dad:father kid:child kids:child photo:picture photos:picture
    """.split()
)
"""Irregular English forms and their base; a few everyday synonyms of family members and pictures."""

NUMBER_WORDS: Final = {
    word: str(value)
    for value, word in enumerate(
        """
        zero one two three four five six seven eight nine ten eleven twelve
        """.split()
    )
    if value > 1
}
"""English number words that are written as digits elsewhere; "one" is a pronoun more often."""

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
"""English month names and short forms, lower case, to 1-12."""

WEEKDAYS: Final = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    """.split()
)
"""English weekday names, which are capitalised and yet no proper names."""

QUESTION_STARTS: Final = frozenset(
    """
    what whats which who whos whom whose when where wheres why how hows do does did is isnt are arent was were
    am can could will would should shall may have has had
    """.split()
)
"""English words that open a question, apostrophes dropped."""

CHINESE_QUESTION_PHRASES: Final = tuple(
    """
    你还记得 您还记得 还记得 记不记得 请问 能不能 告诉 曾经 什么时候 为什么 什么 哪些 哪里 哪儿 哪个 哪几 哪
    怎么样 怎么 怎样 如何 多少 是谁 是否 有没有 是不是 我们 的 了 吗 呢 吧 么 呀 啊 我 你 您
    """.split()
)
"""Chinese words that make a question or only tie it together; blanked out of questions, never of memories."""

CHINESE_CONVERSATION_PHRASES: Final = tuple(
    "聊天 聊过 聊了 聊 话题 谈到 谈过 说过 提到 提过 问过 第一次对话 对话".split()
)
"""Chinese words by which a question speaks about the conversation and not about its subject."""

CHINESE_FUNCTION_CHARACTERS: Final = "的了吗呢吧么呀啊我你您他她它们是在和有这那个给就都也很与及或而之"
"""Characters that stand for function words; no terms by themselves, but parts of pairs."""

LANGUAGE_WORDS: Final = {
    "en": frozenset("the and is are was you i my to of in that it for what did with have not on".split()),
    "de": frozenset("der die das und ist ich nicht ein eine zu mit den auf was wie wir sie für im war".split()),
    "fr": frozenset("le la les et est je ne pas un une des de que qui dans pour vous nous avec du au".split()),
    "es": frozenset("el la los las y es yo no un una de que en por para con mi se del al como".split()),
    "it": frozenset("il lo la gli e è io non un una di che per con mi si del al come sono nel".split()),
    "pt": frozenset("o a os as e é eu não um uma de que em por para com meu se do da como no na".split()),
    "nl": frozenset("de het een en is ik niet van in op met dat voor wat je zijn mijn er aan te".split()),
}
"""Commonest function words of the Latin-script languages that :func:`lethe.domain.text.language` knows."""
