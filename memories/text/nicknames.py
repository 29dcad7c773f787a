"""Short forms of given names."""

from collections import defaultdict

# Short forms by given name; one may belong to several names.
SHORT_FORMS = {
    "aleksandra": "ola sasha", "alexander": "alex al lex sandy sasha xander", "alexandra": "alex sandra sandy sasha",
    "alfred": "al alf fred freddie", "amanda": "mandy", "andrew": "andy drew", "anna": "annie anja anya",
    "anthony": "tony ant", "antonio": "toni tonio", "arthur": "art artie", "barbara": "barb babs",
    "bartholomew": "bart", "benjamin": "ben benji benny", "bernard": "bernie", "bradley": "brad",
    "caroline": "carrie caro", "catherine": "cat cathy cate kate katie kitty", "charles": "charlie chuck chas",
    "charlotte": "lottie charlie", "christina": "chris chrissy tina", "christine": "chris chrissy tina",
    "christopher": "chris kit topher", "clifford": "cliff", "cynthia": "cindy", "daniel": "dan danny",
    "david": "dave davey", "deborah": "deb debbie", "dmitri": "dima mitya", "dominic": "dom nick",
    "donald": "don donny",
    "dorothy": "dot dottie dolly", "douglas": "doug", "edward": "ed eddie ned ted teddy", "eleanor": "ellie nell nora",
    "elizabeth": "beth betsy betty eliza ella ellie libby lisa liz lizzie", "emily": "em emmy", "eugene": "gene",
    "ferdinand": "ferdi nando", "francesca": "fran cesca", "frances": "fran frankie", "francis": "frank frankie",
    "francisco": "paco pancho cisco", "franklin": "frank", "frederick": "fred freddie rick", "gabriel": "gabe",
    "gabriella": "gabby ella", "geoffrey": "geoff jeff", "gerald": "gerry jerry", "gregory": "greg",
    "guillermo": "memo", "gwendolyn": "gwen", "harold": "hal harry", "henry": "hal hank harry", "ignacio": "nacho",
    "isabella": "bella izzy", "ivan": "vanya", "jacob": "jake", "jacqueline": "jackie",
    "james": "jim jimmy jamie", "janet": "jan", "jeffrey": "jeff", "jennifer": "jen jenny", "jeremy": "jem jerry",
    "jessica": "jess jessie", "joan": "joanie", "joanna": "jo joey", "johannes": "hannes jo", "john": "jack johnny jon",
    "jonathan": "jon jonny", "jose": "pepe", "joseph": "joe joey", "josephine": "jo josie", "joshua": "josh",
    "judith": "judy", "julia": "jules", "karl": "kalle", "katarzyna": "kasia", "katherine": "kat kate kathy katie kit",
    "kathleen": "kathy kath", "kenneth": "ken kenny", "kimberly": "kim", "kristina": "kris tina stina",
    "lawrence": "larry laurie", "leonard": "len lenny leo", "lewis": "lew lou", "louis": "lou louie",
    "lucille": "lucy", "magdalena": "lena magda", "malgorzata": "gosia", "margaret": "greta maggie meg peggy rita",
    "maria": "mia masha", "martin": "marty", "matthew": "matt matty", "maximilian": "max", "maxwell": "max",
    "melissa": "mel lissa", "michael": "mick mickey mike mikey", "mikhail": "misha", "mohammed": "mo moe",
    "nancy": "nan", "natalia": "natasha nat", "natalie": "nat", "nathan": "nat nate", "nathaniel": "nat nate",
    "nicholas": "nick nicky nico klaus", "nicole": "nicky nic", "nikolaus": "klaus nico", "olivia": "liv livvy",
    "oliver": "ollie", "pamela": "pam", "patricia": "pat patty tricia trish", "patrick": "paddy pat",
    "penelope": "penny", "peter": "pete", "philip": "phil pip", "rachel": "rae", "raymond": "ray",
    "rebecca": "becca becky",
    "reginald": "reg reggie", "richard": "dick rich richie rick ricky", "robert": "bob bobby rob robbie bert",
    "roberto": "beto rob", "ronald": "ron ronnie", "roxanne": "roxy", "russell": "russ", "salvatore": "sal toto",
    "samantha": "sam sammy", "samuel": "sam sammy", "sarah": "sadie sally", "sebastian": "basti seb",
    "sergei": "seryozha",
    "sophia": "sophie", "stephanie": "steph", "stephen": "steve stevie", "steven": "steve stevie", "susan": "sue susie",
    "suzanne": "sue suzie", "theodore": "ted teddy theo", "theresa": "terry tess tessa", "thomas": "tom tommy",
    "timothy": "tim timmy", "tobias": "tobi toby", "valentina": "vale tina", "veronica": "ronnie vera",
    "victor": "vic", "victoria": "tori vicky", "vincent": "vin vince vinny", "virginia": "ginny", "vladimir": "vova",
    "walter": "wally walt", "wilhelm": "willi", "william": "bill billy liam will willy", "yevgeny": "zhenya",
    "zachary": "zach zack",
}  # fmt: skip


def _build_related_names() -> dict[str, frozenset[str]]:
    """For every given name, the names that may mean the same person."""
    related: dict[str, set[str]] = defaultdict(set)
    for full, short in SHORT_FORMS.items():
        variants = {full, *short.split()}
        for name in variants:
            related[name] |= variants - {name}
    return {name: frozenset(others) for name, others in related.items()}


RELATED_NAMES = _build_related_names()
