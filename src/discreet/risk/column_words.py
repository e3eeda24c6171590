"""Words of column names in nine languages, and what a column of that name probably is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from discreet.policy import Role

# Per language: English, German, French, Spanish, Italian, Dutch, Polish, Portuguese, Swedish; without accents.
IDENTIFIER = """
    ssn socialsecurity socialsecuritynumber uuid guid nhs nhsnumber mrn passport licence license iban bic email mail
    telephone phone mobile cellphone fax ip ipaddress url website surname forename firstname lastname fullname givenname
    middlename maidenname familyname birthname username login nickname address street housenumber housename numberplate
    vin signature photo initials insurancenumber recordnumber casenumber patientid personid memberid respondentid
    participantid subjectid studentid customerid employeeid voterid hhid familyid householdid pid uid accountnumber soc_sec
    socsec patientno personno patientnr personnr subjectnr clientnr respondentnr casenr
    nachname vorname vorname familienname geburtsname anschrift adresse strasse hausnummer hausnr telefon handy
    ausweisnummer personalausweis reisepass versichertennummer versichertennr krankenversichertennummer
    sozialversicherungsnummer svnr steuernummer steuerid patientennummer patientennr personennummer kundennummer
    kontonummer matrikelnummer fallnummer kennzeichen unterschrift laufnummer kennung
    nom prenom patronyme rue courriel nir numsecu securitesociale passeport immatriculation identifiant matricule
    nombre nombres apellido apellidos direccion domicilio calle telefono movil correo dni nif curp pasaporte matricula
    cognome nome indirizzo cellulare codicefiscale passaporto targa tesserasanitaria
    naam achternaam voornaam adres straat huisnummer telefoon telefoonnummer mobiel bsn burgerservicenummer paspoort
    rekeningnummer klantnummer patientnummer
    imie nazwisko ulica pesel dowod paszport numerdomu
    sobrenome apelido morada endereco rua telefone telemovel celular cpf niss
    namn fornamn efternamn adress gata gatuadress mobilnummer personnummer samordningsnummer lopnummer epost
"""
NUMBERED = """
    id ids ident identifier idnr idno nr no num number nummer numero numer key idx seq seqn sequence ref reference row
    rownum obs record name names personnr pnr lfdnr lfd caseid serial serialno
"""
"""Words of record numbers and names that say nothing beside another word: `country name`, `number of children`."""

QUANTITY = """
    korpergrosse taille estatura statura wzrost altura lengte
    age ages agegroup ageyears agemonths alter lebensalter edad eta leeftijd wiek idade alder
    exper experience tenure seniority height parity
    children child kids kid kidslt kidsge nchild nkids childs siblings sibs sibling dependents famsize familysize
    hhsize householdsize numkids kinder kinderzahl enfants hijos figli kinderen dzieci filhos barn haushaltsgrosse
    birthyear yearofbirth yob geburtsjahr gebjahr anneenaissance annonascita geboortejaar rokurodzenia fodelsear
    anonascimento anonacimiento schoolyears yearsofschool yearsofeducation schooling
