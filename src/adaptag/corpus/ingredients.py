"""The demo corpus: recipe ingredient lines made by a grammar, labelled in BIO.

Eight types are labelled; everything else (commas, brackets, ``of``, ``or``, ``about``) is ``O``.

* QTY, how many: ``1 1/2``, ``½``, ``2-3``, ``a few``; a glued amount too (``250g``)
* UNIT, of what: ``cups``, ``Tbsp.``, ``cloves``, ``can``
* SIZE, how big a piece, a package or a spoonful is: ``large``, ``14 oz``, ``heaping``
* STATE, the condition it is bought or used in: ``fresh``, ``frozen``, ``boneless``
* BRAND, an invented maker: ``Copper Hollow``
* NAME, the ingredient; a product keeps its participle (a can of ``diced tomatoes``)
* PREP, what the cook does to it: ``finely chopped``
* NOTE, anything else said about it: ``to taste``, ``optional``, ``for the filling``
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

UNSEEN_LINES: tuple[str, ...] = (
    "3 heaped dessertspoons wholegrain mustard, plus extra for the glaze",
    "2 (540 mL) tins diced heirloom tomatoes, juices reserved",
    "about 750g bone-in goat shoulder, cut into bite-size strips",
    "1 knob of fresh galangal or ginger, peeled and smashed",
    "Half a ripe honeydew, scooped into balls (nice but not essential)",
)
"""Raw lines written by hand; the grammar can make none of them."""

# Lexicons, frequent words first, "_" for a space; what follows "||" is held out of train.
_WORDS = """
few: 2 3 4; digit: 2 3 4 6 5 8 10 12; word: two three four six five eight ten
slash: 1/2 1/4 3/4 1/3 2/3 1/8; vulgar: ½ ¼ ¾ ⅓ ⅔ ⅛; decimal: 1.5 0.5 2.5 .5 1.25 0.75
range: 2-3 3-4 1-2 4-6 6-8 2–3 3–4 2_to_3 3_to_4 4_to_6 2_or_3 1_or_2 2_-_3
hundreds: 250 200 100 500 150 300 50 400 125 75 350 225; ounces: 14 15 8 10 28 6 16 12 14.5 10.75
cup: cup cup cup c. C c pint quart qt. || mug beaker cupful; hyphen: -ounce -oz -oz.
spoon: tablespoon teaspoon tsp tbsp Tbsp. tsp. T t Tbs. tbs TBSP || spoonful tblsp dessertspoon
dash: pinch dash splash drizzle || smidgen glug; scoop: heaping scant level generous big || modest
gram: g gr grams g. gm || grammes; litre: ml mL ml. || cl dl; ounce: oz ounce oz. ounces || ozs
pound: pound lb lbs lb. kilo kg lbs. || kilogram; tin: can tin jar || canister flask
pack: package box bag jar packet pkg. carton container bottle || tub sachet pouch punnet
bunch: bunch sprig handful stalk || fistful frond; inch: 1-inch 2-inch 1/2-inch || thumb-sized
size: large medium small big medium-sized extra-large thick || tiny huge smallish mid-size
tint: red yellow white green sweet baby purple golden wild || rainbow speckled young
veg: onion carrot tomato potato zucchini bell_pepper cucumber eggplant leek shallot mushroom beet
  turnip sweet_potato parsnip plum_tomato radish jalapeño artichoke squash scallion fennel_bulb
  banana_pepper || kohlrabi jicama rutabaga celeriac tomatillo chayote plantain
fruit: apple banana peach pear mango orange plum avocado pineapple nectarine || papaya quince guava
berry: strawberry cherry raspberry blueberry cranberry blackberry || gooseberry elderberry
acid: lemon lime orange grapefruit || yuzu kumquat; meat: beef chicken pork turkey lamb || venison
grain: rice oat almond rye bread cake corn spelt self-rising potato || buckwheat chickpea teff
oil: olive vegetable canola sesame peanut || grapeseed; wine: red_wine cider rice malt || champagne
sauce: soy tomato hot chili fish oyster barbecue sweet_and_sour steak plum || hoisin teriyaki ponzu
sugar: white brown granulated powdered light_brown dark_brown caster || muscovado demerara
syrup: honey maple_syrup corn_syrup molasses golden_syrup apple_butter || agave treacle
nut: walnut almond pecan peanut || macadamia
fat: butter margarine lard unsalted_butter || ghee suet
cereal: rice white_rice brown_rice quinoa couscous lentils barley rolled_oats macaroni spaghetti
  egg_noodles penne jumbo_shells long-grain_rice split_peas || orzo bulgur farro rigatoni polenta
