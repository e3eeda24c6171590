"""Invented diagnoses: who tends to have them, and the hierarchy that coarsens them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.people.population import Array

__all__ = ["DIAGNOSES", "Diagnosis", "diagnosis_hierarchy", "diagnosis_weights"]


class Diagnosis(NamedTuple):
    """A diagnosis, its place in the hierarchy, and whom it meets."""

    name: str
    group: str
    chapter: str
    weight: float  # how common it is among those of the typical age
    age: int  # the typical age
    spread: int  # years around the typical age
    women: float  # share of women among those who have it
    visits: float  # mean number of further visits


DIAGNOSES = (
    Diagnosis("Type 2 diabetes", "Diabetes", "Metabolism", 9.0, 66, 16, 0.48, 3.0),
    Diagnosis("Type 1 diabetes", "Diabetes", "Metabolism", 0.9, 30, 18, 0.47, 4.0),
    Diagnosis("Underactive thyroid", "Thyroid", "Metabolism", 2.8, 58, 20, 0.82, 1.5),
    Diagnosis("Overactive thyroid", "Thyroid", "Metabolism", 0.8, 45, 17, 0.80, 1.8),
    Diagnosis("Obesity", "Nutrition", "Metabolism", 5.0, 47, 17, 0.55, 1.2),
    Diagnosis("Iron deficiency", "Nutrition", "Metabolism", 2.0, 33, 16, 0.85, 0.8),
    Diagnosis("High blood pressure", "Vessels", "Circulation", 12.0, 68, 17, 0.51, 1.5),
    Diagnosis("Varicose veins", "Vessels", "Circulation", 1.6, 56, 15, 0.70, 0.8),
    Diagnosis("Stroke", "Vessels", "Circulation", 2.4, 77, 12, 0.51, 3.5),
    Diagnosis("Heart attack", "Heart", "Circulation", 2.6, 70, 12, 0.34, 3.2),
    Diagnosis("Heart failure", "Heart", "Circulation", 4.2, 80, 11, 0.50, 4.5),
    Diagnosis("Irregular heartbeat", "Heart", "Circulation", 4.0, 76, 12, 0.46, 2.5),
    Diagnosis("Asthma", "Chronic lung", "Breathing", 4.0, 28, 22, 0.58, 1.6),
    Diagnosis("Chronic bronchitis", "Chronic lung", "Breathing", 3.6, 71, 12, 0.50, 2.8),
    Diagnosis("Pneumonia", "Lung infection", "Breathing", 2.5, 74, 18, 0.47, 1.4),
    Diagnosis("Influenza", "Lung infection", "Breathing", 2.2, 40, 28, 0.52, 0.4),
    Diagnosis("Breast cancer", "Solid tumour", "Tumours", 3.0, 64, 14, 0.99, 5.0),
    Diagnosis("Prostate cancer", "Solid tumour", "Tumours", 2.8, 71, 9, 0.00, 4.0),
    Diagnosis("Bowel cancer", "Solid tumour", "Tumours", 1.6, 69, 12, 0.46, 5.5),
    Diagnosis("Lung cancer", "Solid tumour", "Tumours", 1.6, 70, 10, 0.45, 6.0),
    Diagnosis("Leukaemia", "Blood tumour", "Tumours", 0.5, 66, 20, 0.42, 7.0),
    Diagnosis("Lymphoma", "Blood tumour", "Tumours", 0.6, 63, 18, 0.44, 6.0),
    Diagnosis("Depression", "Mood", "Mind", 6.5, 38, 19, 0.64, 2.5),
    Diagnosis("Bipolar disorder", "Mood", "Mind", 0.9, 33, 14, 0.52, 3.5),
    Diagnosis("Anxiety", "Worry", "Mind", 6.0, 31, 16, 0.65, 2.0),
    Diagnosis("Sleeplessness", "Worry", "Mind", 2.5, 50, 20, 0.60, 0.8),
    Diagnosis("Alcohol dependence", "Dependence", "Mind", 2.2, 46, 14, 0.28, 2.8),
    Diagnosis("Opioid dependence", "Dependence", "Mind", 1.1, 34, 10, 0.36, 3.0),
    Diagnosis("Schizophrenia", "Psychosis", "Mind", 0.7, 35, 14, 0.42, 4.0),
    Diagnosis("Dementia", "Decline", "Nerves", 6.5, 86, 8, 0.62, 2.6),
    Diagnosis("Parkinson disease", "Decline", "Nerves", 1.2, 76, 9, 0.39, 3.0),
    Diagnosis("Migraine", "Attacks", "Nerves", 3.2, 36, 13, 0.77, 1.0),
    Diagnosis("Epilepsy", "Attacks", "Nerves", 0.9, 40, 26, 0.49, 2.2),
    Diagnosis("Multiple sclerosis", "Inflamed nerves", "Nerves", 0.5, 41, 12, 0.74, 4.5),
    Diagnosis("Back pain", "Spine", "Motion", 8.0, 49, 18, 0.54, 1.6),
    Diagnosis("Slipped disc", "Spine", "Motion", 1.8, 46, 12, 0.45, 2.4),
    Diagnosis("Worn knee", "Joints", "Motion", 4.8, 70, 12, 0.61, 1.9),
    Diagnosis("Worn hip", "Joints", "Motion", 3.0, 72, 11, 0.57, 2.1),
    Diagnosis("Rheumatoid arthritis", "Joints", "Motion", 1.1, 57, 14, 0.73, 3.4),
    Diagnosis("Brittle bones", "Bones", "Motion", 2.4, 75, 10, 0.86, 1.4),
    Diagnosis("Broken wrist", "Bones", "Motion", 1.9, 44, 30, 0.56, 1.2),
    Diagnosis("Pregnancy", "Childbearing", "Reproduction", 9.0, 29, 5, 1.00, 4.0),
    Diagnosis("Miscarriage", "Childbearing", "Reproduction", 1.2, 31, 6, 1.00, 1.4),
    Diagnosis("Infertility", "Fertility", "Reproduction", 0.9, 35, 5, 0.66, 2.6),
    Diagnosis("Enlarged prostate", "Organs", "Reproduction", 3.8, 70, 11, 0.00, 1.3),
    Diagnosis("Endometriosis", "Organs", "Reproduction", 1.0, 34, 8, 1.00, 2.2),
    Diagnosis("HIV", "Lasting infection", "Infection", 0.6, 42, 13, 0.24, 3.2),
    Diagnosis("Hepatitis C", "Lasting infection", "Infection", 0.7, 54, 13, 0.37, 2.6),
    Diagnosis("Chlamydia", "Passing infection", "Infection", 1.8, 22, 5, 0.66, 0.6),
    Diagnosis("Urinary infection", "Passing infection", "Infection", 3.4, 48, 28, 0.83, 0.7),
    Diagnosis("Gallstones", "Bile", "Digestion", 2.0, 54, 17, 0.68, 1.5),
    Diagnosis("Reflux", "Stomach", "Digestion", 3.6, 54, 18, 0.53, 0.9),
    Diagnosis("Stomach ulcer", "Stomach", "Digestion", 1.0, 58, 16, 0.45, 1.4),
    Diagnosis("Irritable bowel", "Bowel", "Digestion", 2.0, 36, 14, 0.67, 1.3),
    Diagnosis("Crohn disease", "Bowel", "Digestion", 0.5, 33, 14, 0.52, 4.0),
    Diagnosis("Appendicitis", "Bowel", "Digestion", 0.9, 24, 14, 0.45, 0.6),
)


def diagnosis_hierarchy() -> tuple[tuple[str, str, str, str], ...]:
    """One row per diagnosis: itself, its group, its chapter, and the star that tells nothing.

    >>> diagnosis_hierarchy()[0]
    ('Type 2 diabetes', 'Diabetes', 'Metabolism', '*')
    """
    return tuple((one.name, one.group, one.chapter, "*") for one in DIAGNOSES)


def diagnosis_weights(ages: Array) -> Array:
    """How likely each diagnosis is: first the rows of women by age, then those of men."""
    near = np.stack([_near(one, ages) for one in DIAGNOSES], axis=1)
    women = np.array([one.women for one in DIAGNOSES])
    return np.concatenate([near * women, near * (1 - women)])


def _near(one: Diagnosis, ages: Array) -> Array:
    return np.asarray(one.weight * np.exp(-(((ages - one.age) / one.spread) ** 2) / 2))