"""
"""Quasi-identifiers that are amounts, so that ranges of them mean something."""

QUASI = """
    sex gender male female man woman boy girl race racial ethnic ethnicity ethnicgroup black blck blk white hispanic hispan hisp latino
    latina asian native indigenous aboriginal minority nonwhite mixed caste tribe clan nationality citizenship citizen
    country nation birthplace placeofbirth born birth birthday birthdate birthcountry birthmonth dob bday dateofbirth
    cohort generation zip zipcode postcode postal postalcode city town village county state province region district
    municipality parish borough commune canton metro metropolitan urban urbanicity rural suburb suburban smsa msa fips
    ward neighborhood neighbourhood tract latitude longitude lat location residence hometown division area south north
    east west midwest northeast southeast northwest southwest marital married marriage marr single divorced divorce
    widowed widow separated spouse cohabit cohabiting nevermarried civilstatus maritalstatus mstat marst
    marstat education educ edu edlevel educational school schooltype highschool college university degree diploma
    nodegree hsgrad collgrad graduate grad dropout qualification literacy literate student freshman sophomore junior
    senior major occupation occupational occ occup job jobtitle profession professional prof manager clerical blue
    employer employment employed employ unemployed selfemployed workclass worker retired housewife farmer industry indus
    ind sector manufacturing manuf construction services service trade position rank title jobtype contract religion
    religious relig faith catholic protestant muslim jewish christian language mothertongue immigrant immigration
    immigr migrant migration foreign foreigner refugee visa household hh family veteran vet military army death died
    deathdate workstat inlf labforce laborforce wrkstat wkstat cntry ctry prov ethn lang fml nwhite maritl marit empl emp selfemp uemp wrk
    work working company role team office branch department promotion distance commute commuting prestige prestg ht
    afam cauc caucasian afroamerican population popul cohabitation births owner ownhome ownership ownrent deathyear deathmonth deathday yrdth modth dadth dydth daydth dthyr dthmo dthda dthday yeardeath monthdeath daydeath yod admission admitted discharge discharged visitdate hired hiredate enrolled
    entry arrival embarked passenger twin orphan head relationship homeowner tenant dwelling housing
    geschlecht geburt geburtsdatum geburtstag gebdat geburtsort geburtsland herkunft nationalitat nationalitaet
    staatsangehorigkeit staatsangehoerigkeit staatsburgerschaft land bundesland kreis landkreis gemeinde
    gemeindekennziffer ags ort wohnort stadt bezirk plz postleitzahl familienstand verheiratet ledig geschieden verwitwet
    haushalt bildung schulabschluss abschluss schulbildung ausbildung beruf berufsgruppe tatigkeit taetigkeit branche
    wirtschaftszweig arbeitgeber konfession ethnie muttersprache sprache migrationshintergrund todesdatum sterbedatum
    todestag aufnahmedatum entlassungsdatum erwerbsstatus erwerbstatigkeit anrede sterbejahr wohngebiet
    sexe genre naissance datenaissance ddn lieunaissance nationalite citoyennete pays departement dept ville codepostal
    arrondissement quartier situationfamiliale etatcivil situationmatrimoniale statutmatrimonial marie celibataire veuf
    menage diplome etudes niveauetudes instruction scolarite formation metier emploi csp pcs secteur employeur langue
    origine immigre deces datedeces
    sexo genero nacimiento fechanacimiento lugarnacimiento nacionalidad ciudadania pais provincia municipio ciudad
    comunidad comarca poblacion distrito barrio codigopostal estadocivil casado casada soltero soltera divorciado viudo
    hogar educacion estudios escolaridad nivelestudios titulacion ocupacion profesion empleo trabajo etnia raza idioma
    lengua origen fallecimiento defuncion
    sesso genere nascita datanascita luogonascita nazionalita cittadinanza paese regione comune citta statocivile
    coniugato celibe nubile divorziato vedovo famiglia istruzione titolostudio scuola laurea professione occupazione
    lavoro impiego settore razza religione lingua decesso ricovero dimissione
    geslacht geboorte geboortedatum geboorteplaats geboorteland nationaliteit gemeente provincie plaats woonplaats stad
    wijk buurt burgerlijkestaat burgstaat gehuwd getrouwd gescheiden ongehuwd huishouden opleiding opleidingsniveau
    onderwijs beroep functie werkgever bedrijfstak etniciteit herkomst religie geloof taal overlijden opname ontslag
    plec urodzenia urodzenie dataurodzenia miejsceurodzenia narodowosc obywatelstwo kraj wojewodztwo powiat gmina miasto
    miejscowosc kodpocztowy stancywilny zonaty zamezna rozwiedziony gospodarstwo wyksztalcenie edukacja szkola zawod
    praca zatrudnienie branza rasa wyznanie jezyk pochodzenie zgon zgonu
    nascimento datanascimento naturalidade cidadania regiao concelho freguesia estado cidade cep solteiro solteira viuvo
    agregado educacao instrucao habilitacoes profissao ocupacao emprego trabalho setor raca religiao obito internamento
    kon fodelsedatum fodd fodelseland fodelseort medborgarskap nationalitet lan kommun postnummer postnr civilstand
    gift ogift skild hushall utbildning utbildningsniva skola examen yrke sysselsattning arbetsgivare bransch
    etnicitet ursprung sprak dod dodsdatum inskrivning
    agric agriculture agricultural farm farming forestry mining retail wholesale transport transportation logistics
    finance banking hospitality government govt civil business entertainment engineer engineering developer programmer
    scientist specialist analyst administrator architect designer consultant technician teacher nurse lawyer attorney
    executive supervisor director apprentice apprenticeship intern trainee faculty professor lecturer remote onsite
    telework homeoffice fulltime parttime permanent temporary seasonal freelance firm plant workplace worksite
    bluecollar whitecollar bluecol whitecol skilled unskilled naics nace isco isced travel babies baby infant toddler
    preteen preteens teen teens teenager teenagers adult adults elderly grandchild grandchildren grandparent
    stepfather stepmother stepparent brothers sisters firstborn plurality precinct site clinic provider facility
    villages vill hamlet settlement cluster psu stratum strata zone cbsa nuts lga lsoa msoa geoid geography lon lng
    easting northing coordinates altitude long inner outer innercity outercity centcity rur urb nrth onset datetime
    timestamp season hair eyes eyecolor eyecolour haircolor handed handedness car cars vehicle vehicles motorcycle
    motorbike bike bicycle radio television tv toilet electricity electric refrigerator fridge roof floor house flat
    apartment condo condomin condominium home homeless housed landlord lodging pet pets driver driving passengers
    occupant pedestrian hobby hobbies sport sports athlete athletic athletics club enroll enrol phd bachelor bachelors
    master masters doctorate kindergarten preschool tertiary vocational hs hschool citizens dead deceased alive
    survive survives dependants tuition unem unemp unemrate