spice: cumin cinnamon black_pepper ginger nutmeg coriander cloves pepper allspice || mace fenugreek
salt: salt sea_salt kosher_salt paprika cayenne_pepper baking_soda chili_powder garlic_powder
  red_pepper_flakes active_dry_yeast celery_salt sesame_seeds mustard_seeds || saffron wasabi
herb: parsley basil cilantro thyme oregano dill mint rosemary sage chives || chervil marjoram lovage
green: spinach kale cabbage lettuce broccoli cauliflower baby_spinach || bok_choy radicchio
joint: chicken_breast chicken_thigh pork_chop turkey_breast pork_tenderloin lamb_chop sirloin_steak
  chuck_roast veal_cutlet salmon_fillet chicken_wing || lamb_shank duck_leg short_rib cod_loin
fish: salmon shrimp cod tuna crab_meat || monkfish squid; deli: bacon ham dry_salami || prosciutto
bean: black kidney pinto baked || borlotti
canned: tomatoes mushrooms green_chiles peaches || hominy
milk: milk buttermilk whole_milk heavy_cream sour_cream whipping_cream half_and_half plain_yogurt
  cream heavy_whipping_cream large_curd_cottage_cheese || crème_fraîche kefir
cheese: cheddar Parmesan mozzarella Swiss feta sharp_cheddar goat blue || Gruyère provolone pecorino
loaf: bread French_bread Italian_bread sourdough rye_bread white_bread cornbread || brioche focaccia
product: cake_mix cream_of_mushroom_soup pie_crust puff_pastry mini_marshmallows graham_crackers
  chocolate_chips macaroni_and_cheese tomato_paste medium_salsa onion_soup_mix minced_garlic
  salt_and_vinegar_chips peanut_butter_cups taco_seasoning cinnamon_sticks flour_tortillas ice_cream
  dried_cranberries roasted_red_peppers || phyllo_dough ramen_noodles gnocchi pretzels
diet: low-fat low-sodium unsweetened light reduced-fat gluten-free || sugar-free full-fat vegan
brand: Copper Juniper Maple Amber Golden Old Thistle Willow Sunny Blue Mama || Heron Velvet Pebble
house: Hollow Kettle Lane Mill Orchard Creek Pantry Rosa Barrel || Larder Gables Brothers
fine: finely_chopped thinly_sliced roughly_chopped coarsely_chopped finely_grated || thickly_sliced
did: chopped sliced diced minced peeled grated halved crushed quartered cored roasted julienned
  mashed patted_dry cut_in_half stems_removed || cubed slivered shaved pitted sliced_on_the_bias
solo: chopped sliced diced minced grated shredded crushed || cubed slivered shaved
clean: peeled seeded trimmed washed rinsed || scrubbed; warm: warm hot boiling cold || tepid
leafdid: chopped minced torn leaves_picked || snipped; fatdid: melted softened diced || clarified
meatdid: trimmed diced sliced cooked shredded pounded browned || butterflied deboned spatchcocked
eggdid: beaten lightly_beaten separated whisked hard-boiled || poached scrambled tempered
candid: drained rinsed drained_and_rinsed undrained thawed || strained well_shaken
sold: diced crushed sliced stewed || fire-roasted; ripe: fresh ripe frozen organic cold || overripe
shape: pieces cubes strips chunks wedges slices || ribbons batons; rasp: shredded grated || shaved
lean: boneless skinless lean frozen fresh bone-in raw || leftover grass-fed free-range
use: serving garnish dusting frying greasing sprinkling brushing the_pan rolling || basting glazing
dish: sauce dressing filling topping crust marinade glaze salad dough soup || streusel brine
aside: if_desired as_ripe_as_you_can_get as_needed plus_more_to_taste or_as_needed divided
  see_note_1 whatever_you_have_on_hand more_or_less || at_your_discretion not_the_cheap_kind
