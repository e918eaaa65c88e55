import { conceptCodes } from './concept-words.ts';
import { type FhirJson, fhirObjects, fhirText, isFhirJson } from './json.ts';

const SNOMED = 'http://snomed.info/sct';
const IPS = 'http://hl7.org/fhir/uv/ips/CodeSystem/absent-unknown-uv-ips';

/**
 * Codes that state absence in place of an allergy or a problem (SNOMED CT;
 * International Patient Summary).
 */
const ABSENCE_CODES = {
  AllergyIntolerance: new Set([
    `${SNOMED}|716186003`,
    `${SNOMED}|160244002`,
    `${SNOMED}|409137002`,
    `${SNOMED}|429625007`,
    `${SNOMED}|428607008`,
    `${SNOMED}|716184000`,
    `${SNOMED}|716220001`,
    `${IPS}|no-known-allergies`,
    `${IPS}|no-known-medication-allergies`,
    `${IPS}|no-known-food-allergies`,
    `${IPS}|no-known-environmental-allergies`,
    `${IPS}|no-allergy-info`,
  ]),
  Condition: new Set([
    `${SNOMED}|160245001`,
    `${IPS}|no-known-problems`,
    `${IPS}|no-problem-info`,
  ]),
} satisfies Readonly<Record<string, ReadonlySet<string>>>;

/**
 * Statements of absence as text. The whole text must match: one that only
 * begins so may continue differently.
 */
const NONE_IN_WORDS =
  /^\s*(?:(?:(?:patient )?denies(?: (?:any|known|current|active)){0,2}|no(?: (?:known|current|active|reported)){0,2}) (?:(?:drug|food|medication|environmental|latex) )?(?:allerg(?:y|ies)|problems?|conditions?|medications?|immunizations?|procedures?|devices?)(?: to (?:any )?(?:drugs?|medications?|foods?))?(?: or disability)?(?: \(situation\))?|nka|nkda|nkfa|not on any medications?|none|none known)\s*\.?\s*$/i;

const DATA_ABSENT = /data-absent-reason$|v3-NullFlavor$/;
const NOT_IN_FORCE = ['inactive', 'resolved', 'remission'];

/**
 * Whether an allergy or a problem in force itself states, in codes or words,
 * that there is none or that nothing is known.
 */
export function statesAbsence(
  type: keyof typeof ABSENCE_CODES,
  { clinicalStatus, code }: FhirJson,
): boolean {
  const isInForce = !conceptCodes(clinicalStatus).some((status) =>
    NOT_IN_FORCE.includes(status),
  );
  if (!isInForce || !isFhirJson(code)) return false;
  const codings = fhirObjects(code.coding);
  if (codings.some((each) => ABSENCE_CODES[type].has(keyOfCoding(each))))
    return true;

  // A sender's own code for "No known allergies" codes no allergy.
  const isCoded = codings.some(
    (each) =>
      each.code !== undefined &&
      !DATA_ABSENT.test(String(each.system)) &&
      !NONE_IN_WORDS.test(fhirText(each.display) ?? String(each.code)),
  );
  if (isCoded) return false;
  const words =
    fhirText(code.text) ??
    codings.map(({ display }) => fhirText(display)).find(Boolean);
  if (words !== undefined && NONE_IN_WORDS.test(words)) return true;

  // A concept with a text names something, even without a code.
  return fhirText(code.text) === undefined && isSaidToBeAbsent(code, codings);
}

const keyOfCoding = ({ system, code }: FhirJson): string =>
  `${String(system)}|${fhirText(code) ?? ''}`;

const isSaidToBeAbsent = (
  code: FhirJson,
  codings: readonly FhirJson[],
): boolean =>
  codings.some(({ system }) => DATA_ABSENT.test(String(system))) ||
  [code, ...codings].some(({ extension }) =>
    fhirObjects(extension).some(({ url }) => DATA_ABSENT.test(String(url))),
  );
