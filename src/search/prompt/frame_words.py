"""The words of what stands around a request: courtesy, instructions about manner, and headings of sections."""

from search.prompt.language import STOP_WORDS_ELSEWHERE
from search.stop_words import STOP_WORDS

GREETINGS = frozenset({"hi", "hello", "hey", "dear", "greetings", "hiya", "howdy", "yo"})
CLOSINGS = frozenset(
    {"regards", "cheers", "thanks", "sincerely", "best", "yours", "grüße", "grüßen", "gruß", "saludos", "cordialement"}
    | {"saluti", "groeten", "pozdrawiam", "уважением"}
)
COURTESY_SIGNS = GREETINGS | frozenset(
    {
        "let",
        "know",
        "appreciate",
        "appreciated",
        "assist",
        "assistance",
        "bother",
        "cheers",
        "favor",
        "favour",
        "grateful",
        "help",
    }
    | {"helping", "hope", "hoping", "kind", "kindly", "mind", "morning", "afternoon", "evening", "please", "question"}
    | {"questions", "regards", "sincerely", "sorry", "thank", "thanks", "thankful", "thx", "ty", "welcome", "wondering"}
    | {"ok", "okay", "thanx", "pls", "plz", "ultrathink", "megathink"}
    | {"asap", "deadline", "urgent", "urgently"}
)
"""Words of which courtesy has one."""