"""

# Rules: alternatives parted by "|", each with an optional weight "n*" (and maybe empty). $x writes
# rule or lexicon x, $x:s puts its last word in the plural, +x glues x to the token before it, x?n
# keeps x in n % of the lines and TYPE{...} labels a chunk.
_RULES = """
line: 90* $body | - $body | • $body | 3* NOTE{for the $dish} : $body
body: 20* $pantry | 18* $produce | 10* $spices | 8* $herbs | 9* $meats | 12* $packs | 7* $dairy
  | 5* $eggs | 4* $garlic | 4* $breads | 5* $seasoning | 4* $garnish | 5* $fats | 3* $citrus

one: 12* 1 | one; part: 4* $slash | 3* $vulgar | half a | $decimal | a
count: 24* $digit | 4* $word | 4* $range | a few | several | a couple of | a dozen
mixed: 6* $few | 3* 1 $slash | 2* 1 +$vulgar | 2* $few $slash | $few $vulgar | $range | $decimal
  | $few +- +$slash | $word
single: QTY{$one} SIZE{$size}?50; plenty: QTY{$count} SIZE{$size}?50
cups: 4* QTY{$one} SIZE{$scoop}?20 UNIT{$cup} | 5* about?5 QTY{$part} UNIT{$cup} | QTY{$few +$cup:s}
  | 5* about?5 QTY{$mixed} UNIT{$cup:s}
spoons: 4* QTY{$one} SIZE{$scoop}?20 UNIT{$spoon} | 3* QTY{$part} UNIT{$spoon} | QTY{$few +$spoon}
  | 4* QTY{$mixed} SIZE{$scoop}?10 UNIT{$spoon:s} | QTY{a} SIZE{$scoop}?25 UNIT{$dash} of
grams: 2* QTY{$hundreds +$gram} | QTY{$hundreds} UNIT{$gram} | approx. QTY{$hundreds} UNIT{$gram}
weight: 4* QTY{$one} UNIT{$pound} | 4* QTY{$mixed} UNIT{$pound:s} | 2* QTY{$part} UNIT{$pound}
  | 3* $grams | QTY{$ounces} UNIT{$ounce}
solid: 6* $cups | 2* $spoons | 2* $grams | $cups plus $spoons
fluid: 5* $cups | 5* $spoons | QTY{$hundreds +$litre} | QTY{$hundreds} UNIT{$litre}
net: 4* $ounces $ounce | $hundreds +g | $hundreds g | $hundreds $litre | $ounces +$hyphen
sized: 4* QTY{$one} ( SIZE{$net} ) | 3* QTY{$one} SIZE{$ounces +$hyphen} | 4* $single
canful: 6* $sized UNIT{$tin} | 2* QTY{$few} ( SIZE{$net} ) UNIT{$tin:s}
  | QTY{$few} UNIT{$tin:s} ( SIZE{$net} each ) | QTY{$few} x SIZE{$hundreds +g} UNIT{$tin:s}
packet: 4* $sized UNIT{$pack} | QTY{$few} ( SIZE{$net} ) UNIT{$pack:s} | $plenty UNIT{$pack:s} of?40
around: 2* ( about $weight ) | ( about?50 $cups )

note: 3* optional | 4* for $use | 2* plus more for $use | 2* for the $dish | 4* $aside | or use $fat
  | for the $fruit $dish | plus extra to serve | preferably $ripe
tail: 5* , NOTE{$note} | 3* ( NOTE{$note} ) | 2* NOTE{$note} | , plus $spoons NOTE{for $use}
comma: 4* , |; mix: $herb and $cheese crackers | $fruit and $nut granola | $salt and $spice rub
cut: 2* cut into $inch?50 $shape | cut into $digit $shape | $clean and cut into $shape
prep: 5* $did | 3* $fine | 3* $clean and $did | 2* $clean and $fine | 3* $cut
after: 8* $comma PREP{$prep} | ( PREP{$prep} ) | , PREP{halved} , PREP{$fine} | - PREP{$prep}
maker: 3* BRAND{$brand $house} | BRAND{$brand $house Farms} | BRAND{$house and Sons}

