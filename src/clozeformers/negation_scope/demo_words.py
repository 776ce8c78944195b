"""The vocabulary of the generated corpus (`demo_corpus`): everyday words of six settings.

In the lists, ``|`` separates entries. A dot marks off the negative affix of an adjective: ``un.happy``, ``care.less``.
"""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """What people and things of one setting are called, do and are like.

    Attributes:
        person: noun phrases for one person, with a determiner; ``people`` for several.
        thing: the same for things, ``things`` for several.
        acts: (verb, complements) for persons; ``thing_acts`` for things.
        person_adjectives: predicates; ``person_affixed`` those with a negative affix; the same for things.
        owned: what a person may have none of, fit to stand after "no" or "any".
        present: the same for a place or a record; ``places`` are adverbials.

    """

    person: tuple[str, ...]
    people: tuple[str, ...]
    thing: tuple[str, ...]
    things: tuple[str, ...]
    acts: tuple[tuple[str, tuple[str, ...]], ...]
    thing_acts: tuple[tuple[str, tuple[str, ...]], ...]
    person_adjectives: tuple[str, ...]
    thing_adjectives: tuple[str, ...]
    person_affixed: tuple[str, ...]
    thing_affixed: tuple[str, ...]
    owned: tuple[str, ...]
    present: tuple[str, ...]
    places: tuple[str, ...]


