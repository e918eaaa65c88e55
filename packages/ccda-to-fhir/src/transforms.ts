import type { Extension } from 'fhir/r4.js';
import {
  authorship,
  devices,
  FDA,
  location,
  organization,
  performer,
} from './actors.ts';
import { path } from './cda-path.ts';
import {
  address,
  age,
  coding,
  concept,
  humanName,
  identifier,
  nameInOneLine,
  numberOf,
  quantity,
  telecom,
} from './datatypes.ts';
import { withoutCount } from './dosages.ts';
import {
  attribute,
  type CdaElement,
  childrenOf,
  elementsAt,
  line,
  markRead,
  ownText,
  statusCode,
  words,
} from './element.ts';
import type { FhirJson } from './json.ts';
import {
  dosages,
  drug,
  given,
  intentOf,
  medicationStatus,
} from './medications.ts';
import { observation } from './observations.ts';
import { isSeverity, severityOf } from './severities.ts';
import {
  ABSENT,
  codedConcept,
  type DocumentScope,
  mapped,
  TimeValue,
  type Transform,
  templateResource,
} from './table.ts';
import type { NestedElement, TemplateName } from './template-types.ts';
import { cdaTimeInFhir, periodOf, statedTime } from './times.ts';
import { boundsOf } from './timings.ts';
import { MAPS } from './value-maps.ts';
import { interpretation, referenceRange } from './values.ts';

type One = (element: CdaElement, scope: DocumentScope) => unknown;

/** The first value that one of the elements gives. */
const first =
  (as: One): Transform =>
  (found, scope) => {
    for (const element of found) {
      const made = read(as, element, scope);
      if (made !== undefined) return made;
    }
    return undefined;
  };

/** The values that the elements give. */
const list =
  (as: One): Transform =>
  (found, scope) =>
    found
      .map((element) => read(as, element, scope))
      .filter((made) => made !== undefined);

/** What is made of an element, which then counts as read. */
function read(as: One, element: CdaElement, scope: DocumentScope): unknown {
  const made = as(element, scope);
  if (made !== undefined) markRead(element);
  return made;
}

const inWords: One = (element, scope) => {
  const text = line(element, scope);
  return text && { text };
};

type CodeMap = Readonly<Record<string, string>>;
const codeIn =
  (map: CodeMap) =>
  ({ attributes }: CdaElement): string | undefined =>
    map[attributes.code ?? ''];

/** A code, or the words of an element that has none which the map knows. */
const codeOrWordsIn =
  (map: CodeMap): One =>
  (element, scope) => {
    const known = codeIn(map)(element);
    const said = concept(element, scope)?.text ?? line(element, scope);
    return known ?? map[String(said).toLowerCase()];
  };

const nestedIn =
  (template: TemplateName): One =>
  (element, scope) =>
    attribute(element, 'negationInd') === 'true'
      ? undefined
      : mapped(template, element, scope);

const timeIn = (
  value: string | undefined,
  { offset }: DocumentScope,
): TimeValue | undefined => {
  const time = cdaTimeInFhir(value, offset);
  return time && new TimeValue(time);
};
/** FHIR's date has no time of day. */
const dayIn: One = ({ attributes }) =>
  cdaTimeInFhir(attributes.value, undefined)?.value.slice(0, 10);

/** A time if it is one moment. */
const momentIn: One = (element, { offset }) => {
  const { at, low, high } = statedTime(element, offset);
  const found = at ?? (low?.value === high?.value ? low : undefined);
  return found && new TimeValue(found);
};
const periodIn: One = (element, { offset }) =>
  periodOf(statedTime(element, offset));

/** An extension with what `as` makes as its value. */
const extension =
  (name: NestedElement<Extension>, as: One) =>
  (url: string): Transform =>
    list((element, scope) => {
      const value = as(element, scope);
      return value && { url, [name]: value };
    });

const CONTACT_ROLE = 'http://terminology.hl7.org/CodeSystem/v2-0131';
const GENDERS = 'http://hl7.org/fhir/administrative-gender';
const genderIn: One = (element) => {
  const code = codeIn(MAPS.AdministrativeGender)(element);
  return code && codedConcept(GENDERS, code);
};