COURTESY = (
    STOP_WORDS
    | COURTESY_SIGNS
    | frozenset(
        {"advance", "able", "anyone", "assistant", "beforehand", "best", "better", "bit", "chance", "claude", "day"}
        | {"everyone", "feel", "find", "fine", "folks", "following", "free", "friend", "get", "give", "glad", "good"}
        | {"great", "guys", "happy", "hand", "know", "look", "looking", "lot", "lots", "love", "mate", "moment", "nice"}
        | {"perhaps", "possible", "possibly", "quick", "quickly", "really", "request", "reply", "response", "soon"}
        | {"something", "task", "tasks", "team", "tell", "think", "thing", "thoughts", "time", "today", "tonight"}
        | {"week", "weekend", "well", "wonderful", "work", "yours", "truly", "warm", "warmly", "kindest", "faithfully"}
        | {"support", "guidance", "hear", "back", "forward", "hearing", "need", "needed", "below", "much"}
        | {"thought", "would", "awesome", "amazing", "super", "bye", "respectfully", "there", "sir", "madam", "all"}
        | {"problem", "issue", "guidance", "expert", "obliged", "gpt", "copilot", "bot", "ai", "buddy", "pal"}
        | {"tomorrow", "month", "end", "eod", "date", "due", "quite", "priority", "low", "high", "medium", "top"}
        | {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    )
)
"""Words of which courtesy consists."""

STARTS = frozenset(
    {"thank", "thanks", "thx", "ty", "cheers", "many", "much", "please", "pls", "plz", "let", "i", "best", "kind"}
    | {"ultrathink", "megathink"}
)
"""Words with which courtesy begins at the end of a clause."""

OPENERS = frozenset({"actually", "alright", "hey", "ok", "okay", "so", "wait", "well"})
"""Words before a request that only begin to speak."""

MANNER_SIGNS = frozenset(
    """
    accurate autonomously brief briefly careful carefully chatter concise concisely confirmation filler fluff
    hallucinate hallucinating hallucinations independently megathink mistake mistakes permission preamble precise
    precisely reason reasoning rigorous short shortly step succinct succinctly terse thinking thorough thoroughly
    ultrathink verbose verbosity yap yapping
    """.split()  # noqa: SIM905 - one word per line would take two pages
)
"""Words of which an instruction about manner has one, or a word of `ANSWERS` beside one of `LIMITS`."""

ANSWERS = frozenset(
    "answer answers ask explanation explanations output reply respond response return think write".split()  # noqa: SIM905
)
LIMITS = frozenset(
    """
    anything before deep deeply directly don else final hard harder just never no not nothing only solely straight
    without
    """.split()  # noqa: SIM905 - as above
)

MANNER = (
    COURTESY
    | MANNER_SIGNS
    | ANSWERS
    | LIMITS
    | frozenset(
        """
        act approach assume attention avoid best breath check clarification clear code comment comments complete
        completely correct correctly depth detail detailed details done double easy effort end error errors everything
        exact exactly extra finish finished full go hand high intermediate introduction keep lengthy line long make
        making paragraph pay perfect point possible problem proceed process quality question questions result results
        right sentence sentences simple single solution solve start stay stop straightforward sure take task text
        thought thoughts through time unnecessary verify wait way word words work
        """.split()  # noqa: SIM905 - as above
    )
)
"""Words of which such an instruction consists."""

MADE = frozenset({"sure", "mistake", "mistakes", "good", "nice", "great", "perfect"})
"""What an instruction about manner makes. `make it short` may be the task."""

REPLIES = frozenset(
    """
    answer answers everything explanation explanations output outputs reply respond response result results return
    """.split()  # noqa: SIM905 - as above
)
FORMATS = frozenset(
    """
    bullet bulleted bullets csv english fields format formatted french german html id ids in italian japanese json key
    keys list markdown name names numbered object plain points portuguese present provide schema show skill skills
    spanish table tabular text valid want with xml yaml
    """.split()  # noqa: SIM905 - as above
)
"""Words that say in which format or language the answer is to be, beside a word of `REPLIES`."""

FORMATTING = MANNER | FORMATS
"""Words of which an instruction about the answer consists."""

ROLES = (
    ("i", "am"),
    ("i", "m"),
    ("you", "are"),
    ("you", "re"),
    ("act", "as"),
    ("imagine", "you"),
    ("pretend", "you"),
    ("assume", "you"),
)

ROLE_WORDS = STOP_WORDS | frozenset(
    """
    10x act advanced agent ai amazing assistant assume automated autonomous background best brilliant capable chatbot
    class claude coder coding coworker decades developer elite engineer engineering excellent experience experienced
    expert extremely genius good great greatest grade helper helpful highly imagine intelligent knowledgeable lead
    leading level master meticulous model pair partner powerful pretend principal professional programmer programming
    role rockstar senior seasoned skilled smart software staff talented top useful veteran wise world year years
    """.split()  # noqa: SIM905 - as above
)
"""Words of roles that say nothing about the task: `a senior React developer` says something."""

SECTIONS = frozenset(
    """
    acceptance actual additional background behavior behaviour bug chore context criteria current definition deliverable
    deliverables description details done environment epic expected feature goal goals goal info information input
    instruction instructions issue issues motivation my note notes objective of open output overview priority problem
    proposed question questions reproduce request requests requirement requirements scope solution spike status steps
    story subtask summary task tasks the this ticket to todo todos type user what why you your
    """.split()  # noqa: SIM905 - one word per line would take a page
)
"""Words of headings that every ticket has."""

SAYING = frozenset(
    """
    asked asking asks comment email following mail message messages received request requests said says sent ticket
    tickets told wants writes wrote
    """.split()  # noqa: SIM905 - as above
)
"""Words of which what introduces a request has one."""

ANNOUNCING = frozenset(
    "below follows following goal instruction instructions message problem prompt query question request task".split()  # noqa: SIM905
)
"""Words of which one is in a clause that only announces the request: `Here is the task:`."""

PEOPLE = frozenset(
    """
    boss ceo client clients colleague coworker customer customers cto friend lead lecturer manager professor supervisor
    teacher team teammate user users
    """.split()  # noqa: SIM905 - as above
)
"""People who want what is requested."""

INTRODUCING = (
    COURTESY | SAYING | PEOPLE | frozenset({"chat", "discord", "got", "slack", "teams", "whatsapp", "yesterday"})
)
"""Words of what introduces a request, beside the names of its senders."""

ANNOUNCEMENT = INTRODUCING | ANNOUNCING
"""Words of a clause that only announces the request."""

AGENTS = frozenset(
    """
    agent aider all amp assistant bot bugbot channel claude cline codebase codex copilot cursor devin docs everyone
    files folders gemini goose here jules kiro opencode team terminal vscode web windsurf workspace
    """.split()  # noqa: SIM905 - as above
)
"""Agents and places that prompts call with `@`, which are no skills: `@claude`, `@workspace`."""

SKILLS = frozenset({"skill", "skills"})

PLATFORMS = frozenset(
    """
    agent ai anthropic claude clawdbot cline code codex copilot cursor gemini goose moltbot openai openclaw opencode
    windsurf
    """.split()  # noqa: SIM905 - as above
)
"""Words before `skill` that say for which agents it is: `a Claude Code skill for`."""

OF_SKILLS = frozenset(
    """
    audit author build check convert create creating creator debug design develop develops edit evaluate find fix
    generate improve install installer lint list load make manage manager migrate optimise optimize package port publish
    read refactor register registry remove rename review scan scanner search secure security share sync test testing
    uninstall update upgrade use using validate validator vet vetting write writer writing
    """.split()  # noqa: SIM905 - as above
)
"""What is done with skills. Beside one of these, `claude skill` is what the task is about."""

SEEKING_SIGNS = frozenset(
    """
    any available best browse choose discover exist exists find found get given have know list looking match need pick
    recommend search searching seek select show suggest there want what which
    """.split()  # noqa: SIM905 - one word per line would take a page
)
"""Words that ask for a skill. `create`, `write` and `improve` are none: the task is the skill itself."""

SEEKING = (
    COURTESY
    | SEEKING_SIGNS
    | frozenset(
        """
    agent appropriate catalog catalogue check disabled download enabled existing fit fits following handle if install
    installed latest local marketplace matching most new other popular recommended registry relevant right see store
    suitable tool tools top use useful user whether
    """.split()  # noqa: SIM905 - as above
    )
)
"""Words of what asks for a skill: `is there a skill`, `search the registry for skills`."""

SEEKING_SKILLS = SEEKING | SKILLS
"""Words of a clause that only asks for a skill: `which skill should I use?`."""

LINKS = frozenset(
    """
    able about allow allows are available be can could deal deals do does exist exists following for got handle handles
    have help helps how i is know knows let lets me out related should so support supports that the there these this to
    us use we which will with work works would you
    """.split()  # noqa: SIM905 - as above
)
"""Words between a skill and the task that it is for: `skills do you have for`, `skill that helps me to`."""

PURPOSES = frozenset({"for", "to"})
"""The links after which a skill is asked for without any other word: `skill for invoices`."""

CREATING = frozenset(
    {"author", "build", "create", "design", "develop", "draft", "generate", "make", "scaffold", "write"}
)

OF_NEW_SKILLS = frozenset(
    """
    a agent an another basic claude codex custom first good me my new our own reusable simple small the us
    """.split()  # noqa: SIM905 - as above
)
"""Words between a verb of creation and the skill that is to be made."""

LINKS_OF_NEW_SKILLS = frozenset({"about", "for", "from", "so", "that", "to", "which", "with"})
"""Words after a new skill that say what it is for. After others, as in `skill tree`, it is none."""

COURTESY_SIGNS_ELSEWHERE = frozenset(
    """
    abend acil antemano anticipo antwoord antwort antworte antworten avance ayuda ayudar ayudarme beaucoup bedankt
    besoin beste bitte boa bom bonjour bonne bonsoir buenas buenos buongiorno cevapla ciao cordialement cordiali
    cześć dank danke dia dias dringend dziękuję día días favor freundlichen gracias grazie groeten groetjes gruß
    grüße grüßen guten hallo helfen hilfe hoi hola liebe lieben lieber merci merhaba mille moin morgen muchas noches
    obrigada obrigado odpowiadaj odpowiedz olá pilne plait plaît poderia podría podrías pomoc pomóc potresti
    pourrais pourriez pozdrawiam proszę responda responde responder respóndeme rispondere rispondi répondez réponds
    saludo saludos salut saluti salve selam servus siguiente spoed tardes teşekkür teşekkürler urgence urgente viele
    vielen voraus witam würdest yanıtla благодарю добрый заранее здравствуйте ответь ответьте отвечай пожалуйста
    помоги помогите помочь привет спасибо срочно уважением
    """.split()  # noqa: SIM905 - as above
)
"""Words of which courtesy has one in other languages that the encoder reads."""

COURTESY_ELSEWHERE = (
    STOP_WORDS_ELSEWHERE
    | COURTESY_SIGNS_ELSEWHERE
    | frozenset(
        """
        ai aide aider aiutarmi aiuto ajuda ajudar algo alvast auriez ausschließlich avons beste brauche bräuchte
        castellano cosa d da danke deine deiner deutsch deutscher dir dzień ederim ein español esto euch francais
        français gerne goed goedendag große herzliche herzlichen hätte ihnen ihre il im immer isso italiano j
        journée kannst ki könnt könnten könntest l lütfen m mal manhã mañana misin misiniz mit muy n nachmittag
        nederlands noite per podes polsku por portugues português possível pouvez puedes puoi può questo s sehr
        sempre siempre soirée solo sprache sólo tag tarde toujours très türkçe u uniquement yardım şimdiden большое
        вас вечер вы день мне можете можешь мы не ответ русском утро языке
        """.split()  # noqa: SIM905 - as above
    )
)
"""Words of which such courtesy consists."""

STARTS_ELSEWHERE = frozenset(
    """
    bedankt bitte danke dziękuję gracias grazie herzlichen merci muchas obrigada obrigado per por s teşekkürler vielen
    спасибо пожалуйста
    """.split()  # noqa: SIM905 - as above
)
"""Words with which such courtesy begins at the end of a clause."""

SEEKING_ELSEWHERE = COURTESY_ELSEWHERE | frozenset(
    """
    alguna algún auriez brauche busca buscar cerca cerco cherche chercher cuál encontrar encontre encuentra es existe
    finde finden geen gibt hay necesito nehme nodig nutze passenden permet poszukaj procura procure pueda quale quel
    quelle qué suche t trouve trouver trova usar utiliser verwende vind welche welchen welcher zoek есть ищу какой ли
    найди найти нужен существует
    """.split()  # noqa: SIM905 - as above
)
"""Words of what asks for a skill in those languages: `gibt es einen Skill um …`."""