"""

MEASURED = """
    weights wgt wght wt
    diagnosis diagnoses diagnosed diag dx disease illness sick sickness condition comorbidity icd atc drug drugs
    medication medications medicine prescription treatment treated treat therapy surgery operation symptom symptoms hiv
    aids std cancer tumor tumour diabetes diabetic asthma hypertension stroke infarction depression depressed anxiety
    mental psychiatric suicide disability disabled handicap health healthy hospital hospitalized hospitalised doctor
    physician visits mdvis pain allergy allergies blood bloodtype bloodpressure sysbp diabp sbp dbp systolic diastolic
    cholesterol chol glucose insulin hemoglobin creatinine albumin bilirubin bmi weight obese obesity overweight pregnant
    pregnancy abortion contraception contraceptive smoke smoker smoked smoking smokes cigarettes cigarette cigs cig packs
    tobacco alcohol drink drinks drinking drunk abuse beer marijuana cannabis cocaine substance addiction vaccine
    vaccinated test tests testscore testresult result results score scores grade grades gpa sat act iq exam mark marks
    points income inc faminc salary wage wages earnings earning earn earned pay bonus compensation debt debts loan loans
    mortgage credit balance bill charges cost costs expense expenses expenditure expenditures spending consumption wealth
    asset assets networth savings saving capital capitalgain capitalloss pension benefit benefits welfare foodstamp
    foodstamps afdc tax taxes rent estate money amount deposit bankrupt bankruptcy default insurance insured premium claim
    claims offence offense offences crime crimes arrest arrests arrested conviction convictions convicted prison prisoner
    jail sentence felony criminal vote votes voted voting turnout party partyid politics political ideology liberal
    conservative republican democrat opinion attitude attitudes trust happy happiness satisfaction satisfied rating
    orientation sexual partners affair affairs infidelity union unionmember donation donate hours hrs overtime
    outcome survival survived relapse recurrence mortality victim violence purchase birthweight bwght lbw bweight apgar
    performance absence absences sleep exercise diet protein gene genotype mutation psa tumorstage nodes troponin pulse
    heartrate temperature urine platelets sodium potassium oxygen ability motivation intelligence kww afqt looks beauty
    attractive payment payments paid earns revenue profit price fare hlth hosp med medical injury inj alc smk felon
    felony parole probation priors gun guns ira retirement censored cens censor event followup durat duration futime
    target label response rate rated feel feeling think agree agreement support favor favour prefer believe belief
    attend attendance absent symptom lab labs dose viral cd cell cells count ast alt ldl hdl triglycerides bp ecg
    fever cough pressure respiratory cardiac heart kidney liver lung brain bone skin stage metastasis lesion biopsy
    remission recidivism rearrest violation penalty fine fines lawsuit complaint delinquent delinquency overdue
    default utilization expend expenses consum use used uses spend sales profits invest investment investments
    stocks bonds equity dividend dividends interest subsidy transfer transfers remittance remittances allowance
    poverty poor rich wealthy afford hardship reject rejected approve approved accept accepted denied deny
    personality neuroticism extraversion stress wellbeing loneliness lonely aggression bullying cognition cognitive
    memory reading math maths verbal vocabulary spelling essay quiz midterm final homework achievement skill skills
    religiosity sexuality homosexual gay lesbian chronic emergency medicaid medicare bronch bronchitis tb tuberculosis hbp
    ulcer colitis hepatitis hepat cough polio nervous nerves headache migraine infection infected bowel premature premie
    preterm gestation habit habits ascites edema trt rx arm placebo dosage pregnan pregnancies birthcontrol menopause
    menostat meno hormone receptor histology grading biomarkers antibody virus covid corona injured wound fracture
    obstruct surg surgical smok drunk addict bwt lwt wt illdays sickdays sickleave leave scale scales index attrition
    involvement balance option options stock bankruptcies delinq collections installment principal fee fees limit
    utilized inquiries liens arrears takeup consent willingness wtp fear worry hope mood ideology leftright lr therm
    thermometer importance important identity prejudice racist racism sexism abortion legal legalize
    deathpenalty spanking pornography religimp pray prayer church worship
    diagnose krankheit erkrankung befund medikament medikation arznei behandlung therapie blut blutdruck gewicht
    einkommen nettoeinkommen bruttoeinkommen gehalt lohn verdienst vermogen vermoegen schulden kredit miete rente steuer
    steuern behinderung schwerbehinderung schwangerschaft rauchen raucher alkohol note noten punkte testergebnis ergebnis
    straftat delikt partei wahl gewerkschaft gesundheit krankenstand versicherung kosten ausgaben umsatz
    diagnostic maladie pathologie medicament traitement symptome sang poids revenu revenus salaire patrimoine dette dettes
    loyer impot impots grossesse tabac fumeur alcool notes resultat infraction delit parti syndicat sante depenses
    diagnostico enfermedad medicamento tratamiento sintoma sangre peso ingreso ingresos salario sueldo renta patrimonio
    deuda deudas alquiler impuesto discapacidad embarazo tabaco fumador nota notas resultado puntuacion delito partido
    voto sindicato salud gasto gastos
    diagnosi malattia patologia farmaco terapia trattamento sintomo sangue reddito stipendio debito debiti affitto
    imposta pensione disabilita gravidanza fumo fumatore alcol risultato punteggio reato partito sindacato salute spesa
    spese
    ziekte aandoening medicijn medicatie behandeling symptoom bloed bloeddruk inkomen salaris loon schuld huur belasting
    pensioen zwangerschap roken roker cijfer resultaat delict partij vakbond gezondheid uitgaven
    diagnoza rozpoznanie choroba lek leki leczenie objaw krew waga dochod dochody zarobki pensja placa wynagrodzenie
    majatek dlug kredyt czynsz podatek emerytura niepelnosprawnosc ciaza palenie ocena wynik przestepstwo partia zdrowie
    wydatki
    doenca medicacao tratamento rendimento renda vencimento divida aluguel imposto pensao deficiencia gravidez fumante
    pontuacao saude despesa despesas
    diagnos sjukdom lakemedel medicin behandling symtom blod blodtryck vikt inkomst manadslon formogenhet skatt
    funktionshinder graviditet rokning rokare betyg resultat poang brott fackforening halsa utgifter
    helmet seatbelt seatbelts belted texting physical physically active activity strength workout gym fitness fruit
    fruits vegetable vegetables meat calories gambling gamble gaming unsafe condom condoms contracep streaming movies
    movie music subscription subscriber churn churned billing paperless autopay usage roaming minutes backup security
    protection internet online orders basket cart purchases bought buy buyer brand product coupon discount loyalty
    problem problems citation citations search searched searches stopped ticket tickets warning force weapon weapons
    taser resist resistance incident charged bail bond suspect warrant custody detained gang jury guilt guilty verdict
    plea defendant airbag deploy crash collision accident accidents severity severe speed impact casualty fatal
    improved improvement worse recover recovered recovery cure cured healing healed adverse toxicity reaction effects
    baseline radiologic radiology xray mri scan ultrasound esr crp wbc rbc hematocrit inr angina infarct coronary
    cholest hichol highbp hibp hypert gest gestweeks gained weightgain cesd phq mmse mcs sf36 barthel adl iadl
    karnofsky karno ecog nyha icu ventilated intubated transfusion transplant donor graft catheter implant stent
    bypass dialysis chemo chemotherapy radiotherapy radiation hormon hormonal recur metast mets carcinoma lymph
    malignant benign thickness invasion epilepsy seizure seizures schizophrenia bipolar autism autistic adhd ptsd
    dementia alzheimer parkinson arthritis rheumatoid copd emphysema eczema malaria vomit nausea diarrhea diarrhoea
    fatigue vision hearing blind deaf dental teeth menarche fertility ivf miscarriage stillbirth cesarean caesarean
    breastfed breastfeeding immun immunization immunized vacc measles waist hip hips girth circumference zscore
    stunted stunting anemia anaemia ferritin vitamin sugar lipid cortisol testosterone estrogen biomarker marker
    allele snp hla titer titre limited funded term verification util ratio history mortg mort mortgages gifts cosign
    guarantor holdings portfolio ssi snap tanf wic eitc dole stipend scholarship tips donations cash layoff laidoff
    joblost displaced fired quit turnover worklife engagement burnout hike raise statusquo referendum brexit election
    poll news newspaper media knowledge knows know aware awareness informed efficacy wildlife environment
    environmental climate pollution nuclear conservation economy ideal intention intend want desire meth method answer
    answers item question choice choose bid offer averse aversion risk risky disaster shock prob probability
    likelihood amt abil percentile perc toefl gre honors honours award cause satis satisf lifesat behaviour behavior
    habitual convict offender supervised prog program reduced recurrent comorbid lrscale admissions los stay insure
    hmo private pharmacy nurses physicians injuries expectancy
