/**
 * Six people as sources might deliver them, each with twenty facts that page
 * one has to say. Written for `test/unit/records/page-one.test.ts`.
 */

const LOINC = 'http://loinc.org';
const active = { clinicalStatus: { coding: [{ code: 'active' }] } };
const SUBJECT = { reference: 'Patient/p' };

let count = 0;
const resource = (resourceType: string, rest: object): object => {
  count += 1;
  return { resourceType, id: `r${count}`, subject: SUBJECT, ...rest };
};

const person = (rest: object): object => ({
  resourceType: 'Patient',
  id: 'p',
  gender: 'female',
  name: [{ given: ['Ann'], family: 'Sample' }],
  ...rest,
});

const usCore = (name: string, text: string): object => ({
  url: `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`,
  extension: [{ url: 'text', valueString: text }],
});

const problem = (text: string, since: string, rest: object = {}): object =>
  resource('Condition', {
    code: { text },
    onsetDateTime: since,
    ...active,
    ...rest,
  });

const allergy = (text: string, reaction: string, rest: object = {}): object =>
  resource('AllergyIntolerance', {
    code: { text },
    ...active,
    reaction: [{ manifestation: [{ text: reaction }] }],
    ...rest,
  });

const order = (text: string, authoredOn: string, rest: object = {}): object =>
  resource('MedicationRequest', {
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: { text },
    authoredOn,
    ...rest,
  });

const taken = (text: string, since: string, rest: object = {}): object =>
  resource('MedicationStatement', {
    status: 'active',
    medicationCodeableConcept: { text },
    effectivePeriod: { start: since },
    ...rest,
  });

const fill = (text: string, day: string, rest: object = {}): object =>
  resource('MedicationDispense', {
    status: 'completed',
    medicationCodeableConcept: { text },
    whenHandedOver: day,
    ...rest,
  });

const times = (frequency: number, dose?: object): object => ({
  dosageInstruction: [
    {
      timing: { repeat: { frequency, period: 1, periodUnit: 'd' } },
      doseAndRate: [{ doseQuantity: dose ?? { value: 1 } }],
    },
  ],
});

const measured = (
  category: string,
  code: string,
  text: string,
  value: number,
  unit: string,
  day: string,
  rest: object = {},
): object =>
  resource('Observation', {
    status: 'final',
    category: [{ coding: [{ code: category }] }],
    code: { coding: [{ system: LOINC, code }], text },
    effectiveDateTime: day,
    valueQuantity: { value, unit },
    ...rest,
  });

type Measured = [
  code: string,
  text: string,
  value: number,
  unit: string,
  day: string,
  rest?: object,
];
const result = (...of: Measured): object => measured('laboratory', ...of);
const vital = (...of: Measured): object => measured('vital-signs', ...of);
const score = (code: string, text: string, value: number, day: string) =>
  measured('survey', code, text, value, '{score}', day);

const flagged = (code: string): object => ({
  interpretation: [{ coding: [{ code }] }],
});

const said = (code: string, text: string, value: string, day: string) =>
  resource('Observation', {
    status: 'final',
    category: [{ coding: [{ code: 'social-history' }] }],
    code: { coding: [{ system: LOINC, code }], text },
    effectiveDateTime: day,
    valueCodeableConcept: { text: value },
  });

const pressure = (over: number, under: number, day: string): object =>
  resource('Observation', {
    status: 'final',
    category: [{ coding: [{ code: 'vital-signs' }] }],
    code: { coding: [{ system: LOINC, code: '85354-9' }], text: 'BP' },
    effectiveDateTime: day,
    component: [
      { code: '8480-6', value: over },
      { code: '8462-4', value: under },
    ].map(({ code, value }) => ({
      code: { coding: [{ system: LOINC, code }] },
      valueQuantity: { value, unit: 'mm[Hg]' },
    })),
  });

const procedure = (text: string, day: string): object =>
  resource('Procedure', {
    status: 'completed',
    code: { text },
    performedDateTime: day,
  });

const encounter = (
  code: string,
  text: string,
  start: string,
  rest: object = {},
): object =>
  resource('Encounter', {
    status: 'finished',
    class: { code },
    type: [{ text }],
    period: { start },
    ...rest,
  });