/** What a contact is to the patient: by the class of the role, and by its code. */
function contactRoles(role: CdaElement, scope: DocumentScope): unknown[] {
  const kind = attribute(role, 'classCode') ?? '';
  const code = MAPS.ContactKind[kind];
  const text = MAPS.Display[kind];
  const relation = childrenOf(role, 'code').map((each) => concept(each, scope));
  const roles = [code && { coding: [{ system: CONTACT_ROLE, code }], text }];
  return [...roles, ...relation].filter((each) => each !== undefined);
}

const statusIn =
  <Code extends string>(
    map: Readonly<Record<string, Code>>,
    otherwise?: NoInfer<Code>,
  ): Transform =>
  ([node]) =>
    (node && map[statusCode(node) ?? '']) ?? otherwise;

const specimen: One = (role, scope) => {
  const made = templateResource('Specimen', role, scope);
  return made && { ...scope.add(made), display: (made.type as FhirJson).text };
};

const udi: One = ({ attributes: { root, extension: carrier } }) =>
  root === FDA && carrier !== undefined
    ? {
        deviceIdentifier: /^\(01\)(\d{14})/.exec(carrier)?.[1],
        carrierHRF: carrier,
      }
    : undefined;

/**
 * The categories of race and ethnicity of the OMB; other codes are details of
 * them.
 */
const OMB = [
  '1002-5',
  '2028-9',
  '2054-5',
  '2076-8',
  '2106-3',
  '2135-2',
  '2186-5',
];
const omb =
  (name: 'ethnicity' | 'race'): Transform =>
  (found) => {
    const codes = found
      .flatMap((one) => [one, ...childrenOf(one, 'translation')])
      .map(coding)
      .filter((made) => made !== undefined);
    const parts = codes.map((valueCoding) => ({
      url: OMB.includes(String(valueCoding.code)) ? 'ombCategory' : 'detailed',
      valueCoding,
    }));
    const valueString = codes
      .map(({ code, display }) => String(display ?? code))
      .join(', ');
    const url = `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`;
    return codes.length === 0
      ? []
      : [{ extension: [...parts, { url: 'text', valueString }], url }];
  };

/**
 * The reactions to a substance, under whichever relationship they stand; some
 * documents state their severity under that of a manifestation.
 */
const reactions: Transform = (found, scope) => {
  const stated = found.flatMap((node) => [
    ...elementsAt(node, MANIFESTATIONS),
    ...elementsAt(node, REACTIONS),
  ]);
  const own = [...new Set(stated)].filter((each) => !isSeverity(each));
  return list(nestedIn('Reaction'))(own, scope);
};

const MANIFESTATIONS = path('entryRelationship[@typeCode=MFST]/observation');
const REACTIONS = path('entryRelationship/observation[template=4.9]');

/** The words of a text as an attachment, or the file that it contains. */
const attachment: One = (text, scope) => {
  const file =
    attribute(text, 'representation') === 'B64'
      ? ownText(text)?.replaceAll(' ', '')
      : undefined;
  const said = words(text, scope);
  const data = file ?? (said && Buffer.from(said).toString('base64'));
  return (
    data && {
      attachment: {
        contentType: attribute(text, 'mediaType') ?? 'text/plain',
        data,
      },
    }
  );
};

const periodUnlessMoment: Transform = (found, scope) =>
  first(momentIn)(found, scope) === undefined
    ? first(periodIn)(found, scope)
    : undefined;

/** The single time among the bounds and frequencies of a drug. */
const drugTime: Transform = (found, { offset }) => {
  const { at } = statedTime(boundsOf(found), offset);
  return at && new TimeValue(at);
};
const drugPeriod: Transform = (found, { offset }) => {
  const { at, ...ends } = statedTime(boundsOf(found), offset);
  return at === undefined ? periodOf(ends) : undefined;
};

const allDosages: Transform = (found, scope) =>
  found.flatMap((node) => dosages(node, scope));

const addObservation: One = (node, scope) =>
  scope.add(observation(node, scope));

/**
 * What the rows of `templates.ts` make of the elements at a path. A name in the
 * plural makes a list.
 */