"""
SURVEY_WEIGHTS = """
    fnlwgt pweight sampweight samplingweight perwt asecwt finalweight wtfinl surveyweight perweight persweight
    hhweight pspwght anweight dweight finalwt psweight iweight sampleweight svywt svyweight finwt finalwgt perwgt
    personwgt hhwgt sampwt samplewt expansionfactor hochrechnung hochrechnungsfaktor ponderation redressement
    ponderacion ponderacao wegingsfactor
"""
"""How many people of the population a person of a survey stands for."""
DESIGN = """
    constant intercept fold split repwt replicate replicateweight interviewer enumerator edition essround filename
    imputed imputation holdout session randomseed
"""
"""Columns of a study's design, which say nothing of a person."""
CALENDAR = "weekday january february april june july august september october november december monday tuesday wednesday thursday friday saturday sunday year yr month mon day date time week wave period quarter jahr monat tag datum annee mois ano fecha anno mese maand rok ar manad dzien"
KIN = """
    mother father mom dad moth fath mum parent parents husband wife hus hushs spouse partner child son daughter brother
    sister respondent person patient client customer student employee member
"""
AFFIXES = """
    l ln log i r h w m f d n s hr hrs re sq squared cu lag lead ch delta diff gr grp group cat code class lvl
    level type status stat in of at the is has was yr yrs years first last fam mom dad moth fath mother
    father hus wife sp resp dk na new old max min avg mean total tot num no nr cur current prev past now pre
    post base av lt ge ever never any high low some non not other hh q k c real tot sum own
"""
"""Letters and words around a known one that do not change what it is: `lwage`, `agesq`, `motheduc`, `iage`."""


