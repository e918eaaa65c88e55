/**
 * Twenty facts of each sample patient that a clinician would look for in three
 * minutes, written from the raw data of Synthea on 21 Nov 2026, not from a page.
 * Those that are samples of this repository are tested; the others are in the
 * data beside it, for `npm run bench -- page-one`.
 */
export const SAMPLE_FACTS: Readonly<Record<string, string>> = {
  'adan-fuentes': `
    7 Sep 2001
    Male
    Chronic pain … 2019
    Chronic low back pain
    Chronic neck pain
    Acetaminophen 325 MG / HYDROcodone Bitartrate 7.5 MG … 24 Sep 2014
    Codeine Phosphate 15 MG … 5 Dec 2025
    Hydrocodone Bitartrate 5 MG … 2 Mar 2020
    126/86 mmHg
    Heart rate … 87
    Weight … 81.8 kg
    Hemoglobin … 17.4 g/dL
    Platelets … 224
    Drugs of abuse … Negative
    GAD-7 … 15
    Never smoked tobacco
    Emergency room admission … 30 Sep 2025 … Fracture of bone
    Influenza … 5 Dec 2025
    Td (adult) … 18 Nov 2022
    Dr. Dylan44 Robel940`,
  'dannie-bogisich': `
    5 Jan 1993
    Fish … Eruption of skin
    Unhealthy alcohol drinking behavior
    Anemia … 2016
    Prediabetes … 2016
    Chronic low back pain
    Percocet … 28 Apr 2026
    Yaz 28 Day Pack … 13 Apr 2026
    Epinephrine … 16 Sep 1993 … ago
    130/74 mmHg
    Weight … 70.9 kg
    BMI … 28
    A1c … 5.84 %
    Creatinine … 1.08 mg/dL
    Low Density Lipoprotein … 115 mg/dL
    Hemoglobin … 17.4 g/dL … 16 Apr 2024
    AUDIT-C … 4
    Childbirth … 16 Feb 2021
    Obstetric emergency hospital admission … 16 Feb 2021
    Insertion of intrauterine … 23 Apr 2024`,
  'isaiah-weber': `
    17 Nov 1992
    Prediabetes … 2014
    Anemia … 2014
    Chronic neck pain
    Acetaminophen 325 MG … 28 Apr 2026
    120/72 mmHg
    Heart rate … 90
    Temperature … 38 °C … 13 Jul 2026
    Weight … 77 kg
    A1c … 6.36 %
    Creatinine … 1.14 mg/dL … 1.46
    Glucose … 78.2 mg/dL
    Low Density Lipoprotein … 110 mg/dL … 159
    Hemoglobin … 13.7 g/dL … 16 Apr 2024
    Potassium … 4.15 mmol/L
    Ex-smoker … 28 Apr 2026
    Admission to skilled nursing facility … 24 Sep 2021
    Emergency room admission … 24 Sep 2021 … Burn injury
    Emergency room admission … 28 Nov 2019
    Dr. Elmer371 Gusikowski974`,
  'keith-kiehn': `
    4 Apr 2016
    Male
    delivered no allergies
    None of the delivered problems is active
    None of the delivered medications is current
    13 Apr 2026 … 94/66 mmHg
    Height … 148.3 cm
    Weight … 45.9 kg … 36.9
    Percentile … 92 %
    Heart rate … 84
    Hemoglobin … 14.4 g/dL
    Leukocytes … 3.75
    Platelets … 418
    21 Mar 2022
    Emergency room admission … 30 May 2022 … Laceration
    MMR … 2 doses
    varicella … 15 Mar 2021
    DTaP … 15 Mar 2021
    Influenza … 13 Apr 2026
    Well child visit … 13 Apr 2026`,
  'lieselotte-howe': `
    10 Jun 1953
    Ischemic heart disease … 1 Oct 2023
    Essential hypertension … 15 Oct 2025
    Fibromyalgia
    lisinopril 10 MG … once a day
    Clopidogrel 75 MG … 8 Oct 2023
    Simvastatin 20 MG … 8 Oct 2023
    metoprolol succinate 100 MG … 8 Oct 2023
    Nitroglycerin
    108/78 mmHg
    Creatinine … 0.65 mg/dL … unchanged
    A1c … 6.31 %
    Low Density Lipoprotein … 249 mg/dL … 9 Oct 2024
    Cholesterol … 301 mg/dL
    Percutaneous coronary intervention … 17 Oct 2023
    Angiography of coronary artery … 15 Oct 2023
    Morse Fall Scale … 115
    PHQ-9 … 18 … 17 Sep 2020
    Never smoked tobacco
    American Indian or Alaska Native`,
  'tamica-murazik': `
    15 Feb 1973
    Allergy to substance
    Anemia … 1998
    Prediabetes … 1998
    Osteoarthritis of knee … 17 Sep 2024
    Naproxen sodium 220 MG … 17 Sep 2024
    diphenhydrAMINE … 4 Aug 1977 … ago
    88/70 mmHg
    Weight … 80.6 kg
    A1c … 6.38 %
    Low Density Lipoprotein … 204 mg/dL
    Cholesterol … 282 mg/dL
    Creatinine … 0.83 mg/dL
    Hemoglobin … 16.9 g/dL
    SARS-CoV-2 … Detected … 7 Aug 2020
    Ex-smoker
    GAD-7 … 11
    Childbirth … 4 Jan 2018
    Emergency room admission … 17 Apr 2022
    zoster vaccine … 22 Feb 2024`,
  Carol737: `
    25 Oct 2013
    Latex … Anaphylaxis
    Tree nut … Anaphylaxis
    Aspirin
    Bee venom
    Animal dander … Dyspnea
    Childhood asthma … 2017
    Atopic dermatitis
    Otitis media … 11 Nov 2026
    fluticasone … 20 Nov 2026
    albuterol … 20 Nov 2026
    Amoxicillin 250 MG … 11 Nov 2026
    Epinephrine … 7 Jun 2014 … ago
    102/73 mmHg
    Weight … 67.9 kg … 54.6
    Hemoglobin … 14 g/dL … 8 Nov 2024
    Emergency room admission … 12 Aug 2022
    HPV, quadrivalent … 20 Nov 2026
    Hispanic or Latino
    Coverage: Medicare`,
  Gretta175: `
    31 Oct 1965
    Chronic kidney disease stage 3 … 1 May 2022
    Proteinuria due to type 2 diabetes mellitus
    Essential hypertension … 2005
    insulin isophane … 1 Nov 2026
    amLODIPine 2.5 MG … once a day
    Vitamin B12 … 1999 … ago
    129/86 mmHg
    Weight … 84.7 kg
    Creatinine … 1.97 mg/dL
    Creatinine … 4.82 mg/dL … 3.83
    Glomerular filtration … 40.9 mL/min/1.73 m²
    Protein … Urine … 254 mg/dL
    A1c … 3.11 %
    Potassium … 4.31 mmol/L
    Low Density Lipoprotein … 95.9 mg/dL … 9 Feb 2025
    Colonoscopy … 31 Oct 2025
    Never smoked tobacco
    Coverage: UnitedHealthcare
    Dr. Alysha630 Koch169`,
  Joann92: `
    13 Oct 2017, aged 66 years
    Primary small cell malignant neoplasm of lung … 26 Dec 2012
    Small cell carcinoma of lung
    Polyp of colon
    Hydrocodone Bitartrate 5 MG … 17 Apr 2014
    124/81 mmHg
    Weight … 70.4 kg
    Creatinine … 3.11 mg/dL
    Glomerular filtration … 8.32 mL/min
    Protein … Urine … 273 mg/dL
    Hemoglobin … 13.6 g/dL
    Leukocytes … 4.77
    Potassium … 4.06 mmol/L
    A1c … 6.38 % … 2 Oct 2016
    chemotherapy and radiation … 22 Aug 2017
    Thoracentesis … 24 Dec 2012
    Rectal polypectomy … 7 Jul 2016
    Admission to hospice … 17 Sep 2017
    20 Aug 2017 … Inpatient
    Ex-smoker`,
  Lorretta561: `
    1 Jul 1951
    13 Jul 1958, aged 7 years
    Fracture of the vertebral column with spinal cord injury … 13 Jul 1958
    Traumatic injury of spinal cord
    delivered no allergies
    None of the delivered medications is current
    22 Jun 1958 … 113/73 mmHg
    Weight … 21.9 kg
    Heart rate … 76
    Hemoglobin … 15.7 g/dL
    Leukocytes … 8.24
    Platelets … 358
    16 Jun 1957 … ago
    Emergency room admission … 13 Jul 1958
    Death Certification … 20 Jul 1958
    Influenza … 22 Jun 1958
    IPV … 10 Jun 1956
    Race: White
    No insurance
    English`,
  Merrill415: `
    7 May 1951
    Ischemic heart disease … 12 Nov 2007
    Acute non-ST segment elevation myocardial infarction … 26 May 1993
    Chronic kidney disease stage 1 … 12 Feb 2024
    Essential hypertension … 1988
    insulin isophane … 23 Feb 2026
    Clopidogrel 75 MG … 19 Nov 2007 … ago
    prasugrel 10 MG … 27 May 1993 … ago
    aspirin 81 MG
    103/70 mmHg … 148/99
    Creatinine … 1.33 mg/dL … 1.12
    Glomerular filtration … 109 mL/min/1.73 m²
    Low Density Lipoprotein … 155 mg/dL … 17 Feb 2025
    Protein … Urine … 52.6 mg/dL
    Escherichia coli
    Hospital admission … 26 May 1993
    Admission to skilled nursing facility … 11 May 2026
    Ex-smoker
    Language: Japanese
    Coverage: Medicare`,
  Verda448: `
    21 May 2006
    Essential hypertension … 14 Jul 2024
    Recurrent urinary tract infection … 8 Mar 2024
    Hydrochlorothiazide 25 MG … once a day
    lisinopril 10 MG … 26 Jul 2026
    141/84 mmHg … 131/73
    Weight … 67.3 kg
    Heart rate … 82
    Hemoglobin … 17.5 g/dL … 3 Jul 2022
    Protein … Urine … 8.98 mg/dL
    Nitrite … positive
    8 Mar 2024
    GAD-7 … 11
    PHQ-9 … 13
    Never smoked tobacco
    Emergency … Acute infective cystitis
    HPV, quadrivalent … 16 Jun 2019
    COVID-19 … 11 Jul 2021
    No insurance
    Dr. Tamera164 Shields502`,
};
