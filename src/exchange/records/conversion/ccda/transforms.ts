import type { Json } from '../../rules/json.ts';
import {
  authorship,
  devices,
  location,
  organization,
  performer,
} from './actors.ts';
import {
  address,
  age,
  coding,
  concept,
  humanName,
  identifier,
  nameText,
  numberOf,
  quantity,
  telecom,
} from './datatypes.ts';
import { withoutCount } from './dosages.ts';
import {
  attribute,
  type CdaElement,
  childrenOf,
  line,
  plainText,
  statusOf,
  words,
} from './element.ts';
import {
  dosages,
  drug,
  given,
  intentOf,
  medicationStatus,
} from './medications.ts';
import { observation } from './observations.ts';
import { severityOf } from './severities.ts';
import {
  ABSENT,
  conceptOf,
  mapped,
  resourceOf,
  type Scope,
  type TemplateName,
  TimeValue,
  type Transform,
} from './table.ts';
import { fhirTime, periodOf, statedTime } from './times.ts';
import { boundsOf } from './timings.ts';
import { MAPS } from './value-maps.ts';
import { interpretation, referenceRange } from './values.ts';

type One = (element: CdaElement, scope: Scope, argument: string) => unknown;
/** A transform of the first element found, or of each. */
const first =
  (as: One): Transform =>
  (found, scope, argument) =>
    found
      .map((element) => as(element, scope, String(argument)))
      .find((made) => made !== undefined);
const list =
  (as: One): Transform =>
  (found, scope, argument) =>
    found
      .map((element) => as(element, scope, String(argument)))
      .filter((made) => made !== undefined);

const inWords: One = (element, scope) => {
  const text = line(element, scope);
  return text && { text };
};
const mapOf = (name: string): Readonly<Record<string, string>> =>
  MAPS[name as keyof typeof MAPS];
const codeIn: One = ({ attributes }, _, map) =>
  mapOf(map)[attributes.code ?? ''];
/** A code, or the words of an element that has none which the map knows. */
const codeOrWordsIn: One = (element, scope, map) => {
  const known = codeIn(element, scope, map);
  const said = concept(element, scope)?.text ?? line(element, scope);
  return known ?? mapOf(map)[String(said).toLowerCase()];
};
const nestedIn: One = (element, scope, template) =>
  attribute(element, 'negationInd') === 'true'
    ? undefined
    : mapped(template as TemplateName, element, scope);
const timeIn = (
  value: string | undefined,
  { offset }: Scope,
): TimeValue | undefined => {
  const time = fhirTime(value, offset);
  return time && new TimeValue(time);
};
/** FHIR's date has no time of day. */
const dayIn: One = ({ attributes }) =>
  fhirTime(attributes.value, undefined)?.value.slice(0, 10);

/** A time if it is one moment. */
const momentIn: One = (element, { offset }) => {
  const { at, low, high } = statedTime(element, offset);
  const found = at ?? (low?.value === high?.value ? low : undefined);
  return found && new TimeValue(found);
};
const periodIn: One = (element, { offset }) =>
  periodOf(statedTime(element, offset));
const extension =
  (name: string, as: One): One =>
  (element, scope, url) => {
    const value = as(element, scope, '');
    return value && { url, [name]: value };
  };
const specimen: One = (role, scope) => {
  const made = resourceOf('Specimen', role, scope);
  return made && { ...scope.add(made), display: (made.type as Json).text };
};

/** FDA's namespace of unique device identifiers. */
const FDA = '2.16.840.1.113883.3.3719';
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
const omb: Transform = (found, _, name) => {
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
  const url = `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${String(name)}`;
  return codes.length === 0
    ? []
    : [{ extension: [...parts, { url: 'text', valueString }], url }];
};