flour: 3* all-purpose flour | 4* $grain flour | 4* $sugar sugar | bread crumbs | 4* $cereal
sauces: 3* $oil oil | 3* $wine vinegar | extra virgin $oil oil | 4* $sauce sauce | 3* $syrup | water
  | 4* $diet?20 $meat broth | vegetable stock | 2* $fruit juice | dry white wine | dry sherry
  | vanilla extract | $acid extract | coconut milk | $nut butter | $berry jam
pantry: 9* $solid $dry $tail?35 | 9* $fluid $maker?20 NAME{$sauces} $tail?35 | NAME{$flour} , $solid
  | NAME{$flour} : $solid | NAME{$sauces} - $fluid | $fluid STATE{$warm} NAME{water}
  | $fluid NAME{$meat broth} or NAME{water} | $spoons NAME{$syrup} or NAME{$sugar sugar}
dry: 8* $maker?15 NAME{$flour} | PREP{packed} NAME{$sugar sugar} | NAME{ground $nut:s}
  | NAME{$sugar sugar} $comma PREP{packed} | NAME{$grain flour} $comma PREP{sifted}
  | 2* PREP{$fine} NAME{$nut:s} | 2* NAME{$nut:s} $comma PREP{toasted} | STATE{cooked} NAME{$cereal}

thing: 5* $veg | 2* $tint $veg | 3* $fruit; zest: juice | zest | juice and zest | grated zest
produce: 5* $single STATE{$ripe}?30 NAME{$thing} $around?8 $after?75 $tail?25
  | 6* $plenty STATE{$ripe}?30 NAME{$thing:s} $around?10 $after?75 $tail?25
  | 2* $cups PREP{$solo} NAME{$thing} | QTY{$count} PREP{$solo} NAME{$thing:s}
  | QTY{$count} PREP{$fine} NAME{$thing:s} | NAME{$thing:s} , $plenty $after?50
  | 3* $weight STATE{$ripe}?25 NAME{$thing:s} $after?60 | $plenty NAME{$thing:s} , STATE{$ripe}
  | 2* $cups STATE{fresh} or STATE{frozen} NAME{$berry:s} | 2* $cups STATE{$ripe}?30 NAME{$berry:s}
  | QTY{$one} SIZE{large} or QTY{2} SIZE{small} NAME{$thing:s} $after?60
  | QTY{$one} SIZE{$inch} UNIT{piece} of?30 STATE{fresh}?50 NAME{ginger} $after?60
  | 2* $single UNIT{head} NAME{$green} $after?60
citrus: PREP{$zest} of $single NAME{$acid} | PREP{$zest} of QTY{$few} NAME{$acid:s}
  | 2* $spoons PREP{freshly squeezed}?30 NAME{$acid juice} | $spoons PREP{grated} NAME{$acid zest}
garlic: 3* $plenty UNIT{cloves} of?25 NAME{garlic} $after?70 | $spoons PREP{$solo} NAME{garlic}
  | 3* $plenty NAME{garlic} UNIT{cloves} $after?70 | QTY{$one} UNIT{clove} NAME{garlic} $after?60
  | QTY{$few} UNIT{stalks} NAME{celery} $after?60 | QTY{$few} NAME{celery} UNIT{stalks} $after?60
spices: 5* $spoons NAME{ground $spice} | 2* $spoons NAME{$spice} $comma PREP{ground}
  | 2* $spoons PREP{freshly ground} NAME{$spice} | 3* $spoons STATE{dried} NAME{$herb}
  | 5* $spoons NAME{$salt} $tail?30 | NAME{$salt} , $spoons | QTY{$digit} NAME{whole cloves}
  | QTY{$one} NAME{cinnamon stick} | $plenty NAME{bay leaves}
  | $spoons STATE{dried} NAME{$herb} or $spoons $leaf