@dataclass(frozen=True)
class Word:
    """A known word in a name, with what it says."""

    text: str
    role: Role
    sure: bool = True
    """Whether it decides even where another known word is beside it."""
    quantity: bool = False
    measured: bool = False


@cache
def vocabulary() -> dict[str, Word]:
    """Every known word."""
    words: dict[str, Word] = {}
    groups: tuple[tuple[str, Role, dict[str, bool]], ...] = (
        (NUMBERED, "identifier", {"sure": False}),
        (KIN, "quasi", {"sure": False}),
        (CALENDAR, "quasi", {"sure": False}),
        (QUASI, "quasi", {}),
        (QUANTITY, "quasi", {"quantity": True}),
        (MEASURED, "sensitive", {"measured": True}),
        (IDENTIFIER, "identifier", {}),
        (DESIGN, "other", {}),
        (SURVEY_WEIGHTS, "other", {}),
    )
    for listed, role, traits in groups:
        words.update({text: Word(text, role, **traits) for text in listed.split()})
    return words


def own_words(name: str) -> set[str]:
    """The words of a name that say to which of several columns it belongs: rel of rel.time and rel.status.

    >>> own_words("rel.time"), own_words("d_rel"), own_words("firstDate")
    ({'rel'}, {'rel'}, set())
    """
    common = {*AFFIXES.split(), *CALENDAR.split(), *NUMBERED.split(), *KIN.split()}
    return {part for part in cut(name) if len(part) > 1 and part not in common}