const vaccine = (text: string, day: string): object =>
  resource('Immunization', {
    status: 'completed',
    vaccineCode: { text },
    occurrenceDateTime: day,
  });

const covered = (payer: string, member: string): object =>
  resource('Coverage', {
    status: 'active',
    payor: [{ display: payer }],
    subscriberId: member,
  });

const checkUps = (...days: string[]): object[] =>
  days.map((day) => encounter('AMB', 'Check-up', day));

interface WrittenPerson {
  name: string;
  resources: readonly object[];
  facts: string;
}

export const WRITTEN_PEOPLE: readonly WrittenPerson[] = [
  {
    name: 'a man with heart and kidney failure, who fills no more',
    resources: [
      person({
        birthDate: '1948-02-11',
        gender: 'male',
        extension: [usCore('race', 'Black or African American')],
        communication: [{ language: { text: 'Spanish' }, preferred: true }],
        generalPractitioner: [{ reference: 'Practitioner/gp' }],
      }),
      {
        resourceType: 'Practitioner',
        id: 'gp',
        name: [{ given: ['Rosa'], family: 'Medina' }],
      },
      allergy('Penicillin G', 'Anaphylaxis', { criticality: 'high' }),
      problem('Seasonal allergic rhinitis', '2025-05-01'),
      problem('Heart failure with reduced ejection fraction', '2019-03-02'),
      problem('Chronic kidney disease stage 4', '2023-06-01'),
      problem('Permanent atrial fibrillation', '2020-01-15'),
      order('Furosemide 40 MG Oral Tablet', '2026-09-01', times(2)),
      fill('Furosemide 40 MG Oral Tablet', '2026-10-30', {
        performer: [{ actor: { display: 'Corner Pharmacy' } }],
      }),
      order('Apixaban 5 MG Oral Tablet', '2021-02-01', times(2)),
      taken('Apixaban 5 MG Oral Tablet', '2021-02-01'),
      fill('Apixaban 5 MG Oral Tablet', '2023-07-14'),
      pressure(104, 61, '2026-11-10'),
      vital('29463-7', 'Weight', 92.4, 'kg', '2026-11-10'),
      vital('29463-7', 'Weight', 87.1, 'kg', '2026-08-10'),
      result('2823-3', 'Potassium', 6.4, 'mmol/L', '2026-11-10', flagged('HH')),
      result('2160-0', 'Creatinine', 3.12, 'mg/dL', '2026-11-10'),
      result('2160-0', 'Creatinine', 3.09, 'mg/dL', '2026-08-10'),
      result('33914-3', 'eGFR', 19, 'mL/min/{1.73_m2}', '2026-11-10'),
      result('33762-6', 'NT-proBNP', 8450, 'pg/mL', '2024-05-03'),
      result('5778-6', 'Color of Urine', 1, '', '2026-11-10'),
      procedure('Implantation of cardiac defibrillator', '2019-08-20'),
      procedure('Dental cleaning', '2026-01-20'),
      encounter('IMP', 'Acute decompensated heart failure', '2024-05-02', {
        period: { start: '2024-05-02', end: '2024-05-11' },
      }),
      ...checkUps('2026-11-10', '2026-08-10', '2026-05-10', '2026-02-10'),
      said('72166-2', 'Tobacco smoking status', 'Former smoker', '2026-02-10'),
      covered('Medicare Part B', '1EG4-TE5'),
    ],
    facts: `
      11 Feb 1948
      Penicillin G … high criticality … Anaphylaxis
      Heart failure with reduced ejection fraction … 2 Mar 2019
      Chronic kidney disease stage 4
      Permanent atrial fibrillation
      Furosemide 40 MG … twice a day … last filled 30 Oct 2026 (22 days ago)
      Apixaban 5 MG … but last filled 14 Jul 2023 (3 years ago)
      104/61 mmHg
      Weight: 92.4 kg … up from 87.1
      Potassium: 6.4 mmol/L (Critically high)
      Creatinine: 3.12 mg/dL … unchanged
      eGFR: 19 mL/min/1.73 m²
      NT-proBNP: 8450 pg/mL … 3 May 2024
      Implantation of cardiac defibrillator … 20 Aug 2019
      Acute decompensated heart failure … 2 May 2024 to 11 May 2024
      Former smoker
      Black or African American
      Spanish (preferred)
      Coverage: Medicare Part B
      Pharmacy: Corner Pharmacy`,
  },
  {
    name: 'a woman under treatment for cancer of the breast',
    resources: [
      person({ birthDate: '1971-09-30' }),
      allergy('Iodinated contrast', 'Hives'),
      problem('Polyp of colon', '2026-04-01'),
      problem('Malignant neoplasm of female breast', '2025-12-04', {
        stage: [{ summary: { text: 'IIA' }, type: { text: 'Clinical' } }],
      }),
      problem('Febrile neutropenia', '2026-10-02'),
      problem('Type 2 diabetes mellitus', '2015-01-01'),
      order('Ondansetron 8 MG Oral Tablet', '2026-09-20', times(2)),
      order('Metformin 500 MG Oral Tablet', '2026-01-11', times(2)),
      pressure(118, 70, '2026-10-20'),
      vital('8310-5', 'Temperature', 38.9, 'Cel', '2026-10-02'),
      result(
        '751-8',
        'Neutrophils',
        0.42,
        '10*3/uL',
        '2026-10-20',
        flagged('LL'),
      ),
      result('718-7', 'Hemoglobin', 9.1, 'g/dL', '2026-10-20', flagged('L')),
      result('777-3', 'Platelets', 88, '10*3/uL', '2026-10-20', flagged('L')),
      result('6875-9', 'Cancer Ag 15-3', 61.234, 'U/mL', '2025-12-20'),
      result('4548-4', 'Hemoglobin A1c', 7.9, '%', '2024-02-20'),
      result('1742-6', 'ALT', 31, 'U/L', '2026-10-20'),
      procedure('Left mastectomy', '2026-02-03'),
      procedure('Chemotherapy', '2026-09-20'),
      procedure('Chemotherapy', '2026-08-30'),
      procedure('Biopsy of breast', '2025-11-28'),
      encounter('EMER', 'Fever in neutropenia', '2026-10-02'),
      ...checkUps('2026-10-20', '2026-09-20', '2026-08-30'),
      said('72166-2', 'Tobacco smoking status', 'Never smoker', '2026-02-10'),
      vaccine('Influenza 2026', '2026-09-15'),
      covered('Aetna', 'W1'),
    ],
    facts: `
      30 Sep 1971
      Iodinated contrast … Hives
      Malignant neoplasm of female breast … stage IIA
      Febrile neutropenia … 2 Oct 2026
      Type 2 diabetes mellitus
      Ondansetron 8 MG
      Metformin 500 MG … ordered 11 Jan 2026
      118/70 mmHg
      Temperature: 38.9 °C … 2 Oct 2026
      Neutrophils: 0.42 … (Critically low)
      Hemoglobin: 9.1 g/dL (Low)
      Platelets: 88
      Cancer Ag 15-3: 61.2 U/mL
      Hemoglobin A1c: 7.9 % … 20 Feb 2024
      ALT: 31 U/L
      Left mastectomy … 3 Feb 2026
      Chemotherapy … 2 times, last 20 Sep 2026
      Biopsy of breast … 28 Nov 2025
      Fever in neutropenia … 2 Oct 2026
      Coverage: Aetna`,
  },
  {
    name: 'a man with severe depression who takes opioids',
    resources: [
      person({
        birthDate: '1985-06-17',
        gender: 'male',
        extension: [usCore('ethnicity', 'Hispanic or Latino')],
      }),
      allergy('Codeine', 'Vomiting'),
      problem('Suicidal ideation', '2026-10-30'),
      problem('Opioid dependence', '2022-05-05'),
      problem('Major depressive disorder', '2018-01-01', {
        severity: { text: 'Severe' },
      }),
      problem('Gingivitis', '2026-11-02'),
      order(
        'Buprenorphine 8 MG / Naloxone 2 MG Sublingual Film',
        '2026-10-01',
        {
          dosageInstruction: [{ text: 'One film under the tongue daily' }],
        },
      ),
      fill('Buprenorphine 8 MG / Naloxone 2 MG Sublingual Film', '2026-11-14'),
      order('Lithium carbonate 300 MG Oral Capsule', '2026-08-01', times(3)),
      fill('Alprazolam 1 MG Oral Tablet', '2026-11-01', {
        daysSupply: { value: 30, unit: 'd' },
      }),
      pressure(132, 84, '2026-11-15'),
      vital('8867-4', 'Heart rate', 101, '/min', '2026-11-15'),
      result('14334-7', 'Lithium', 1.31, 'mmol/L', '2026-11-15', flagged('H')),
      result('3016-3', 'TSH', 6.8, 'm[IU]/L', '2025-10-01'),
      result('2160-0', 'Creatinine', 0.92, 'mg/dL', '2026-11-15'),
      result('34533-0', 'Odor of Urine', 1, '', '2026-11-15'),
      score('44261-6', 'PHQ-9 total', 22, '2026-11-15'),
      score('70274-6', 'GAD-7 total', 14, '2026-11-15'),
      score('75626-2', 'AUDIT-C total', 9, '2026-11-15'),
      score('82667-7', 'DAST-10 total', 6, '2026-11-15'),
      said('72166-2', 'Tobacco smoking status', 'Heavy smoker', '2026-11-15'),
      encounter('IMP', 'Psychiatric admission', '2026-10-30', {
        period: { start: '2026-10-30', end: '2026-11-09' },
      }),
      encounter('EMER', 'Opioid overdose', '2025-03-08'),
      ...checkUps('2026-11-15', '2026-11-12', '2026-11-11', '2026-11-10'),
      covered('Medicaid', 'M9'),
    ],
    facts: `
      17 Jun 1985
      Codeine … Vomiting
      Suicidal ideation … 30 Oct 2026
      Major depressive disorder … severe
      Opioid dependence
      Buprenorphine … One film under the tongue daily … last filled 14 Nov 2026
      Lithium carbonate 300 MG … 3 times a day … no fill was delivered
      Alprazolam 1 MG … dispensed 1 Nov 2026 (30 days) … no current prescription
      132/84 mmHg
      Heart rate: 101
      Lithium: 1.31 mmol/L (High)
      TSH: 6.8 … 1 Oct 2025
      Creatinine: 0.92 mg/dL
      PHQ-9: 22 of 27
      GAD-7: 14 of 21
      AUDIT-C: 9 of 12
      DAST-10: 6 of 10
      Heavy smoker
      Psychiatric admission … 30 Oct 2026 to 9 Nov 2026
      Opioid overdose … 8 Mar 2025`,
  },
  {
    name: 'a child with asthma and a peanut allergy',
    resources: [
      person({ birthDate: '2019-07-04', gender: 'male' }),
      allergy('Peanut', 'Anaphylaxis', { criticality: 'high' }),
      allergy('Cat dander', 'Wheezing'),
      problem('Asthma', '2022-11-01', { severity: { text: 'Moderate' } }),
      problem('Atopic dermatitis', '2020-02-01'),
      order('Albuterol 0.09 MG/ACTUAT Inhaler', '2026-10-10', {
        dosageInstruction: [{ text: '2 puffs every 4 hours if needed' }],
      }),
      order('Fluticasone 0.044 MG/ACTUAT Inhaler', '2026-10-10', times(2)),
      order('Epinephrine 0.15 MG Auto-Injector', '2023-01-05'),
      fill('Albuterol 0.09 MG/ACTUAT Inhaler', '2026-10-11'),
      fill('Fluticasone 0.044 MG/ACTUAT Inhaler', '2026-04-02'),
      vital('29463-7', 'Weight', 24.3, 'kg', '2026-10-10'),
      vital('8302-2', 'Height', 121, 'cm', '2026-10-10'),
      vital('59408-5', 'SpO2', 93, '%', '2026-10-10', flagged('L')),
      result(
        '6206-7',
        'Peanut IgE Ab',
        42.7,
        'kU/L',
        '2023-03-03',
        flagged('HH'),
      ),
      result('718-7', 'Hemoglobin', 11.9, 'g/dL', '2025-07-05'),
      result(
        '5671-3',
        'Lead [Mass/volume] in Blood',
        2.1,
        'ug/dL',
        '2021-07-05',
      ),
      procedure('Tonsillectomy and adenoidectomy', '2024-03-19'),
      encounter('EMER', 'Exacerbation of asthma', '2026-10-09'),
      encounter('IMP', 'Admission for bronchiolitis', '2020-01-12'),
      ...checkUps('2026-07-04', '2025-07-05', '2024-07-03'),
      vaccine('MMR', '2023-07-10'),
      vaccine('MMR', '2020-07-10'),
      vaccine('Varicella', '2020-07-10'),
      vaccine('Influenza', '2026-10-10'),
      covered('CHIP', 'C2'),
    ],
    facts: `
      4 Jul 2019
      Peanut … high criticality … Anaphylaxis
      Cat dander … Wheezing
      Asthma … moderate
      Atopic dermatitis
      Albuterol … 2 puffs every 4 hours if needed … last filled 11 Oct 2026
      Fluticasone … twice a day … last filled 2 Apr 2026 (7 months ago)
      Epinephrine 0.15 MG … 5 Jan 2023 (3 years ago)
      Weight: 24.3 kg
      Height: 121 cm
      SpO2: 93 % (Low)
      3 Mar 2023 (3 years ago) … Peanut IgE Ab: 42.7 kU/L (Critically high)
      Hemoglobin: 11.9 g/dL … 5 Jul 2025
      Lead … 2.1 ug/dL … 5 Jul 2021
      Tonsillectomy and adenoidectomy … 19 Mar 2024
      Exacerbation of asthma … 9 Oct 2026 … Emergency
      Admission for bronchiolitis … 12 Jan 2020
      MMR … 2 doses
      Varicella … 10 Jul 2020
      Coverage: CHIP`,
  },
  {
    name: 'a pregnant woman with a clot, in the words of two sources',
    resources: [
      person({
        birthDate: '1994-12-12',
        extension: [
          usCore('race', 'Asian'),
          usCore('ethnicity', 'Not Hispanic'),
        ],
        communication: [{ language: { text: 'Vietnamese' } }],
      }),
      resource('AllergyIntolerance', {
        code: { text: 'No known allergies' },
        recordedDate: '2026-09-01',
        ...active,
      }),
      problem('Pregnancy', '2026-05-01'),
      problem('Deep vein thrombosis of left leg', '2026-09-14'),
      problem('Gestational diabetes', '2026-10-20'),
      problem('Acne', '2026-10-21'),
      order('Enoxaparin 80 MG per 0.8 ML Prefilled Syringe', '2026-09-14', {
        dosageInstruction: [{ text: '80 mg under the skin every 12 hours' }],
      }),
      taken('Enoxaparin 80 MG per 0.8 ML Prefilled Syringe', '2026-09-14'),
      fill('Enoxaparin 80 MG per 0.8 ML Prefilled Syringe', '2026-11-01'),
      taken('Prenatal vitamin', '2026-05-20'),
      pressure(146, 94, '2026-11-17'),
      vital('29463-7', 'Weight', 71.2, 'kg', '2026-11-17'),
      result(
        '2339-0',
        'Glucose in Blood',
        156,
        'mg/dL',
        '2026-11-17',
        flagged('H'),
      ),
      result(
        '2345-7',
        'Glucose in Serum',
        156,
        'mg/dL',
        '2026-11-17',
        flagged('H'),
      ),
      result(
        '2888-6',
        'Protein in Urine',
        62,
        'mg/dL',
        '2026-11-17',
        flagged('H'),
      ),
      result('777-3', 'Platelets', 131, '10*3/uL', '2026-11-17', flagged('L')),
      result('718-7', 'Hemoglobin', 10.4, 'g/dL', '2026-11-17'),
      result('883-9', 'ABO group', 1, '', '2026-06-01', {
        valueQuantity: undefined,
        valueCodeableConcept: { text: 'O positive' },
      }),
      result('5196-1', 'Hepatitis B surface Ag', 1, '', '2026-06-01', {
        valueQuantity: undefined,
        valueCodeableConcept: { text: 'Negative' },
      }),
      said('82810-3', 'Pregnancy status', 'Pregnant', '2026-11-17'),
      said('72166-2', 'Tobacco smoking status', 'Never smoker', '2026-11-17'),
      procedure('Cesarean section', '2021-04-04'),
      encounter('IMP', 'Admission for thrombosis', '2026-09-14', {
        period: { start: '2026-09-14', end: '2026-09-17' },
      }),
      ...checkUps('2026-11-17', '2026-11-03', '2026-10-20', '2026-10-06'),
      vaccine('Tdap', '2026-10-20'),
    ],
    facts: `
      12 Dec 1994
      No known allergies, stated by HIE, 1 Sep 2026
      Pregnancy … 1 May 2026
      Deep vein thrombosis of left leg … 14 Sep 2026
      Gestational diabetes
      Enoxaparin … 80 mg under the skin every 12 hours … last filled 1 Nov 2026
      Prenatal vitamin … stated 20 May 2026
      146/94 mmHg
      Weight: 71.2 kg
      Glucose … 156 mg/dL (High)
      Protein in Urine: 62 mg/dL (High)
      Platelets: 131 … (Low)
      Hemoglobin: 10.4 g/dL
      ABO group: O positive
      Hepatitis B surface Ag: Negative
      Pregnancy status: Pregnant
      Cesarean section … 4 Apr 2021
      Admission for thrombosis … 14 Sep 2026 to 17 Sep 2026
      Asian … Not Hispanic
      Vietnamese`,
  },
  {
    name: 'a woman who has died, whose last results are years old',
    resources: [
      person({
        birthDate: '1940-03-03',
        deceasedDateTime: '2021-01-20',
        generalPractitioner: [{ display: 'Dr. Okafor' }],
      }),
      allergy('Morphine', 'Respiratory depression', { criticality: 'high' }),
      problem('Alzheimer disease', '2015-05-05'),
      problem('Chronic obstructive pulmonary disease', '2010-01-01'),
      problem('Osteoarthritis of hip', '2008-01-01'),
      problem('Pressure ulcer', '2020-12-01'),
      order('Donepezil 10 MG Oral Tablet', '2020-06-01', times(1)),
      order('Insulin glargine 100 UNT/ML Injectable Solution', '2020-06-01', {
        dosageInstruction: [
          {
            timing: { repeat: { frequency: 1, period: 1, periodUnit: 'd' } },
            doseAndRate: [{ doseQuantity: { value: 18, unit: 'UNT' } }],
          },
        ],
      }),
      pressure(92, 50, '2021-01-19'),
      vital('29463-7', 'Weight', 44.1, 'kg', '2021-01-05'),
      vital('59408-5', 'SpO2', 84, '%', '2021-01-19'),
      result('6301-6', 'INR', 4.8, '', '2021-01-18', flagged('HH')),
      result('1751-7', 'Albumin', 2.1, 'g/dL', '2021-01-18', flagged('L')),
      result('2524-7', 'Lactate', 5.6, 'mmol/L', '2021-01-19', flagged('HH')),
      result('94531-1', 'SARS-CoV-2 RNA', 1, '', '2021-01-10', {
        valueQuantity: undefined,
        valueCodeableConcept: { text: 'Detected' },
      }),
      score('72106-8', 'MMSE total', 9, '2020-02-02'),
      score('38227-5', 'Braden total', 10, '2021-01-10'),
      procedure('Total hip replacement', '2009-10-10'),
      procedure('Mechanical ventilation', '2021-01-15'),
      encounter('IMP', 'COVID-19 pneumonia', '2021-01-10', {
        period: { start: '2021-01-10', end: '2021-01-20' },
      }),
      ...checkUps('2020-12-01', '2020-06-01', '2020-02-02'),
      said('72166-2', 'Tobacco smoking status', 'Former smoker', '2020-02-02'),
      resource('ExplanationOfBenefit', {
        created: '2021-01-21',
        insurer: { display: 'Humana Gold' },
      }),
    ],
    facts: `
      20 Jan 2021, aged 80 years
      Morphine … high criticality … Respiratory depression
      Alzheimer disease … 5 May 2015
      Chronic obstructive pulmonary disease
      Pressure ulcer … 1 Dec 2020
      Donepezil 10 MG … once a day … 1 Jun 2020 (6 years ago)
      Insulin glargine … 18 UNT once a day
      19 Jan 2021 … 92/50 mmHg
      Weight: 44.1 kg
      SpO2: 84 %
      INR: 4.8 (Critically high)
      Albumin: 2.1 g/dL (Low)
      Lactate: 5.6 mmol/L (Critically high)
      SARS-CoV-2 RNA: Detected
      MMSE: 9 of 30
      Braden scale: 10 of 23
      Total hip replacement … 10 Oct 2009
      Mechanical ventilation … 15 Jan 2021
      COVID-19 pneumonia … 10 Jan 2021 to 20 Jan 2021
      Coverage: Humana Gold`,
  },
];