def _list(entries: str) -> tuple[str, ...]:
    return tuple(" ".join(entry.split()) for entry in entries.split("|"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _acts(lines: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One verb a line, before a colon, then its complements."""
    pairs = (line.partition(":") for line in lines.strip().splitlines())
    return tuple((verb.strip(), _list(complements)) for verb, _, complements in pairs)


CLINIC = Setting(
    person=_list(
        "the patient|the nurse|the doctor|the surgeon|the physician|the child|the woman|the man|the mother|her father|"
        "the boy|the baby's mother|his wife|the therapist|the midwife|the old lady|a young doctor|the student"
    ),
    people=_list("the patients|the nurses|the doctors|the parents|both surgeons|three patients|the children|his sons"),
    thing=_list(
        "the pain|the wound|the cough|the fever|the left knee|the tumor|the rash|the infection|the swelling|the scan|"
        "the blood pressure|the fracture|the abdomen|the heart rate|the lung|the biopsy|the chest film|the treatment|"
        "the liver|the ultrasound|the drug"
    ),
    things=_list("the symptoms|the tablets|the lungs|the results|the blood tests|the lesions|the stitches|the kidneys"),
    acts=_acts(
        """
        take: the medicine|the tablets|insulin|aspirin at night|3.5 mg of the drug|two doses a day
        need: surgery|a new scan|antibiotics|a transfusion|oxygen|further tests|physical therapy
        report: chest pain|the accident|any change|shortness of breath|the side effects
        see: the surgeon|the dentist|the specialist|the results of the scan
        mention: the fall|the headache|the allergy|the operation of 1998|the earlier stroke
        tolerate: the new drug|the procedure|solid food|bright light|the higher dose
        want: a second opinion|an injection|more tests|to leave the hospital|to stop the treatment
        sleep: well|for more than two hours|on the left side
        follow: the advice|the diet|the plan|the instructions of the doctor
        remember: the accident|the name of the drug|the date of the operation
        leave: the clinic|the ward|the hospital before noon
        sign: the form|the consent form|the report
        smoke: at home|in the house
        """
    ),
    thing_acts=_acts(
        """
        respond: to treatment|to the antibiotics|to rest
        improve: with rest|after the operation|over the weekend|in the first week
        explain: the fever|the weight loss|the sudden collapse
        require: treatment|surgery|a second visit|special care
        change: after the injection|during the night|over 12 months
        suggest: an infection|heart disease|a fracture|cancer
        cause: bleeding|much trouble|concern|any harm
        """
    ),
    person_adjectives=_list(
        "pregnant|diabetic|tired|awake|in pain|anxious|ready for discharge|febrile|allergic to penicillin|confused"
    ),
    thing_adjectives=_list("severe|normal|visible|tender|stable|serious|better today|acute|clear|enlarged|broken"),
    person_affixed=_list(
        "un.conscious|un.able to walk|un.able to stand|un.aware of the risk|un.steady|breath.less|rest.less|im.patient|"
        "un.happy with the care|un.responsive|im.mobile|sleep.less|un.likely to recover|in.capable of work|un.well"
    ),
    thing_affixed=_list(
        "un.clear|ir.regular|un.changed|in.complete|pain.less|un.pleasant|un.usual|in.adequate|un.necessary|un.stable|"
        "harm.less|im.mobile|un.remarkable|in.effective|un.treated"
    ),
    owned=_list(
        "history of diabetes|history of stroke|known allergies|fever|chest pain|family history of cancer|headache|"
        "nausea or vomiting|cough|other complaints|previous operations|symptoms|shortness of breath|pain in the leg"
    ),
    present=_list(
        "evidence of infection|sign of pneumonia|sign of bleeding|evidence of fracture|swelling of the ankles|"
        "pleural effusion|mass in the abdomen|acute disease|significant change|indication for surgery|heart murmur|"
        "free fluid|evidence of metastatic disease|focal weakness|rash"
    ),
    places=_list("in the hospital|at the clinic|on the ward|in the emergency room|at home|in the waiting room"),
)

HOTEL = Setting(
    person=_list(
        "the manager|the waiter|the receptionist|my husband|my wife|the owner|the chef|the guest|the maid|the driver|"
        "our guide|the cleaner|my friend|the bartender|the porter|the landlord|a rude waitress"
    ),
    people=_list("the staff members|the guests|our neighbours|the waiters|my parents|most tourists|the kids|we both"),
    thing=_list(
        "the room|the hotel|the shower|the breakfast|the pool|the bed|the bathroom|the view|the wifi|the elevator|"
        "the food|the restaurant|the service|this place|the location|the lobby|the carpet|the parking lot|the soup|"
        "the air conditioner|the balcony"
    ),
    things=_list("the rooms|the towels|the beds|the prices|the walls|the windows|the desserts|the pictures|the drinks"),
    acts=_acts(
        """
        clean: the room|the table|the bathroom|the pool
        answer: the phone|our question|my email|the bell
        enjoy: the meal|the stay|the breakfast|the beach|the view
        recommend: this hotel|the restaurant|the seafood|the tour
        book: a table|the suite|a taxi|the flight|a double room
        like: the food|the view|the noise|the color of the walls|the place
        pay: for the parking|the extra fee|the full price|for breakfast|45 dollars
        bring: the menu|the bill|clean towels|our luggage|a second blanket
        complain: about the noise|about the smell|to the manager
        speak: English|to the other guests|with the owner
        offer: a refund|a better room|free coffee|any help
        return: to this hotel|the key|next year
        find: the entrance|the elevator|a better deal|the pool
        """
    ),
    thing_acts=_acts(
        """
        meet: our expectations|the standard|our needs
        look: like the pictures|modern|very inviting
        impress: us|my husband|the kids
        match: the description|the price|the reviews
        deserve: five stars|the praise|a second visit
        justify: the price|the long trip|all the fuss
        disturb: us|the other guests|our sleep
        """
    ),
    person_adjectives=_list("friendly|polite|rude|satisfied|patient with us|ready at ten|available|busy|glad to help"),
    thing_adjectives=_list(
        "clean|dirty|noisy|worth the money|cheap|large enough|familiar|quiet|warm|close to the beach|as good as before|"
        "very comfortable|expensive"
    ),
    person_affixed=_list(
        "un.friendly|un.helpful|im.polite|un.happy with the room|dis.honest|care.less|un.willing to help|im.patient|"
        "un.able to sleep|dis.courteous|dis.respectful|in.attentive|dis.satisfied"
    ),
    thing_affixed=_list(
        "un.comfortable|un.clean|un.pleasant|use.less|taste.less|in.expensive|un.safe|in.convenient|un.acceptable|"
        "un.usual|un.bearable|im.possible to find|in.edible|spot.less|un.heated"
    ),
    owned=_list(
        "time for breakfast|idea how to help|reason to complain|plans to return|interest in our problem|change|"
        "manners|trouble with the key|coupons|experience|patience with us|money left"
    ),
    present=_list(
        "hot water|soap in the bathroom|elevator|parking nearby|air conditioning|view of the sea|room service|"
        "place to sit|coffee left|smoke detector|noise at night|light in the hall|wifi in the room|extra charge"
    ),
    places=_list("at the front desk|near the beach|on the third floor|in the lobby|by the pool|in the dining room"),
)

FILM = Setting(
    person=_list(
        "the director|the hero|the actress|the author|the singer|the critic|the villain|my brother|the lead actor|"
        "the writer|the narrator|the detective|the viewer|my daughter|the producer|the old king"
    ),
    people=_list(
        "the actors|the critics|the fans|the main characters|the writers|my friends|young readers|the dancers"
    ),
    thing=_list(
        "the film|the plot|the book|the movie|the ending|the story|the music|the first chapter|the script|the camera|"
        "the phone|the battery|the sequel|the album|the dialogue|this game|the screen|the second season|the novel"
    ),
    things=_list(
        "the jokes|the songs|the scenes|the effects|the costumes|the speakers|the reviews|the pages|the lyrics"
    ),
    acts=_acts(
        """
        understand: the plot|the joke|the ending|the story|the final scene
        watch: the sequel|the whole movie|the second season|the trailer
        buy: the book|the album|a ticket|the new phone|the DVD
        trust: the reviews|the villain|the narrator|the critics
        explain: the ending|the mystery|the murder|the title
        read: the novel|the script|the last 50 pages|the reviews
        enjoy: the music|the fight scenes|the romance|the dialogue
        write: a sequel|good dialogue|the songs|the last chapter
        win: the prize|an award|the audience over
        waste: money on this|the talent of the cast|two hours
        expect: a happy ending|such a mess|a masterpiece
        care: about the plot|for the music|about the characters
        """
    ),
    thing_acts=_acts(
        """
        make: sense|me laugh|much noise
        work: for me|as promised|on a small screen
        keep: my attention|its promise|the viewer awake
        live: up to the hype
        move: me|the audience|the story forward
        last: long|more than a week|90 minutes
        add: much|to the story|any depth
        """
    ),
    person_adjectives=_list("funny|talented|convincing|famous|disappointed|likeable|interested in the story|original"),
    thing_adjectives=_list(
        "funny|boring|worth watching|original|long enough|perfect|suitable for children|better than the book|scary|loud"
    ),
    person_affixed=_list(
        "un.convincing|un.likeable|un.impressed|un.known|hope.less|heart.less|un.popular|in.experienced|un.aware of it|"
        "humor.less|fear.less|un.easy"
    ),
    thing_affixed=_list(
        "un.interesting|un.watchable|point.less|un.original|mind.less|un.predictable|use.less|im.plausible|"
        "in.coherent|un.realistic|life.less|il.logical|un.finished|ir.relevant|un.forgettable"
    ),
    owned=_list(
        "talent|sense of humor|reason to watch it|chance to shine|lines in the last scene|sympathy for the hero|"
        "charm|interest in the sequel|idea who the killer is|complaints about the sound"
    ),
    present=_list(
        "plot|chemistry between the actors|surprise at the end|depth in the story|point in watching it|suspense|"
        "reason to buy it|character development|happy ending|warranty|manual in the box|real villain|hint of irony"
    ),
    places=_list("in the film|on the screen|in the cinema|at the festival|in the last scene|in the book"),
)

SCIENCE = Setting(
    person=_list(
        "the author|the reviewer|the researcher|the chemist|the biologist|the professor|the engineer|the student|"
        "the geologist|the observer|the editor|the technician"
    ),
    people=_list("the authors|previous studies|the participants|most researchers|the volunteers|the two groups|we"),
    thing=_list(
        "the protein|the gene|the mutation|the method|the model|the receptor|the sample|the enzyme|the virus|"
        "the effect|the hypothesis|this result|the difference|the signal|the control group|the promoter|the antibody|"
        "the temperature|the experiment"
    ),
    things=_list("the cells|these genes|the mice|the data|the samples|the results|our findings|T cells|the proteins"),
    acts=_acts(
        """
        observe: the effect|a significant difference|any change in expression|binding to DNA
        measure: the temperature|the concentration|the response|the pressure at 37 degrees
        repeat: the experiment|the test|the analysis with 24 samples
        detect: the protein|the virus|the signal|viral RNA
        consider: this possibility|the age of the subjects|other factors
        publish: the data|the results|the code
        use: a control group|the antibody|the same method|fresh cells
        test: the hypothesis|the model on new data|all samples
        find: a correlation|an increase in weight|support for this theory
        include: older patients|the second sample|the outliers
        confirm: the earlier result|the diagnosis|the prediction
        know: the cause|the exact mechanism|the structure of the enzyme
        """
    ),
    thing_acts=_acts(
        """
        bind: to the receptor|to DNA|the promoter
        affect: the expression of the gene|cell growth|survival|the outcome
        depend: on the dose|on temperature|on the presence of calcium
        increase: with age|after stimulation|over time
        support: this hypothesis|the model|the earlier claim
        differ: between the groups|from the control|in size
        occur: in mice|in resting cells|at low temperature
        inhibit: the enzyme|replication|the growth of the tumor
        """
    ),
    person_adjectives=_list("certain|convinced|aware of the problem|able to explain it|surprised|responsible for this"),
    thing_adjectives=_list(
        "significant|stable|active|sufficient|present in all samples|consistent with the model|specific|toxic|new|known"
    ),
    person_affixed=_list(
        "un.able to repeat the test|un.certain|un.aware of the error|un.convinced|in.experienced|dis.satisfied"
    ),
    thing_affixed=_list(
        "in.active|un.known|in.sufficient|un.related to age|ir.reversible|un.stable|"
        "in.adequate|in.visible|"
        "im.mature|un.expected|ir.regular|in.complete|color.less|in.conclusive|un.affected by heat|"
        "im.possible to measure"
    ),
    owned=_list(
        "access to the data|explanation for this|conflict of interest|control group|direct evidence|prior knowledge|"
        "funding|samples left|doubts about the method"
    ),
    present=_list(
        "correlation with age|evidence of binding|significant difference|detectable signal|effect on growth|"
        "change in expression|increase in activity|data on this question|link to the disease|consensus|known cure"
    ),
    places=_list(
        "in the laboratory|in this study|at low temperature|in the control group|in both groups|in our sample"
    ),
)

HOME = Setting(
    person=_list(
        "my sister|the teacher|my boss|Anna|Tom|Mr. Brown|our neighbor|her uncle|the lawyer|Maria|"
        "the coach|Peter|Dr. Lee|"
        "the postman|my aunt|his cousin|the mayor|Mrs. Green|the plumber|the baker"
    ),
    people=_list("the children|my parents|the neighbors|the students|the players|her friends|Tom and Anna|the workers"),
    thing=_list(
        "the car|the train|the key|the door|the computer|the letter|the weather|the bus|the answer|the school|the lamp|"
        "the soup|the dog|the meeting|the engine|the garden|the coffee|the box|the printer|the test"
    ),
    things=_list(
        "the lights|the shoes|the rules|the tickets|the roads|the apples|the buses|the shops|the flowers|the keys"
    ),
    acts=_acts(
        """
        know: the answer|the way home|my number|the truth|him well
        open: the window|the door|the letter|the box
        call: the police|me|her mother|the office
        like: the cake|cold weather|my new car|loud music
        pass: the exam|the ball|the driving test
        find: the key|her glasses|the right road|a job
        want: to go home|any help|more coffee|a dog|to talk about it
        visit: the museum|her aunt|us|the new school
        drive: to work|the truck|after dark
        eat: meat|breakfast|the fish|at home
        believe: the story|me|his excuse|in ghosts
        finish: the homework|the report|lunch
        forget: the tickets|my birthday|the name of the street
        come: to the party|home|with us|on time
        """
    ),
    thing_acts=_acts(
        """
        arrive: on time|this morning|before 10:30
        work: very well|this week|as it should
        belong: to us|to my uncle|in a museum
        cost: much|more than 20 dollars|a fortune
        look: new|right|safe|like the old one
        fit: into the bag|through the door|under the bed
        stop: at the corner|near the bridge|for long
        """
    ),
    person_adjectives=_list(
        "at home|angry|ready|late|hungry|sure about it|tired|afraid of the dark|rich|good at chess"
    ),
    thing_adjectives=_list("open|ready|cold|far away|heavy|too late|on the table|safe|full|difficult|old enough|here"),
    person_affixed=_list(
        "un.happy|un.lucky|care.less|dis.honest|im.patient|un.employed|un.fair to him|home.less|"
        "help.less|un.able to come|"
        "ir.responsible|un.sure|dis.loyal|un.married|un.prepared for this|job.less"
    ),
    thing_affixed=_list(
        "im.possible to open|use.less|un.important|in.correct|worth.less|in.visible|"
        "un.safe|end.less|cloud.less|"
        "il.legal|un.finished|im.perfect|un.expected|in.accurate|im.practical|un.familiar"
    ),
    owned=_list(
        "money|time|idea what happened|reason to worry|brothers or sisters|news from home|friends in this town|job|"
        "plans for the weekend|experience with dogs|faith in the mayor|need of advice"
    ),
    present=_list(
        "milk in the fridge|time to lose|bus on Sunday|snow on the road|need to hurry|school today|answer to that|"
        "room in the car|rain in July|letter for you|ice on the lake|reason to be afraid|train after midnight"
    ),
    places=_list("in the garden|at school|in the kitchen|at the station|on the bus|at the office|in town"),
)

TALE = Setting(
    person=_list(
        "the old man|the stranger|the captain|the lady|the servant|the inspector|Sir Edward|the gentleman|the priest|"
        "the widow|the sailor|Miss Clara|the duke|the butler|the prisoner|the poor girl|the queen|my companion"
    ),
    people=_list(
        "the villagers|the soldiers|the servants|the two brothers|the sailors|the ladies|the thieves|my uncles"
    ),
    thing=_list(
        "the moor|the castle|the house|the lantern|the moon|the path|the river|the silence|"
        "the secret|the night|the wind|"
        "the road|the ship|the fire|the forest|the tower|the carriage|the old clock|the voice"
    ),
    things=_list("the footsteps|the shadows|the hounds|the candles|the stars|the horses|the gates|the ruins|the bells"),
    acts=_acts(
        """
        hear: the hounds|a single sound|footsteps upon the stairs|the bell
        speak: of the crime|a word|to the stranger|of that night
        fear: death|the darkness|the king|his enemies
        trust: the servant|his brother|the captain
        enter: the chamber|the castle|the old chapel
        forget: that face|the promise|her kindness
        recognize: the voice|the man at the gate|the handwriting
        light: the lamp|a candle|the fire
        solve: the riddle|the mystery
        leave: the house|the village|London
        confess: the crime|the truth|to the murder
        love: the widow|his cousin|the sea
        see: the light upon the moor|a living soul|the rider
        """
    ),
    thing_acts=_acts(
        """
        reveal: the truth|its secret|a trace of the rider
        frighten: the captain|me|the horses
        fade: before dawn|from my memory|at once
        lead: to the castle|into the valley|through the forest
        stir: in the dark|until dawn|that evening
        return: before dawn|in spring|with the tide
        """
    ),
    person_adjectives=_list("afraid|proud|guilty|alone|to blame|of noble birth|in danger|in love|mad|dead|silent"),
    thing_adjectives=_list(
        "dark|silent|deep|far from the village|as dark as before|visible from the moor|old|empty|strange"
    ),
    person_affixed=_list(
        "un.happy|un.armed|motion.less|im.patient|help.less|un.known in the village|"
        "un.able to speak|dis.loyal|pale and "
        "breath.less|un.easy|fear.less|un.grateful|sense.less|im.prudent|un.fortunate|dis.contented"
    ),
    thing_affixed=_list(
        "moon.less|im.passable|in.visible|un.inhabited|end.less|life.less|un.bearable|in.explicable|wind.less|un.seen|"
        "in.accessible|un.natural|un.touched|noise.less|ir.resistible|un.lit"
    ),
    owned=_list(
        "fear of death|heir|desire to return|wish to speak of it|enemies in the village|hope of rescue|secrets|mercy|"
        "trace of pity|letters from home|money left|friend in the world"
    ),
    present=_list(
        "sound in the house|light in the tower|trace of the rider|hope of escape|moon that night|sign of life|"
        "way out of the valley|wind upon the moor|bridge across the river|witness of the crime|food on the ship"
    ),
    places=_list("upon the moor|in the old castle|by the fire|at the gate|in the village|on the ship|in the tower"),
)

SETTINGS = (CLINIC, HOTEL, FILM, SCIENCE, HOME, TALE)

NAMES = _list(
    "Anna|Tom|Maria|Peter|Clara|David|Dr. Lee|Mr. Brown|Mrs. Green|Sarah|Robert|Helen|Ahmed|Mei|Carlos|Ingrid"
)
PRONOUNS = _list("I|you|he|she|it|we|they")
DISCOURSE = _list(
    "however|of course|in fact|in short|after all|sadly|to be honest|as usual|for example|nevertheless|"
    "of the 42 cases|in my opinion|at first|on the one hand|luckily|then|in conclusion|strangely enough|yes|well"
)
TIMES = _list(
    "yesterday|on Monday|last year|at 9:30|after lunch|in 1998|that evening|during the second week|on 12 May|at night|"
    "before dinner|in the morning|two days later|in March|this time|at midnight|after the meeting"
)
TIME_CLOSERS = _list("yesterday|on Monday|last year|at 9:30|that evening|at night|in the morning|this week|in March")
SAID = _list("said|wrote|explained|insisted|told us|admitted|claimed|noted|added|concluded")
THOUGHT = _list("thought|believed|knew|hoped|suspected|felt|was sure|heard")
CERTAINLY = _list("certainly|clearly|obviously|surely|probably|apparently")
ONLY_AFTER_NO = _list("single|obvious|clear|real|particular|serious|other")

# Verb: past and participle.
IRREGULAR = {
    entry.split()[0]: (entry.split()[1], entry.split()[2])
    for entry in _list(
        "take took taken|see saw seen|sleep slept slept|leave left left|bring brought brought|"
        "pay paid paid|speak spoke spoken|find found found|meet met met|understand understood understood|"
        "buy bought bought|read read read|write wrote written|win won won|make made made|keep kept kept|"
        "know knew known|bind bound bound|drive drove driven|eat ate eaten|forget forgot forgotten|"
        "come came come|cost cost cost|fit fitted fitted|hear heard heard|light lit lit|lead led led|"
        "occur occurred occurred|stop stopped stopped|stir stirred stirred|admit admitted admitted|"
        "have had had|become became become"
    )
}
DOUBLED = frozenset({"forget", "win", "fit", "occur", "stop", "stir", "admit"})
# Verbs that English hardly ever puts into the progressive.
STATIVE = _words(
    """
    need want like know believe belong cost remember understand trust see hear fear love deserve match fit depend
    differ meet justify recognize mention forget find
    """
)

BARE = _list("a word|delay|help|success|permission|a plan|a sound|warning|much hope|any trouble|a break|hesitation")
QUALITIES = _list("courage|experience|support|a clear plan|the time|the means|confidence|imagination|energy")
DECIDED = _list("decided|preferred|tried|promised|agreed|chose")
# Nouns that take no "a".
MASS = _words(
    """
    breakfast coffee dialogue food music pain service silence soup weather wifi swelling parking treatment blood
    temperature fire
    """
)
RELATIONS = _list(
    "brother|sister|mother|father|son|daughter|friend|doctor|lawyer|neighbor|boss|wife|cousin|uncle|nurse"
)
OWNERS = _list("my|his|her|our|their")
