import { statesAbsence } from './absence.ts';
import { conceptCodes } from './concept-words.ts';
import { type FhirJson, fhirObjects, fhirText, isFhirJson } from './json.ts';
import { writtenBeside } from './shown-names.ts';
import { codedConcept, namedConcept } from './table.ts';
import { MAPS } from './value-maps.ts';

const SNOMED = 'http://snomed.info/sct';
const UNSPECIFIED = codedConcept('data-absent-reason', 'unknown');
/** Codes of CVX for "no vaccine administered", and of SNOMED CT for any. */
const ANY_VACCINE = ['998', '787859002', '398827000'];
const ANY_PROCEDURE = ['71388002'];
const ANY_DRUG = ['410942007', '763158003', '105590001'];

/**
 * The negation of a resource: none known, refuted, not done, not taken.
 * Undefined when the negation has no meaning.
 *
 * @param day day of the document, for statements without a date
 */
export function negated(
  resource: FhirJson,
  day: string | undefined,
): FhirJson | undefined {
  switch (resource.resourceType) {
    case 'AllergyIntolerance':
      return refuted(resource, 'AllergyIntolerance', day);
    case 'Condition':
      return refuted(resource, 'Condition', day);
    case 'Immunization':
      return notDone(resource, 'vaccineCode', ANY_VACCINE, '787482006');
    case 'Procedure':
      return notDone(resource, 'code', ANY_PROCEDURE, '787480003');
    case 'MedicationStatement':
      return notTaken(resource, day);
    case 'MedicationRequest':
    case 'ServiceRequest':
      return { ...resource, doNotPerform: true };
    case 'Observation':
      return notFound(resource);
    default:
      return undefined;
  }
}

function refuted(
  resource: FhirJson,
  type: 'AllergyIntolerance' | 'Condition',
  day: string | undefined,
): FhirJson | undefined {
  const { reaction: _reaction, evidence: _evidence, ...rest } = resource;
  const hasDate =
    resource.recordedDate !== undefined || resource.onsetDateTime !== undefined;
  const dated = hasDate ? rest : { ...rest, recordedDate: day };
  const codes = conceptCodes(resource.code);
  const none = codes
    .map((code) => MAPS.NoneAtAll[code])
    .find((found) => found !== undefined);
  const said = wordsBeside(resource.code);
  // That a visit had no diagnosis does not mean that the patient has no
  // problem.
  if (
    none !== undefined &&
    fhirObjects(resource.category)
      .flatMap(conceptCodes)
      .includes('encounter-diagnosis')
  )
    return said === undefined || NONE.test(said) || NOT_KNOWN.test(said)
      ? undefined
      : refute({ ...dated, code: { text: said } }, type);
  if (none !== undefined && said === undefined)
    return { ...dated, code: namedConcept(SNOMED, none) };
  if (
    (codes.length === 0 && !hasText(resource.code)) ||
    (said !== undefined && NOT_KNOWN.test(said))
  )
    return { ...dated, code: UNSPECIFIED };
  // "No known discharge diagnosis" is about less than all problems.
  if ((none !== undefined || codes.length === 0) && NONE.test(said ?? ''))
    return { ...dated, code: { text: said } };
  if (none !== undefined)
    return refute({ ...dated, code: { text: said } }, type);
  return statesAbsence(type, resource) ? dated : refute(dated, type);
}

function refute(
  resource: FhirJson,
  type: 'AllergyIntolerance' | 'Condition',
): FhirJson {
  return {
    ...resource,
    clinicalStatus: codedConcept(`${type.toLowerCase()}-clinical`, 'inactive'),
    verificationStatus: codedConcept(
      type === 'Condition'
        ? 'condition-ver-status'
        : 'allergyintolerance-verification',
      'refuted',
    ),
  };
}

/**
 * A negated immunization or procedure: of any kind, so that none is known, or of
 * this kind, which was not done.
 *
 * @param any codes of the kind as such
 * @param none SNOMED CT's code for none of the kind
 */