LIGATURES = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "AE", "œ": "oe", "đ": "d"}
)
SHORT = frozenset(("age", "sex", "inc", "edu", "occ", "job", "alc", "cig", "zip", "kid", "emp", "smk", "smok"))
"""Words of three letters that are understood with an affix, too."""
ENOUGH, COMPOUND, INSIDE = 4, 5, 6
"""Letters a known word needs to be found beside two or three others, at an end of a longer word, and anywhere inside it."""
PERSON_NUMBER = re.compile("([a-z]+?)(id|nr|no|num|number|code)")
"""What numbers somebody: childid, motherid."""


ENDINGS = (
    *(
        "s",
        "es",
        "e",
        "y",
        "ed",
        "ied",
        "er",
        "ers",
        "ing",
        "ion",
        "ation",
        "ment",
        "al",
        "ity",
        "ness",
        "ful",
        "ry",
        "ery",
    ),
    *("or", "ist", "ant", "ance", "ence", "ic", "ical", "ive", "able", "age"),
)
"""What makes other words of one stem."""


def cut(name: str) -> list[str]:
    """The words of a name, without accents and digits.

    >>> cut("birthDate"), cut("IPAddress2"), cut("année_naissance"), cut("occ1")
    (['birth', 'date'], ['ip', 'address'], ['annee', 'naissance'], ['occ'])
    """
    plain = unicodedata.normalize("NFKD", name.translate(LIGATURES)).encode("ascii", "ignore").decode()
    apart = re.sub(r"([a-z])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\2 ", plain)
    return re.findall(r"[a-z]+", apart.lower())