seasoning: 3* NAME{salt} and $pepper $tasty | 2* NAME{$salt} $tasty | NAME{salt} & $pepper
  | 2* $spoons?20 NAME{$salt} and NAME{$spice} $tasty | NAME{parsley} and NAME{$herb} $tasty
  | QTY{a} UNIT{pinch} each of NAME{salt} and NAME{$spice}
pepper: 2* NAME{pepper} | NAME{black pepper} | PREP{freshly ground} NAME{black pepper}
tasty: 5* $comma NOTE{to taste} | ( NOTE{to taste} ) | , NOTE{$note}
leaf: STATE{fresh}?50 NAME{$herb}; leafy: 3* $comma PREP{$leafdid} | $comma PREP{$fine}
herbs: 3* $spoons PREP{$leafdid} $leaf | $cups PREP{$fine} $leaf | $cups NAME{$green} $leafy?60
  | 3* $single UNIT{$bunch} $leaf $leafy?60 | 2* $spoons $leaf $leafy?70
  | 2* $plenty UNIT{$bunch:s} $leaf $leafy?50 $tail?20 | QTY{$count} $leaf UNIT{leaves} $leafy?50
meats: 3* $weight NAME{ground $meat} $tail?10 | 4* $weight STATE{$lean}?50 NAME{$joint:s} $braise?60
  | 2* $weight STATE{boneless} , STATE{skinless} NAME{$joint:s}
  | 2* $plenty UNIT{slices} NAME{$deli} | 3* $weight STATE{$lean}?20 NAME{$fish} $braise?50
  | 3* $plenty STATE{$lean}?40 NAME{$joint:s} $around?15 $braise?50
  | 2* $cups PREP{$meatdid}?50 STATE{cooked} NAME{$meat} | NAME{$joint:s} , STATE{$lean} , $weight
braise: 3* $comma PREP{$meatdid} | 2* $comma PREP{$cut} | , PREP{cleaned and $meatdid}
packs: 5* $canful $maker?15 NAME{$sold $canned} $drain?50 | $cups NAME{$product} ( such as $maker )
  | 3* $canful NAME{$bean beans} $drain?60 | 6* $packet $maker?30 NAME{$diet?20 $product} $tail?25
  | 4* $packet $maker?20 NAME{$mix} | 2* $packet NAME{shredded $cheese cheese}
  | 2* $packet STATE{frozen} NAME{chopped $green} $drain?50
drain: 4* $comma PREP{$candid} | ( PREP{$candid} ) | NOTE{with juice} | , NOTE{liquid reserved}
dairy: 6* $fluid $maker?20 STATE{cold}?15 NAME{$diet?25 $milk} $tail?25
  | 2* $packet NAME{cream cheese} $soft | 3* $cups PREP{$rasp} NAME{$cheese cheese}
  | $fluid NAME{cream} , PREP{whipped} | $spoons PREP{grated} NAME{$cheese}
  | 2* $weight $maker?10 NAME{$cheese cheese} $comma PREP{$rasp}
eggs: 5* $plenty NAME{eggs} $beat?50 | 2* $single NAME{egg} $beat?60 | $plenty NAME{egg yolks}
  | QTY{$one} NAME{egg} plus QTY{1} NAME{egg yolk} | QTY{$digit} NAME{hard-boiled eggs} $after?60
beat: 4* $comma PREP{$eggdid} | ( PREP{$eggdid} ) | , STATE{at room temperature}
fats: 4* $solid NAME{$fat} $soft?70 | 2* $solid NAME{$fat} or NAME{$oil oil}
  | 2* $solid PREP{$fatdid} NAME{$fat} | 2* QTY{$one} UNIT{stick} NAME{$fat} $soft?60
  | QTY{$few} UNIT{sticks} ( $cups ) NAME{butter} or NAME{margarine} $soft?60
soft: 4* $comma PREP{$fatdid} | , STATE{at room temperature} | ( PREP{$fatdid} ) | , PREP{$cut}
breads: 3* QTY{$count} UNIT{slices} STATE{day-old}?25 NAME{$loaf} $slice?50
  | 2* $single UNIT{loaf} NAME{$loaf} $slice?60 | QTY{$one} UNIT{loaf} NAME{sliced $loaf}
