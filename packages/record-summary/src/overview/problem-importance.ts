import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { codesOf } from '../fhir/words.ts';

interface Importance {
  /** Why it stands there. */
  for: string;
  /** Less is more important. */
  place: number;
  /** Codes of ICD-10 and ICD-10-CM. */
  icd10?: RegExp;
  /** For codes of other systems, whose names tell. */
  words: RegExp;
}

/** What no line fits stands before what is minor. */
const OTHER = 2;

/**
 * What a problem means for whoever meets the patient first. The first line that
 * fits counts. By names, because most problems come in SNOMED CT, whose
 * hierarchy we may not distribute.
 */
const LINES = [
  {
    for: 'another person, or only looked for',
    place: 3,
    icd10: /^Z(?:1[0-3]|8[0-4])/,
    words: /^(?:family history|screening|encounter for|fear of)\b/i,
  },
  {
    for: 'threatens life',
    place: 0,
    icd10:
      /^(?:C|D0|D4[5-7]|I2[0-6]|I42|I4[4-9]|I50|I6[0-9]|I71|B20|N18\.[456]|N17|K7[0-24]|J96|J84|Z94|D8[0-4]|A4[01]|R57|T78\.2|O|F20|R45\.85|G30|F0[0-3]|E84|D57|D6[67])/,
    words:
      /(?<!non.?|pre)malignan|carcinoma|\bcancer\b|lymphoma|leuk[ae]emia|melanoma|sarcoma|metasta|myeloma|infarct|heart failure|isch[ae]?emic heart|coronary (?:artery|heart|arterio)|cardiac arrest|atrial fibrillation|ventricular (?:fibrillation|tachycardia)|cardiomyopath|aneurysm|embolis|thrombosis|stroke|cerebrovascular|h[ae]?emorrhage|transplant|\bhiv\b|human immunodeficiency|immunodeficien|cirrhosis|hepatic failure|respiratory failure|pulmonary fibrosis|end.?stage|kidney disease stage [45]|acute kidney|acute renal|neutropeni|sepsis|septic|shock|anaphyla|suicid|schizophreni|dementia|alzheimer|cystic fibrosis|sickle cell|h[ae]?emophilia|spinal cord|(?<!past |history of )pregnan|eclampsia/i,
  },
  {
    for: 'needs lasting treatment, or can turn dangerous',
    place: 1,
    icd10:
      /^(?:E1[01348]|I1[0-6]|J4[4-7]|N18|N0[0-8]|G4[01]|G20|G35|F3[1-3]|F1[0-9]|K5[01]|M0[56]|M32|E2[37]|E0[1-7]|B1[5-9]|D5[0-9]|D6|I7[034]|I3[0-9]|K25|K26|K9[02])/,
    words:
      /diabet|hypertens|chronic obstructive|emphysema|asthma|kidney|renal|nephr|proteinuria|albuminuria|epilep|seizure|parkinson|multiple sclerosis|bipolar|depress|alcohol|opioid|drug (?:abuse|dependen)|substance|crohn|ulcerative colitis|rheumatoid|lupus|thyroid|adrenal|hepatitis|an[ae]?emia|arteri|valve|stenosis|ulcer|c[oe]?eliac|osteoporo|fracture|tuberculosis/i,
  },
  {
    for: 'minor',
    place: 3,
    icd10: /^(?:K0[0-9]|J0[0-6]|J3[0-9]|L2|L[6-9]|H1|H52|Z|R(?!57|45\.85))/,
    words:
      /loss of teeth|gingiv|dental|tooth|overweight|sinusitis|pharyngitis|rhinitis|otitis media|bronchitis|polyp|^history of|sprain|contusion|laceration|acne|dandruff|refractive|presbyopia|myopia|abnormal findings/i,
  },
] satisfies readonly Importance[];

const ALL: readonly Importance[] = LINES;
const ICD10 = /icd-?10|113883\.6\.(?:3|90)$/i;

/** How important a Condition is by what it is: less is more important. */
export function importanceOf({ code }: Json): number {
  const codings = isJson(code) ? objectsOf(code.coding) : [];
  const icd10 = codings.flatMap((coding) =>
    ICD10.test(String(coding.system)) ? (textOf(coding.code) ?? []) : [],
  );
  const names = conceptNames(code);
  const line = ALL.find(
    (each) =>
      icd10.some((own) => each.icd10?.test(own) === true) ||
      names.some((name) => each.words.test(name)),
  );
  return line?.place ?? OTHER;
}

/** The text of a CodeableConcept and the displays of its codes. */
export const conceptNames = (concept: unknown): string[] =>
  isJson(concept)
    ? [
        textOf(concept.text),
        ...objectsOf(concept.coding).map(({ display }) => textOf(display)),
      ].filter((name) => name !== undefined)
    : [];

const STATES = ['recurrence', 'relapse', 'active'];
const DOUBTS = ['provisional', 'differential', 'unconfirmed'];
/** SNOMED CT, and the word. */
const SEVERE = ['24484000', 'severe'];

/**
 * The place of a Condition among equally important ones: severe ones first,
 * then what has come back, what is active, and what is only suspected.
 */
export function placeByState(content: Json): number {
  const isDoubtful =
    codesOf(content.verificationStatus).some((code) => DOUBTS.includes(code)) ||
    conceptNames(content.code).some((name) => /^suspected\b/i.test(name));
  if (isDoubtful) return STATES.length;

  if (codesOf(content.severity).some((code) => SEVERE.includes(code)))
    return -1;
  const state = STATES.findIndex((each) =>
    codesOf(content.clinicalStatus).includes(each),
  );
  return state === -1 ? STATES.length - 1 : state;
}