export const toFhir = {
  absent: () => ABSENT,
  fixed:
    (value: unknown): Transform =>
    () =>
      value,
  patient: (_: unknown, { patient }: DocumentScope) => patient,
  part: (template: TemplateName) => first(nestedIn(template)),
  parts: (template: TemplateName) => list(nestedIn(template)),

  // Identifiers, names and contacts.
  identifiers: list(identifier),
  udiCarriers: list(udi),
  idExtension: first(({ attributes }) => attributes.extension),
  name: first(humanName),
  names: list(humanName),
  nameText: first(nameInOneLine),
  address: first(address),
  addresses: list(address),
  telecoms: list(telecom),
  language: first(
    ({ attributes: { code } }) => code && codedConcept('urn:ietf:bcp:47', code),
  ),

  // Codes.
  code: (map: CodeMap) => first(codeIn(map)),
  codes: (map: CodeMap) => list(codeIn(map)),
  codeOrWords: (map: CodeMap) => first(codeOrWordsIn(map)),
  status: statusIn,
  concept: first(concept),
  concepts: list(concept),
  conceptText: first((element, scope) => concept(element, scope)?.text),
  genderConcept: first(genderIn),
  contactRoles: (
    [role]: readonly CdaElement[],
    scope: DocumentScope,
  ): unknown[] => (role === undefined ? [] : contactRoles(role, scope)),
  interpretations: list(interpretation),
  /** References that have only a name. */
  namedReferences: list((element, scope) => {
    const display = concept(element, scope)?.text;
    return display && { display };
  }),

  // Words.
  text: first(line),
  words: first(words),
  wordsAsConcept: first(inWords),
  wordsAsConcepts: list(inWords),
  attachments: list(attachment),

  // Times.
  time: first(({ attributes }, scope) => timeIn(attributes.value, scope)),
  day: first(dayIn),
  moment: first(momentIn),
  period: first(periodIn),
  periodUnlessMoment,
  beginning: first((element, { offset }) => {
    const { at, low, high } = statedTime(element, offset);
    const found = at ?? low ?? high;
    return found && new TimeValue(found);
  }),
  drugTime,
  drugPeriod,

  // Numbers.
  boolean: first(({ attributes: { value } }) =>
    value === undefined ? undefined : value === 'true',
  ),
  age: first(age),
  quantity: first(quantity),
  dose: first((element, scope) => withoutCount(quantity(element, scope))),
  doseNumbers: list((element) => {
    const number = numberOf(element);
    return Number.isInteger(number) && Number(number) > 0
      ? { doseNumberPositiveInt: number }
      : undefined;
  }),
  /** CDA counts the first dispense, FHIR only those after it. */
  repeats: first((element) => {
    const total = numberOf(element);
    return Number.isInteger(total) && Number(total) >= 1
      ? Number(total) - 1
      : undefined;
  }),
  referenceRanges: list(referenceRange),

  // Who and what took part.
  author: first((node, scope) => authorship(node, scope).author),
  authors: list((node, scope) => authorship(node, scope).author),
  authored: first((node, scope) => {
    const { time } = authorship(node, scope);
    return time && new TimeValue(time);
  }),
  authoredInstant: first((node, scope) => {
    const { time } = authorship(node, scope);
    return time?.value.includes('T') ? time.value : undefined;
  }),
  performer: first(performer),
  performers: list(performer),
  organization: first(organization),
  location: first(location),
  locations: list(location),
  devices: first(devices),
  specimen: first(specimen),
  specimens: list(specimen),

  // What other rules read.
  drug: first(drug),
  drugStatus: first(medicationStatus),
  intent: first(intentOf),
  dosages: allDosages,
  dosageGiven: first(given),
  severity: first((node, scope) => severityOf(node, scope).severity),
  severityInWords: first((node, scope) => severityOf(node, scope).description),
  reactions,
  observation: first(addObservation),
  observations: list(addObservation),

  // Extensions, by their URL.
  addressExtension: extension('valueAddress', address),
  conceptExtension: extension('valueCodeableConcept', concept),
  timeExtension: extension(
    'valueDateTime',
    ({ attributes }, { offset }) =>
      cdaTimeInFhir(attributes.value, offset)?.value,
  ),
  ombExtension: omb,
};
