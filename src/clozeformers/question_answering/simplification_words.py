"""Word lists of `simplification.py`, which travel beside a checkpoint with it."""

from __future__ import annotations

SETS = {
    name: frozenset(words.split())
    for name, words in {
        "be": "is are was were",
        "have": "has have had",
        "do": "do does did",
        "modal": "can could will would should may might must",
        "preposition": """
            about above across after against along among around as at before behind below beneath beside besides between
            beyond by despite down during following for from in inside into like near of off on onto out outside over
            past per since through throughout to toward towards under until up upon via with within without
        """,
        # Prepositions that cannot end a question, as in "What city was it discovered in?".
        "not_stranded": "before besides despite down following like off out outside past per since until up via",
        # Not a preposition in "about how many".
        "approximate": "about above around near over under",
        "adjunct_begin": """
            according after along aside at before besides beyond by despite during following for from in like on other
            outside per prior rather since throughout under unlike until upon with within
        """,
        "conjunction": "that because if while although though whether unless whereas",
        "saying": "believe believes claim claims hold holds know knows mean means say says said think thinks thought",
        # Words that are capitalized only at the beginning of a sentence, beside prepositions.
        "lower_inside": """
            the a an this that these those his her its their our my your he she it we they all another any both each
            every few many more most much one other several some there two three four
        """,
        "adverb": """
            also already always first formerly largely later mostly most never not now often once originally then
        """,
        "at_the_end": "again annually currently now there today together yearly",
        "time": """
            century centuries date dates day days decade decades era eras month months period periods season seasons
            time times week weeks weekend year years
        """,
        "time_preposition": "in on at during",
        # Nouns that form an adverbial with their preposition, which cannot be separated from them.
        "idiom": "case degree extent order point rate regard regards respect respects sense terms time times way ways",
        "agent": """
            actor actress agency architect army artist author body club commission committee companies company
            corporation council countries country emperor empire entities entity family firm government group groups
            individual individuals institution king magazine man men ministry nation organisation organisations
            organization organizations party people peoples person player pope president publisher queen singer state
            team teams tribe university woman women writer
        """,
        # Past participles by their ending that are none.
        "not_participle": "embed hundred kindred naked sacred shed sled wicked",
        # A passive with one of these, or with an auxiliary, has no simple active.
        "not_active": "be been being never not",
    }.items()
}

# Prepositions, nouns, and the question word of the same meaning.
QUESTION_WORD_OF = [
    (frozenset(before.split()), frozenset(nouns.split()), word)
    for before, nouns, word in (
        ("in on at during", "year date", "when"),
        ("in at on", "place places location locations", "where"),
        ("in by through", "way ways manner means method", "how"),
        ("for", "purpose reason reasons", "why"),
    )
]

# Irregular past participles; "participle/past tense" where the past tense differs.
_FORMS = """
bound bought broadcast brought built cast caught cut dug fed felt fought found ground held heard hit hung kept laid
led left lent lost made meant met overheard paid put read rebuilt said sent set shot shut sold sought spent split
spread struck stuck swept taught thought told understood upheld won wound beaten/beat begun/began bitten/bit
blown/blew borne/bore broken/broke chosen/chose done/did drawn/drew driven/drove eaten/ate forbidden/forbade
foreseen/foresaw forgotten/forgot frozen/froze given/gave hidden/hid known/knew overcome/overcame overrun/overran
overseen/oversaw overtaken/overtook overthrown/overthrew proven/proved rewritten/rewrote ridden/rode run/ran seen/saw
shaken/shook shown/showed spoken/spoke stolen/stole sung/sang sunk/sank taken/took thrown/threw torn/tore
undertaken/undertook withdrawn/withdrew worn/wore woven/wove written/wrote
"""
PAST_TENSES = {
    participle: past or participle for participle, _, past in (form.partition("/") for form in _FORMS.split())
}