/** The words of a text as an attachment, or the file that it contains. */
const attachment: One = (text, scope) => {
  const file =
    attribute(text, 'representation') === 'B64'
      ? plainText(text)?.replaceAll(' ', '')
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

/** The transforms that the rows of `templates.json` name. */
export const TRANSFORMS: Readonly<Record<string, Transform>> = {
  absent: () => ABSENT,
  address: first(address),
  addressExtension: list(extension('valueAddress', address)),
  addresses: list(address),
  age: first(age),
  all: list(concept),
  asPeriod: (found, scope) =>
    first(momentIn)(found, scope, '', '') === undefined
      ? first(periodIn)(found, scope, '', '')
      : undefined,
  attachments: list(attachment),
  author: first((node, scope) => authorship(node, scope).author),
  authorList: list((node, scope) => authorship(node, scope).author),
  authored: first((node, scope) => {
    const { time } = authorship(node, scope);
    return time && new TimeValue(time);
  }),
  authoredInstant: first((node, scope) => {
    const { time } = authorship(node, scope);
    return time?.value.includes('T') ? time.value : undefined;
  }),
  beginning: first((element, { offset }) => {
    const { at, low, high } = statedTime(element, offset);
    const found = at ?? low ?? high;
    return found && new TimeValue(found);
  }),
  boolean: first(({ attributes: { value } }) =>
    value === undefined ? undefined : value === 'true',
  ),
  code: first(codeIn),
  codeOrWords: first(codeOrWordsIn),
  codes: list(codeIn),
  concept: first((element, scope, map) => {
    const code = codeIn(element, scope, map) as string | undefined;
    return code && conceptOf('http://hl7.org/fhir/administrative-gender', code);
  }),
  conceptExtension: list(extension('valueCodeableConcept', concept)),
  conceptText: first((element, scope) => concept(element, scope)?.text),
  day: first(dayIn),
  devices: first(devices),
  dosages: (found, scope) => found.flatMap((node) => dosages(node, scope)),
  dose: first((element, scope) => withoutCount(quantity(element, scope))),
  doseNumber: list((element) => {
    const number = numberOf(element);
    return Number.isInteger(number) && Number(number) > 0
      ? { doseNumberPositiveInt: number }
      : undefined;
  }),
  drug: first(drug),
  drugStatus: first(medicationStatus),
  each: list(nestedIn),
  extension: list(
    extension(
      'valueDateTime',
      ({ attributes }, scope) =>
        fhirTime(attributes.value, scope.offset)?.value,
    ),
  ),
  extensionOfId: first(({ attributes }) => attributes.extension),
  firstName: first(humanName),
  fixed: (_, __, value) => value,
  flags: list(interpretation),
  given: first(given),
  ids: list(identifier),
  intent: first(intentOf),
  inWords: first(inWords),
  language: first(
    ({ attributes: { code } }) => code && conceptOf('urn:ietf:bcp:47', code),
  ),
  limits(found, { offset }) {
    const { at, ...ends } = statedTime(boundsOf(found), offset);
    return at === undefined ? periodOf(ends) : undefined;
  },
  location: first(location),
  locations: list(location),
  moment: first(momentIn),
  name: first(nameText),
  named: list((element, scope) => {
    const display = concept(element, scope)?.text;
    return display && { display };
  }),
  names: list(humanName),
  nested: first(nestedIn),
  observation: first((node, scope) => scope.add(observation(node, scope))),
  observations: list((node, scope) => scope.add(observation(node, scope))),
  omb,
  one: first(concept),
  organization: first(organization),
  orWords: list(inWords),
  patient: (_, { patient }) => patient,
  performer: first(performer),
  performers: list(performer),
  period: first(periodIn),
  quantity: first(quantity),
  ranges: list(referenceRange),
  // CDA counts the first dispense, FHIR only those after it.
  repeats: first((element) => {
    const total = numberOf(element);
    return Number.isInteger(total) && Number(total) >= 1
      ? Number(total) - 1
      : undefined;
  }),
  severity: first((node, scope) => severityOf(node, scope).severity),
  severityBeyond: first((node, scope) => severityOf(node, scope).description),
  single: (found, scope) => {
    const { at } = statedTime(boundsOf(found), scope.offset);
    return at && new TimeValue(at);
  },
  specimen: first(specimen),
  specimens: list(specimen),
  status: ([node], _, map, otherwise = 'unknown') =>
    (node && mapOf(String(map))[statusOf(node) ?? '']) ??
    (otherwise || undefined),
  telecoms: list(telecom),
  text: first(line),
  time: first(({ attributes }, scope) => timeIn(attributes.value, scope)),
  udi: list(udi),
  words: first(words),
};
