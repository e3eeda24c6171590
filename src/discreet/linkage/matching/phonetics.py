"""Phonetic codes of names (Double Metaphone, Cologne) and short forms of given names.

What is written differently but sounds alike gets one code. Codes choose which pairs are compared, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

# Double Metaphone (Philips 2000). At each place the first pattern that matches gives the code, then the second code where
# it differs, and what it matched is skipped; _ is no code. What is only looked at is in (?=...) and (?<=...).
_RULES = r"""
^[GKPW](?=N|R) _
^PS S
^X S
^[AEIOUY]+ A
[AEIOUY]+ _
BB? P
Ç S
(?<=[^AEIOUY]A)CH(?![IE]) K
(?<=[BM]A)CH(?=ER) K
^CA(?=ESAR) S
CH(?=IA) K
(?<=.)CH(?=AE) K X
^CH(?=ARAC|ARIS|OR(?!E)|YM|EM) K
(?<=OR)CH(?=ES|ID) K
(?<=AR)CH(?=IT) K
CH(?=[TS]) K
(?:^|(?<=[AOUE]))CH(?=[LRNMBHFVW]) K
^CH X
(?<=^M)CH K
CH X K
(?<!WI)CZ S X
CIA X
(?<=^A)CC(?=[IEH](?!U)) KS
(?<=U)CC(?=EE|ES) KS
(?<!^M)CC(?=[IEH](?!U)) X
(?<!^M)CC K
C[KGQ] K
CC(?![EI]) K
C(?=I[OEA]) S X
C(?=[IEY]) S
C K
DG(?=[IEY]) J
DG TK
D[TD]? T
FF? F
(?<=[^AEIOUY])GH K
^GH(?=I) J
^GH K
(?:(?<=[BHD].)|(?<=[BHD]..)|(?<=[BH]...))GH _
(?<=[CGLRT].U)GH F
(?<=[^I])GH K
GH _
(?<=^[AEIOUY])GN KN N
GN(?=EY) KN
GN N KN
GL(?=I) KL L
^G(?=Y|ES|EP|EB|EL|EY|IB|IL|IN|IE|EI|ER) K J
(?<![EIOR])(?<!DAN)(?<!RAN)(?<!MAN)G(?=ER|Y) K J
G(?=IER$) J
G(?=ET) K
GG(?=I) J K
G(?=[EIY]) J K
GG? K
(?:^|(?<=[AEIOUY]))H(?=[AEIOUY]) H
H _
J(?=OSE) H
^J J A
(?<=[AEIOUY])J(?=[AO]) J H
J$ J _
(?<=[SKL])J _
J(?=[LTKSNMBZ]) _
JJ? J
KK? K
(?<=I)LL(?=[OA]$) L _
(?<=A)LL(?=E(?:.*[AO]S?)?$) L _
LL? L
(?<=U)MB(?=$|ER) M
MM? M
NN? N
Ñ N
PH F
P[PB]? P
QQ? K
(?<=[^M].IE)R$ _ R
RR? R
(?<=[IY])S(?=L) _
^S(?=UGAR) X S
SH(?=EIM|OEK|OLM|OLZ) S
SH X
SI(?=[OA]) S X
^S(?=[MNLW]) S X
SZ S X
SCH(?=ER|EN) X SK
SCH(?=OO|UY|ED|EM) SK
^SCH(?=[^AEIOUYW]) X S
SCH X
SC(?=[IEY]) S
SC SK
(?<=[AO]I)S$ _ S
SS? S
TI(?=ON) X
TI(?=A) X
TCH X
TH(?=OM|AM) T
TT?H 0 T
T[TD]? T
VV? F
WR R
^W(?=[AEIOUY]) A F
^WH A
(?<=[EO])W(?=SK[IY]) _ F
(?<=[AEIOUY])W$ _ F
WI[CT]Z TS FX
W _
(?<=[AO]U)X$ _
X[CX]? KS
ZH J
ZZ?(?=[OIA]) S TS
ZZ? S
. _
"""


def _readied(rules: str) -> tuple[tuple[re.Pattern[str], str, str], ...]:
    lines = (line.replace("_", "").split(" ") for line in rules.strip().splitlines())
    return tuple((re.compile(pattern), codes[0], codes[-1]) for pattern, *codes in lines)


_SOUNDS = _readied(_RULES)
LONGEST = 4
"""Letters of a code, as the author has it."""


@lru_cache(maxsize=1 << 16)
def double_metaphone(name: str) -> tuple[str, str]:
    """The two codes of a name, equal where there is one way to say it.

    >>> double_metaphone("Schmidt"), double_metaphone("Smith")
    (('XMT', 'SMT'), ('SM0', 'XMT'))
    """
    text = re.sub(r"[^A-ZÇÑ]", "", name.upper())
    first = second = ""
    place = 0
    while place < len(text) and min(len(first), len(second)) < LONGEST:
        found, one, other = next(
            (match, one, other) for pattern, one, other in _SOUNDS if (match := pattern.match(text, place))
        )
        first, second, place = first + one, second + other, max(found.end(), place + 1)
    return first[:LONGEST], second[:LONGEST]


# Cologne phonetics (Postel 1969), for German names.
_COLOGNE = _readied(r"""
[AEIJOUYÄÖÜ] 0
H _
P(?!H) 1
B 1
[DT](?=[CSZ]) 8
[DT] 2
[FVWP] 3
[GKQ] 4
^C(?=[AHKLOQRUX]) 4
^C 8
(?<![SZ])C(?=[AHKOQUX]) 4
C 8
(?<=[CKQ])X 8
X 48
L 5
[MN] 6
R 7
[SZß] 8
. _
""")


@lru_cache(maxsize=1 << 16)
def cologne(name: str) -> str:
    """The Cologne code of a name.

    >>> cologne("Müller-Lüdenscheidt"), cologne("Wikipedia"), cologne("Breschnew")
    ('65752682', '3412', '17863')
    """
    text = re.sub(r"[^A-ZÄÖÜß]", "", name.upper().replace("SS", "ß") if "ß" in name else name.upper())
    codes = "".join(
        next(code for pattern, code, _ in _COLOGNE if pattern.match(text, place)) for place in range(len(text))
    )
    single = re.sub(r"(\d)\1+", r"\1", codes)
    return single[:1] + single[1:].replace("0", "")


# Short forms of given names, each line the long form and what people are called; in folded letters.
_SHORT = """
ABIGAIL ABBY GAIL | ABRAHAM ABE BRAM | ADELAIDE ADELA ADDIE | AGNES AGGIE NESSIE | ALBERT AL BERT BERTIE | ALEXANDER ALEX ALEC ALECK SANDY SASCHA
ALEXANDRA ALEXA SANDRA LEXI | ALFRED ALF ALFIE FRED FREDDY | ALICE ALLIE | AMANDA MANDY | ANDREW ANDY DREW | ANDREAS ANDI | ANGELA ANGIE
ANNE ANN ANNA ANNIE NAN NANCY HANNAH | ANTHONY TONY | ANTON TONI | ARTHUR ART ARTIE | AUGUSTUS GUS AUGUST | BARBARA BARB BABS BARBIE BAERBEL | BARTHOLOMEW BART
BEATRICE BEA TRIXIE | BENJAMIN BEN BENNY BENJI | BERNARD BERNIE | BRIDGET BIDDY BRIDIE | BRITTANY BRITT | CAROLINE CAROL CARRIE LINA | CARLOS CHARLIE
CATHERINE KATHERINE KATHRYN CATHY KATHY KATE KATIE KITTY KAY KIT | KATHARINA KATHE KATJA KATI | CHARLES CHARLIE CHAS CHUCK CHARLEY | CHARLOTTE LOTTIE LOTTE CHARLIE
CHESTER CHET | CHRISTINE CHRIS CHRISSIE TINA CHRISTINA | CHRISTOPHER CHRIS KIT TOPHER | CLARENCE CLARY | CLARA CLAIRE CLARE | CLIFFORD CLIFF | CONSTANCE CONNIE
CORNELIA NELL NELLIE | CYNTHIA CINDY | DANIEL DAN DANNY | DANIELLE DANI | DAVID DAVE DAVEY DAVY | DEBORAH DEB DEBBIE | DENNIS DENNY | DONALD DON DONNIE
DOROTHY DOT DOTTIE DOLLY DORA | DOUGLAS DOUG | EDITH EDIE | EDWARD ED EDDIE NED TED TEDDY | EDWIN ED NED | EDMUND ED NED TED | ELEANOR ELLEN NELL NELLIE NORA LENORE
ELIZABETH ELISABETH ELIZA BETH BETSY BETTY BESS BESSIE LIZ LIZZIE LIBBY LISA LISBETH ELSIE ELSE ELLA LIESEL SISSI | EMILY EM EMMIE MILLIE | ERNEST ERNIE ERNST
ESTHER HETTIE ESSIE | ETHEL ETTIE | EUGENE GENE | FLORENCE FLO FLORA FLOSSIE | FRANCES FANNY FRAN FRANNIE FRANKIE | FRANCIS FRANK FRANKIE FRANZ FRANCOIS
FRANCISCO PACO PANCHO | FREDERICK FRED FREDDY FRITZ FRIEDRICH FREDERIC | GABRIEL GABE | GABRIELE GABI | GEORGE GEORGIE JORG JOERG GEORG | GERALD GERRY JERRY
GERTRUDE GERTIE TRUDY TRUDE | GILBERT GIL BERT | GREGORY GREG | GUSTAV GUS | GUNTER GUNTHER | HAROLD HARRY HAL | HARRIET HATTIE | HELEN HELENA NELL NELLIE LENA LENI
HENRY HARRY HANK HAL HEINRICH HEINZ HENRI | HERBERT HERB BERT | HERMAN HERMANN HARRY | HUBERT BERT HUGH | HENRIETTA HETTIE ETTA HENNY | IGNACIO NACHO
ISAAC IKE | ISABEL ISABELLA BELLA BELLE IZZY | JACOB JAKE JACK JAKOB | JAMES JIM JIMMY JAMIE JEM | JANE JANEY JENNY | JANET JAN | JASMINE JAZZ | JEFFREY JEFF GEOFF
JENNIFER JEN JENNY | JESSICA JESS JESSIE | JOAN JOANIE | JOHANNA HANNA HANNE JOHANNE | JOHANNES HANS JOHANN JAN HANNES | JOHN JACK JOHNNY JOCK | JONATHAN JON JONNY
JORDAN JORDY | JOSE PEPE | JOSEPH JOE JOEY JO SEPP JOSEF | JOSEPHINE JO JOSIE | JOSHUA JOSH | JUDITH JUDY | JULIA JULES JULIE | JULIAN JULES | KENNETH KEN KENNY
KARL CARL | LAURA LAURIE LOLLY | LAWRENCE LARRY LAURIE LARS LAURENCE | LEONARD LEN LENNY LEO LEON | LEROY ROY | LILLIAN LIL LILY LILLY | LINDSEY LINZ | LOUIS LOU LEWIS LUDWIG
LOUISA LOUISE LOU LULU | LUCY LU LUCIA | MABEL MAE | MARGARET MAGGIE MEG PEG PEGGY MADGE MARGE MARGERY GRETA GRETE DAISY MAISIE RITA GRETCHEN MARGARETE
MARIA MARIE MIA MITZI RIA | MARIANNE MARY ANN | MARTHA PATTY MATTIE | MARTIN MARTY | MARY MOLLY POLLY MAY MAMIE MINNIE | MATILDA TILLY MATTIE MAUD | MATTHEW MATT MATTHIAS
MAXIMILIAN MAX | MELISSA MISSY LISSA | MELVIN MEL | MICHAEL MIKE MICK MICKY MICKEY MICHEL | MIGUEL MICK | MILDRED MILLIE | MONICA MONA MONI | NATHANIEL NAT NATE NATHAN
NICHOLAS NICK NICKY KLAUS NIKOLAUS COLIN | NORMAN NORM | OLIVER OLLIE | OSCAR OZZIE | PAMELA PAM | PATRICIA PAT PATSY PATTY TRICIA TRISH | PATRICK PAT PADDY
PENELOPE PENNY | PETER PETE | PHILIP PHIL PIP PHILLIP | PRISCILLA CILLA | PRUDENCE PRUE | RACHEL RAY SHELLY | RANDY RAN | RAYMOND RAY | REBECCA BECKY BECCA
REGINALD REG REGGIE RON | RHONDA RONNIE | RICHARD DICK RICH RICK RICKY RICHIE | ROBERT BOB BOBBY ROB ROBBIE ROBIN BERT | RODNEY ROD | ROGER RODGE HODGE | RONALD RON RONNIE
ROSE ROSIE ROSA | ROSEMARY ROSE ROMY | RUDOLF RUDI RUDY DOLF | SAMANTHA SAM | SAMUEL SAM SAMMY | SARAH SALLY SADIE SARA | SHARON SHARI | SHIRLEY SHIRL | SIGMUND SIGGI
SIMON SI | SOPHIA SOPHIE | STANLEY STAN | STEPHEN STEVE STEVEN STEFAN STEPHAN | SUSAN SUE SUSIE SUKEY SUSANNAH SUZANNE | SUSANNE SUSI SANNE | SYLVESTER SLY VESTER
TERENCE TERRY TEL | TERESA THERESA TESS TERRY TESSA TERRI RESI | THEODORE TED TEDDY THEO | THEODOR THEO | THOMAS TOM TOMMY | TIMOTHY TIM TIMMY | TREVOR TREV | URSULA URSEL USCHI
VANESSA NESSA | VERNON VERN | VICTOR VIC | VICTORIA VICKY TORI | VINCENT VIN VINNIE VINCE | VIRGINIA GINNY GINGER | WALTER WALT WALLY WAT | WILBUR WILL
WILHELM WILLI WILLY | WILHELMINA MINA MINNIE WILMA BILLIE | WILLIAM WILL BILL BILLY WILLIE LIAM | WINIFRED WINNIE FREDA | WOLFGANG WOLF | ZACHARY ZACK
"""


def long_forms() -> Mapping[str, str]:
    """Per form of a given name the long form."""
    lines = (line.split() for line in re.split(r"[|\n]", _SHORT) if line.split())
    found: dict[str, str] = {}
    for long, *short in lines:
        found.setdefault(long, long)
        for name in short:
            found.setdefault(name, long)
    # A form of a form is one of the first: HANNA of JOHANNA.
    return MappingProxyType({name: found[long] for name, long in found.items()})


SHORT_FORMS = long_forms()
"""Per given name in folded letters the long form it is counted to; of names with several the first."""