function notDone(
  resource: FhirJson,
  element: 'code' | 'vaccineCode',
  any: readonly string[],
  none: '787480003' | '787482006',
): FhirJson {
  const concept = resource[element];
  const said = isFhirJson(concept) ? fhirText(concept.text) : undefined;
  const codes = conceptCodes(concept);
  const isAny =
    codes.some((code) => any.includes(code)) ||
    (codes.length === 0 && NO_KNOWN.test(said ?? ''));
  if (!isAny) return { ...resource, status: 'not-done' };
  const isPlain = said === undefined || OF_ANY.test(said);
  return {
    ...resource,
    status: 'not-done',
    [element]: isPlain
      ? namedConcept(SNOMED, none)
      : NOT_KNOWN.test(said)
        ? UNSPECIFIED
        : { text: said },
  };
}

/** Words that none of a kind is known. */
const NO_KNOWN =
  /^(?:no(?:ne)?(?: (?:known|prior|previous|significant|recorded|reported|history of|past))* (?:procedures?|surger(?:y|ies)|operations?|(?:immunization|vaccination|procedure|surgical)s?(?: history)?)|none(?: known)?)\W*$/i;
/** The name of a kind as such, or that none of it is known. */
const OF_ANY = new RegExp(
  `${NO_KNOWN.source}|^(?:procedure|vaccine|vaccination|immunization|no vaccine administered)\\W*$`,
  'i',
);

/**
 * A negated medication: no medication at all, an unspecified one, or this one
 * is not taken.
 */
function notTaken(
  { dosage: _dosage, ...statement }: FhirJson,
  day: string | undefined,
): FhirJson {
  const { medicationCodeableConcept, medicationReference } = statement;
  const isAny = conceptCodes(medicationCodeableConcept).some((code) =>
    ANY_DRUG.includes(code),
  );
  const isSpecified =
    conceptCodes(medicationCodeableConcept).length > 0 ||
    hasText(medicationCodeableConcept) ||
    medicationReference !== undefined;
  const said = wordsBeside(medicationCodeableConcept);
  const none = !isAny
    ? isSpecified
      ? undefined
      : UNSPECIFIED
    : said === undefined
      ? namedConcept(SNOMED, '787481004')
      : NOT_KNOWN.test(said)
        ? UNSPECIFIED
        : { text: said };
  return {
    ...statement,
    status: none === undefined ? 'not-taken' : 'unknown',
    ...(none === undefined ? {} : { medicationCodeableConcept: none }),
    dateAsserted: statement.dateAsserted ?? day,
  };
}

/**
 * Words for a kind as such that say neither what there is none of nor that
 * nothing is known.
 */
const OF_THE_KIND =
  /^(?:(?:takes )?no(?:t on any)? ?(?:known |current |active |reported |health |historical )*)?(?:allerg(?:y|ies)|problems?|conditions?|diseases?|drugs?(?: or medica(?:tion|ment))?|medications?|substances?)\W*$|^nk[dfm]?a\W*$/i;
const NOT_KNOWN =
  /\b(?:not (?:available|documented|recorded|assessed)|excluded|unknown|no information)\b/i;
/** Words that deny by themselves: to refute them would say the opposite. */
const NONE = /\b(?:no|none|nil|not|denies|denied|negative|without)\b/i;

/**
 * What a document says in its own words beside the code of a kind; undefined
 * when they say no more than the code.
 */
function wordsBeside(concept: unknown): string | undefined {
  if (!isFhirJson(concept)) return undefined;
  const names = fhirObjects(concept.coding).map(({ display }) =>
    fhirText(display),
  );
  const text = writtenBeside(fhirText(concept.text), names);
  return text === undefined || names.includes(text) || OF_THE_KIND.test(text)
    ? undefined
    : text;
}

const hasText = (of: unknown): boolean =>
  isFhirJson(of) && fhirText(of.text) !== undefined;

/** A finding or value that was not there. */
function notFound(observation: FhirJson): FhirJson {
  const {
    interpretation: _interpretation,
    component: _component,
    ...rest
  } = observation;
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !name.startsWith('value')),
  );
  const { valueCodeableConcept, valueString, valueQuantity } = rest;
  const value = isFhirJson(valueCodeableConcept)
    ? (fhirText(valueCodeableConcept.text) ??
      fhirText(fhirObjects(valueCodeableConcept.coding)[0]?.code))
    : isFhirJson(valueQuantity)
      ? [valueQuantity.value, valueQuantity.unit]
          .filter((part) => part !== undefined)
          .join(' ')
      : fhirText(valueString);
  return value === undefined
    ? {
        ...kept,
        dataAbsentReason: codedConcept('data-absent-reason', 'not-performed'),
      }
    : { ...kept, valueString: `Not: ${value}` };
}
