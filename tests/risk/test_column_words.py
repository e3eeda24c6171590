"""Words of column names in the languages of Europe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import Role
from discreet.risk.column_words import cut, known_word
from tests.risk.strategies import some

NAMES: dict[Role, str] = {
    "identifier": "ssn SSN first_name firstName LASTNAME last.name e-mail email_address phone_number telephone street "
    "home_address passport NHS_number MRN ip ip_address IPAddress iban uuid fullname postal_address birth_name "
    "Nachname Straße Telefonnummer Versichertennummer Geburtsname nom_de_famille prénom courriel numéro_sécurité_sociale "
    "apellidos dirección DNI cognome codice_fiscale indirizzo achternaam BSN telefoonnummer nazwisko PESEL ulica "
    "sobrenome morada telemóvel efternamn personnummer gatuadress",
    "quasi": "age Sex GENDER race zip zip_code ZIPCODE postcode postalCode city state native-country marital-status "
    "education occupation workclass date_of_birth birthDate birthdate birth_year dob BIRTHDAY admission_date ethnicity "
    "religion nationality country_name iage isex mstat educ motheduc occ1 hisp agesq number_of_children nkids yearborn "
    "Geschlecht Geburtsdatum Alter Familienstand Staatsangehörigkeit Bundesland PLZ Beruf Schulabschluss Konfession "
    "sexe âge date_naissance situation_familiale nationalité code_postal profession niveau_études commune "
    "sexo edad fecha_nacimiento estado_civil nacionalidad código_postal ocupación provincia nivel_estudios "
    "sesso età data_nascita stato_civile cittadinanza professione titolo_studio comune regione "
    "geslacht leeftijd geboortedatum burgerlijke_staat nationaliteit woonplaats beroep opleiding "
    "płeć wiek data_urodzenia stan_cywilny obywatelstwo województwo zawód wykształcenie "
    "idade género nascimento profissão freguesia concelho escolaridade naturalidade "
    "kön ålder födelsedatum civilstånd medborgarskap kommun yrke utbildning",
    "sensitive": "diagnosis diagnoses disease icd_10 icd10 income salary-class Salary medication hiv_status credit_score "
    "vote party bmi drug_name lwage faminc hrwage birth_weight testscore capital-gain household_income health_status "
    "Diagnose Krankheit Einkommen Gehalt Vermögen Miete diagnostic maladie revenu salaire enfermedad ingresos salario "
    "diagnosi malattia reddito stipendio ziekte inkomen salaris choroba rozpoznanie dochód wynagrodzenie doença "
    "rendimento salário sjukdom inkomst förmögenhet",
}


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES.items() for name in names.split()])
def test_typical_names_are_known(role: Role, name: str) -> None:
    word = known_word(name)
    assert word is not None
    assert word.role == role


@pytest.mark.parametrize("name", ["page", "message", "idea", "x1", "colour", "trace", "xyz", "q17", "v004"])
def test_a_word_is_not_found_where_it_is_not_meant(name: str) -> None:
    assert known_word(name) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("age_at_diagnosis", "age"),
        ("date of diagnosis", "date"),
        ("country_name", "country"),
        ("state_of_health", "health"),
    ],
)
def test_of_several_words_the_telling_one_counts(name: str, text: str) -> None:
    word = known_word(name)
    assert word is not None
    assert word.text == text


@pytest.mark.parametrize("name", ["childid", "MotherNr", "patientnumber", "husbandid2"])
def test_what_numbers_somebody_is_an_identifier(name: str) -> None:
    word = known_word(name)
    assert word is not None
    assert word.role == "identifier"


def test_a_social_score_is_no_social_security_number() -> None:
    for name in ("SocialCog", "social"):
        word = known_word(name)
        assert word is None or word.role != "identifier"
    security = known_word("socialsecur")
    assert security is not None
    assert security.role == "identifier"


@some
@given(st.text(max_size=40))
def test_any_name_can_be_cut(name: str) -> None:
    assert all(part.isalpha() and part == part.lower() and part.isascii() for part in cut(name))
    known_word(name)


@pytest.mark.parametrize(("name", "text"), [("marry", "married"), ("medicat", "medication"), ("diseased", "disease")])
def test_other_endings_of_a_known_word_are_understood(name: str, text: str) -> None:
    word = known_word(name)
    assert word is not None
    assert word.text == text