def known_word(name: str) -> Word | None:
    """The word of a name that says most about the column.

    >>> known_word("motheduc").text, known_word("country_name").text, known_word("birth_weight").text
    ('educ', 'country', 'birth weight')
    """
    parts = cut(name)
    phrases = list(_phrases(parts))
    if phrases:
        return max(phrases, key=lambda word: len(word.text))
    found = [word for word in map(_in_token, parts) if word is not None]
    sure = [word for word in found if word.sure]
    for role in ("identifier", "other", "sensitive", "quasi"):
        # Of "age at diagnosis" and "date of diagnosis" the first word is what is written down.
        if role == "sensitive" and found and found[0].text in ("age", "date", "datum", "fecha"):
            return found[0]
        of_role = [word for word in sure if word.role == role]
        if of_role:
            return max(of_role, key=lambda word: len(word.text))
    if found:
        return found[-1]
    # Nothing is known as it is written: gdhlth, educdec.
    return next((word for word in map(_nearly, parts) if word is not None), None)


def _nearly(token: str) -> Word | None:
    """A known word of a name that has a few letters more, before or after it, or another ending."""
    words = vocabulary()
    # One letter more makes another word of many: trace.
    cores = [core for more in (2, 3) for core in (token[more:], token[:-more])]
    known = [words[core] for core in cores if len(core) >= ENOUGH and core in words and words[core].sure]
    return max(known, key=lambda word: len(word.text), default=None) or _inflected(token)


def _inflected(token: str) -> Word | None:
    """A known word with the same stem, such as married of marry, or one that is cut off, such as medicat.

    Words with that stem have to agree on the role, which is never one that is ignored.
    """
    if len(token) < ENOUGH:
        return None
    stems = {token.removesuffix(ending) for ending in ENDINGS if len(token) - len(ending) >= ENOUGH} - {token}
    forms = {stem + ending for stem in stems for ending in ("", *ENDINGS)}
    alike = [
        word
        for text, word in vocabulary().items()
        # Half an identifier is none: social is not the beginning of a social security number.
        if word.sure
        and (text in forms or (len(token) >= COMPOUND and text.startswith(token)))
        and (word.role != "identifier" or 2 * len(token) > len(text))
    ]
    return alike[0] if {word.role for word in alike} in ({"identifier"}, {"quasi"}, {"sensitive"}) else None


def _phrases(parts: list[str]) -> Iterator[Word]:
    """Known words that are written in several parts: `post code`, `date of birth`."""
    words = vocabulary()
    for size, start in product((4, 3, 2), range(len(parts))):
        together = parts[start : start + size]
        if len(together) == size:
            without = [
                part for part in together if part not in ("of", "de", "di", "da", "do", "der", "van", "la", "the")
            ]
            for joined in ("".join(together), "".join(without)):
                if len(without) > 1 and joined in words and words[joined].sure:
                    yield replace(words[joined], text=" ".join(together))


def _in_token(token: str) -> Word | None:
    """The longest known word in one part of a name: the whole, with affixes, or as a part of a compound."""
    words = vocabulary()
    if token in words:
        return words[token]
    if (numbered := PERSON_NUMBER.fullmatch(token)) and numbered[1] in KIN.split():
        return Word(token, "identifier")
    affixes = frozenset(AFFIXES.split())
    if token in affixes:
        return None
    best: Word | None = None
    for start, end in product(range(len(token)), range(len(token), 0, -1)):
        core = token[start:end]
        word = words.get(core)
        if word is None or (best is not None and len(core) <= len(best.text)):
            continue
        before, after = token[:start], token[end:]
        affixed = (len(core) > 3 or core in SHORT) and all(
            not rest or rest in affixes or rest in words for rest in (before, after)
        )
        compound = len(core) >= (COMPOUND if not before or not after else INSIDE)
        if (affixed or compound) and word.sure:
            best = word
    return best