slice: $comma PREP{sliced} | $comma PREP{toasted} | , PREP{cut into $inch?50 $shape}
garnish: NAME{$acid wedges} , NOTE{for $use} | NAME{$oil oil} , NOTE{for $use} | NAME{cooking spray}
  | PREP{$leafdid} $leaf , NOTE{for $use} | NAME{whipped cream} $tail
  | PREP{toasted} NAME{$nut:s} $tail | NAME{chives} or NAME{$herb} $tail
"""


@dataclass(frozen=True)
class Sentence:
    """One line: its tokens and a BIO label for each."""

    tokens: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Splits:
    """Three disjoint sets of sentences."""

    train: list[Sentence]
    dev: list[Sentence]
    test: list[Sentence]


class _Rule:
    """Alternatives with their cumulated weights, and those held out of train."""

    def __init__(self) -> None:
        self.known: list[tuple[_Part, ...]] = []
        self.held: list[tuple[_Part, ...]] = []
        self.bounds: list[float] = []


class _Part(NamedTuple):
    """A part of an alternative: a literal, a reference to a rule or a labelled chunk."""

    text: str  # the literal, or the type of the chunk
    rule: _Rule | None
    chunk: tuple[_Part, ...]
    plural: str
    glue: str
    keep: int  # percentage


class _Line:
    """A line being written by the grammar; ``held_out`` is the share of held-out words."""

    def __init__(self, rng: Callable[[], float], held_out: float) -> None:
        self.rng = rng
        self.held_out = held_out
        self.tokens: list[str] = []
        self.labels: list[str] = []

    def pick(self, count: int) -> int:
        return int(self.rng() * count)

    def write(self, rule: _Rule) -> None:
        if rule.held and self.held_out and self.rng() < self.held_out:
            self.append(rule.held[self.pick(len(rule.held))])
        else:
            self.append(rule.known[bisect(rule.bounds, self.rng() * rule.bounds[-1])])

    def append(self, parts: tuple[_Part, ...]) -> None:
        for text, rule, chunk, plural, glue, keep in parts:
            if keep < 100 and self.rng() * 100 >= keep:
                continue
            start = len(self.tokens)
            if rule is not None:
                self.write(rule)
            elif chunk:
                self.append(chunk)
                inside = len(self.tokens) - start - 1
                self.labels[start:] = ["B-" + text] + ["I-" + text] * inside
            else:
                self.tokens.append(text)
                self.labels.append("O")
            if plural:
                self.tokens[-1] = _plural(self.tokens[-1])
            if glue:
                self.join(start)

    def join(self, at: int) -> None:
        self.tokens[at - 1 : at + 1] = ["".join(self.tokens[at - 1 : at + 1])]
        del self.labels[at]

    def smudge(self) -> None:
        """Add typing noise: letter case, a missing comma or space, a typo, a full stop."""
        tokens, labels = self.tokens, self.labels
        if (case := self.rng()) < 0.2:
            tokens[:] = [token.upper() if case < 0.03 else token.lower() for token in tokens]
        elif case < 0.35:
            tokens[0] = tokens[0].capitalize()
        if self.rng() < 0.1 and "," in tokens:
            at = tokens.index(",")
            del tokens[at], labels[at]
        at = self.pick(len(tokens))
        if self.rng() < 0.05 and labels[at][0] == "I" and (tokens[at - 1] + tokens[at]).isalpha():
            self.join(at)
        at = self.pick(len(tokens))
        if self.rng() < 0.3 and len(word := tokens[at]) > 4 and word.isalpha():
            cut = 1 + self.pick(len(word) - 2)
            one, two, rest = word[cut], word[cut + 1], word[cut + 2 :]
            tokens[at] = word[:cut] + (two + one, two, one + one + two)[self.pick(3)] + rest
        if self.rng() < 0.02 and len(tokens[-1]) > 4 and tokens[-1].isalpha():
            tokens.append(".")
            labels.append("O")


def _plural(word: str) -> str:
    if word[-1] in "s." or not re.search("[aeiou]", word):  # plural already, or an abbreviation
        return word
    if word[-1] == "y":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("sh", "ch", "x", "ato", "ango")) else "s")


def _parse(text: str, rules: dict[str, _Rule]) -> tuple[_Part, ...]:
    symbol = r"(?:([A-Z]+)\{([^}]*)\}|(\+?)(?:\$(\w+)(:s)?|([^\s?]+)))(?:\?(\d+))?"
    parts = []
    for kind, chunk, glue, name, plural, literal, keep in re.findall(symbol, text):
        rule = rules[name] if name else None
        inner = _parse(chunk, rules)
        parts.append(_Part(literal or kind, rule, inner, plural, glue, int(keep or 100)))
    return tuple(parts)


def _compile() -> tuple[_Rule, frozenset[str]]:
    """Compile the tables to the start rule, and find the words that train never has."""
    lexicons, grammar = (
        [entry.strip().split(": ", 1) for entry in re.split(r";|\n(?=\w)", table.strip())]
        for table in (_WORDS, _RULES)
    )
    rules = {name: _Rule() for name, _ in lexicons + grammar}
    known, held = set(re.findall(r"[^\s{}]+", _RULES)), set[str]()
    for name, body in lexicons:
        rule = rules[name]
        halves = zip(body.partition("||")[::2], (rule.known, rule.held), (known, held), strict=True)
        for half, alternatives, words in halves:
            alternatives += [_parse(entry.replace("_", " "), rules) for entry in half.split()]
            words.update(half.lower().replace("_", " ").split())
        rule.bounds = list(accumulate(1 / (rank + 2) for rank in range(len(rule.known))))
    for name, body in grammar:
        pairs = [alternative.rpartition("*") for alternative in body.split("|")]
        rules[name].known = [_parse(text, rules) for _, _, text in pairs]
        rules[name].bounds = list(accumulate(float(weight or 1) for weight, _, _ in pairs))
    return rules["line"], frozenset(held - known - set(map(_plural, known)))


_START, HELD_OUT = _compile()
"""``HELD_OUT``: the lower-case words that are written in dev and test only."""


def ingredients(train: int = 4000, dev: int = 500, test: int = 500, seed: int = 2014) -> Splits:
    """Make the corpus.

    No two sentences are equal, in any letter case, and the words in ``HELD_OUT`` are in dev and
    test only. The same seed makes the same corpus on every version of Python, and a longer train
    set begins with a shorter one and leaves dev and test as they are.
    """
    rng = random.Random(seed).random  # the one method whose stream no version changes
    seen: set[str] = set()

    def make(count: int, held_out: float) -> list[Sentence]:
        sentences: list[Sentence] = []
        while len(sentences) < count:
            line = _Line(rng, held_out)
            line.write(_START)
            line.smudge()
            if (key := " ".join(line.tokens).lower()) not in seen:
                seen.add(key)
                sentences.append(Sentence(tuple(line.tokens), tuple(line.labels)))
        return sentences

    tested, developed = make(test, 0.35), make(dev, 0.35)
    return Splits(train=make(train, 0.0), dev=developed, test=tested)


def tokenize(line: str) -> list[str]:
    """Split a raw ingredient line as the corpus is split.

    Commas (but not within a number), colons, semicolons, brackets and bullets stand alone,
    ``250g`` and ``14-oz`` stay whole, and a full stop stays on its word unless it ends the line
    after a word of five letters or more, which is no abbreviation.
    """
    tokens = re.findall(r"\d+,\d[^\s,:;()•*]*|[^\s,:;()•*]+|[,:;()•*]", line)
    if tokens and re.fullmatch(r"[^\W\d_]{5,}\.", tokens[-1]):
        tokens[-1:] = [tokens[-1][:-1], "."]
    return tokens


def column_text(sentences: Iterable[Sentence]) -> str:
    """Write a ``token<TAB>label`` line for each token and a blank line between sentences."""
    return "\n".join("".join(map("{}\t{}\n".format, s.tokens, s.labels)) for s in sentences)
