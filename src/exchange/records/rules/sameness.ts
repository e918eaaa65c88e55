import {
  bucketsOf,
  canonicalJson,
  comparableText,
  day,
  firstMoment,
  isEnteredInError,
  isJson,
  type Json,
  meaningOf,
  meaningsOf,
  measureIn,
  moment,
  objectsOf,
  sortTexts,
  textOf,
} from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { pressureOf } from './assertions.ts';
import { comparable, withoutMetadata } from './comparable.ts';
import {
  absenceDay,
  alternatives,
  classOf,
  comparableName,
  contentFingerprint,
  dayOf,
  focusOf,
  medicationOf,
  negation,
  type Related,
  resourceFingerprint,
  valueKind,
} from './fingerprints.ts';
import { hashOf } from './ids.ts';

/**
 * Identifier systems whose values several things share, such as tax numbers of
 * a company's sites.
 */
const SHARED_SYSTEMS: ReadonlySet<string> = new Set([
  'urn:oid:2.16.840.1.113883.4.2',
  'urn:oid:2.16.840.1.113883.4.4',
  'http://hl7.org/fhir/sid/us-ein',
]);

const NO_VALUE = /^(?:0+|none|null|unknown|n\/?a|unk|-+)$/i;

/**
 * The keys of a resource: resources that share a key are candidates for being
 * the same thing. Prefixes: `c:` content, `i:` business identifier, `o:` only
 * the source's own id, `s:` another version of the same statement
 * (`grouping.ts`). The first key in text order gives the consolidated resource
 * its id; content sorts before identifiers, so that another source with the
 * same content does not change the id.
 *
 * @param identity the resource's identity at its source
 */
export function samenessKeys(
  identity: { source: string; sourceId: string; isConverted?: boolean },
  resource: Json,
  related: Related = {},
): string[] {
  const type = textOf(resource.resourceType) ?? '';
  const buckets = bucketsIn(resource);
  const numbers = numbersOf(resource);
  const keys = new Set(identifierKeys(numbers, resource, related, buckets));
  const fingerprint = resourceFingerprint(resource, related);
  if (fingerprint !== undefined) {
    for (const each of alternatives(resource, fingerprint))
      for (const bucket of buckets)
        keys.add(samenessKey('c', [type, ...each, ...bucket]));
    for (const key of pressureKeys(resource, related)) keys.add(key);
  } else if (type === 'Medication')
    keys.add(
      samenessKey('c', [
        type,
        'as it is',
        canonicalJson(withoutMetadata(resource)),
      ]),
    );
  else if (!isOwnThing(type)) {
    keys.add(
      samenessKey('c', [
        type,
        'as it is',
        identity.source,
        canonicalJson(withoutMetadata(resource)),
      ]),
    );
  }
  if (keys.size === 0) keys.add(ownKey(type, identity));
  for (const key of versionKeys(
    numbers,
    resource,
    related,
    identity.isConverted === true,
    keys,
  ))
    keys.add(key);
  return sortTexts([...keys]);
}

/** The keys of an Observation by its content. */
const contentKeys = (resource: Json, related: Related): string[] => {
  const fingerprint = resourceFingerprint(resource, related);
  return fingerprint === undefined
    ? []
    : bucketsIn(resource).map((bucket) =>
        samenessKey('c', ['Observation', ...fingerprint, ...bucket]),
      );
};

const pressureKeys = (resource: Json, related: Related): string[] =>
  pressuresIn(resource).flatMap((each) => contentKeys(each, related));

/**
 * The pressures that a panel of blood pressure contains, as measurements of their
 * own: another source may state them so.
 */
function pressuresIn(resource: Json): Json[] {
  if (resource.resourceType !== 'Observation') return [];
  const { component, ...panel } = resource;
  return objectsOf(component)
    .filter((part) => pressureOf(part) !== undefined)
    .map(({ code, valueQuantity }) => ({ ...panel, code, valueQuantity }));
}

/** The key of a delivery that shares none with any other. */
export const ownKey = (
  type: string,
  { source, sourceId }: { source: string; sourceId: string },
): string => samenessKey('o', [type, source, sourceId]);

/**
 * Types compared by id only: they consist mostly of references, or equal ones
 * occur together (three boxes delivered).
 */
const isOwnThing = (type: string): boolean =>
  type === 'Provenance' ||
  type === 'List' ||
  type === 'Task' ||
  type === 'SupplyDelivery';

/**
 * The keys of a statement whose state changes: its identifiers with what they
 * identify, whatever the value or the status. Also, for what a source retracts
 * and what a document states, its content.
 */
function versionKeys(
  identifiers: ReturnType<typeof numbersOf>,
  resource: Json,
  related: Related,
  isConverted: boolean,
  keys: ReadonlySet<string>,
): string[] {
  const type = textOf(resource.resourceType) ?? '';
  const numbers = identifiers.filter(({ kind }) => !ORDERS.includes(kind));
  const isRetracted = isEnteredInError(resource);
  if (numbers.length === 0 && !isConverted && !isRetracted) return [];
  const what = STATED[type]?.(resource, related) ?? [undefined];
  if (what.includes(undefined)) return [];
  const byNumber = numbers.map(({ system, value }) =>
    samenessKey('s', [type, system, value, what]),
  );
  if (isConverted) {
    const codes = [...keys].filter((key) => key.startsWith('c:'));
    return [...byNumber, ...codes.map((key) => `s:${key}`)];
  }
  if (!isRetracted) return byNumber;
  const fingerprint = contentFingerprint(resource, related);
  const buckets = fingerprint === undefined ? [] : bucketsIn(resource);
  return [
    ...byNumber,
    ...buckets.map(
      (bucket) =>
        `s:${samenessKey('c', [type, ...(fingerprint ?? []), ...bucket])}`,
    ),
  ];
}

/** Numbers that a spreadsheet has rounded are those of several things. */
const ROUNDED = /^\d(?:\.\d+)?E\+\d+$/i;

/** Types of identifiers that number orders. */
const ORDERS: readonly (string | undefined)[] = ['PLAC', 'PGN'];

/**
 * The business identifiers of a resource that identify one thing only, with the
 * code of their type.
 */
function numbersOf(
  resource: Json,
): { system: string; value: string; kind: string | undefined }[] {
  return [
    ...objectsOf(resource.identifier),
    ...objectsOf(resource.masterIdentifier),
    ...objectsOf(resource.accessionIdentifier),
  ].flatMap(({ system, value, use, type }) => {
    const name = textOf(system);
    const text = textOf(value)?.trim();
    if (name === undefined || text === undefined || NO_VALUE.test(text))
      return [];
    if (ROUNDED.test(text)) return [];
    if (use === 'old' || use === 'temp' || SHARED_SYSTEMS.has(name)) return [];
    const [coding] = objectsOf(objectsOf(type)[0]?.coding);
    return {
      system: name.replace(/\/$/, ''),
      value: text,
      kind: textOf(coding?.code),
    };
  });
}

function identifierKeys(
  numbers: ReturnType<typeof numbersOf>,
  resource: Json,
  related: Related,
  buckets: readonly (readonly string[])[],
): string[] {
  if (numbers.length === 0) return [];
  const type = textOf(resource.resourceType) ?? '';
  const besides = AGREEING_WITH_IDENTIFIER[type]?.(resource, related) ?? [
    withoutNumbers(resource),
  ];
  const beside = [isEnteredInError(resource), negation(resource), ...besides];
  return numbers.flatMap(({ system, value }) =>
    buckets.map((bucket) =>
      samenessKey('i', [type, system, value, beside, ...bucket]),
    ),
  );
}

const withoutNumbers = ({ identifier: _identifier, ...rest }: Json): unknown =>
  comparable(rest);

/**
 * Results that agree within their precision share a bucket; `grouping.ts`
 * decides which of them are united.
 */
function bucketsIn(resource: Json): string[][] {
  if (resource.resourceType !== 'Observation') return [[]];
  const { measure } = measureIn(resource);
  return measure === undefined
    ? [[]]
    : bucketsOf(measure.value).map((bucket) => [bucket]);
}

const samenessKey = (
  kind: 'c' | 'i' | 'o' | 's',
  parts: readonly unknown[],
): string => `${kind}:${hashOf(parts)}`;

type AgreeingParts = (resource: Json, related: Related) => readonly unknown[];

/**
 * A key for a concept: its meaning, or its full content if it has none, so that
 * two unknown concepts stay distinct.
 */
const conceptKey = (value: unknown): string =>
  meaningOf(value) ?? (value === undefined ? '' : canonicalJson(value));

const at = (resource: Json, ...elements: string[]): string =>
  firstMoment(resource, elements) ?? '';

const period = (value: unknown): unknown[] =>
  isJson(value)
    ? [moment(value.start) ?? '', moment(value.end) ?? '']
    : ['', ''];

/**
 * A key for references: display or identifier, since an id is meaningful only
 * at its source.
 */
const partyKey = (value: unknown): string =>
  objectsOf(value)
    .map(({ display, identifier, reference }) =>
      canonicalJson(comparableText(display) ?? identifier ?? reference ?? ''),
    )
    .sort()
    .join();

const drug = (resource: Json, related: Related): string =>
  medicationOf(resource, related) ??
  canonicalJson([
    resource.medicationCodeableConcept,
    resource.medicationReference,
  ]);

const taken: AgreeingParts = (resource, related) => [
  drug(resource, related),
  dayOf(resource) ?? '',
];
const coded: AgreeingParts = (resource) => [
  conceptKey(resource.code),
  dayOf(resource) ?? '',
];

const billed: AgreeingParts = ({
  type,
  use,
  status,
  outcome,
  created,
  billablePeriod,
  total,
  item,
  payment,
}) => [
  conceptKey(type),
  use,
  status,
  outcome,
  moment(created),
  period(billablePeriod),
  total,
  objectsOf(item).map(
    ({ productOrService, servicedDate, servicedPeriod, quantity, net }) => [
      conceptKey(productOrService),
      moment(servicedDate),
      period(servicedPeriod),
      quantity,
      net,
    ],
  ),
  isJson(payment) ? [payment.amount, payment.date] : '',
];

/**
 * What must agree, besides a shared business identifier, for two resources to
 * be the same thing, by type: orders, claims and insurance cards give one
 * number to several things. An element missing from both agrees. For types not
 * listed here the whole content must agree.
 */
const AGREEING_WITH_IDENTIFIER: Readonly<Record<string, AgreeingParts>> =
  lookupTable({
    AllergyIntolerance: (resource) => [
      conceptKey(resource.code),
      resource.code === undefined
        ? meaningsOf(
            objectsOf(resource.reaction).map(({ substance }) => substance),
          )
        : '',
      ...absenceDay(resource),
    ],
    Claim: billed,
    Condition: (resource) => [
      conceptKey(resource.code),
      day(resource, 'onsetDateTime', 'onsetPeriod', 'recordedDate') ?? '',
    ],
    Coverage: ({
      type,
      status,
      period: valid,
      payor,
      subscriberId,
      dependent,
      relationship,
      order,
      ...rest
    }) => [
      conceptKey(type),
      status,
      period(valid),
      partyKey(payor),
      [subscriberId, dependent, conceptKey(relationship), order],
      objectsOf(rest.class).map(({ type: kind, value }) => [
        conceptKey(kind),
        value,
      ]),
    ],
    Device: ({ type, serialNumber, lotNumber, status }) => [
      conceptKey(type),
      serialNumber,
      lotNumber,
      status,
    ],
    DiagnosticReport: coded,
    DocumentReference: ({ type, date, content }) => [
      conceptKey(type),
      moment(date),
      objectsOf(content).map(({ attachment }) => {
        const { hash, data, title, contentType } = isJson(attachment)
          ? attachment
          : {};
        return [
          hash ?? data ?? [title, isJson(attachment) ? attachment.url : ''],
          contentType,
        ];
      }),
    ],
    Encounter: (resource) => [
      classOf(resource) ?? '',
      meaningsOf(resource.type),
      dayOf(resource) ?? '',
    ],
    ExplanationOfBenefit: billed,
    ImagingStudy: ({ started, series, modality }) => [
      moment(started),
      objectsOf(series).map(({ uid }) => uid),
      canonicalJson(modality ?? ''),
    ],
    Immunization: (resource) => [
      conceptKey(resource.vaccineCode),
      day(resource, 'occurrenceDateTime') ??
        comparableText(resource.occurrenceString),
    ],
    Location: ({ name }) => [comparableText(name)],
    MedicationAdministration: taken,
    MedicationDispense: taken,
    MedicationRequest: taken,
    MedicationStatement: taken,
    Observation: (resource) => [
      conceptKey(resource.code),
      dayOf(resource) ?? '',
      ...focusOf(resource),
      valueKind(resource),
      objectsOf(resource.component)
        .map((part) => `${conceptKey(part.code)}=${valueKind(part)}`)
        .sort(),
    ],
    Organization: ({ name }) => [comparableText(name)],
    Practitioner: (resource) => [
      comparableName(resource) ?? canonicalJson(resource.name ?? ''),
    ],
    Procedure: coded,
    RelatedPerson: (resource) => [
      comparableName(resource) ?? canonicalJson(resource.name ?? ''),
      meaningsOf(resource.relationship),
    ],
    ServiceRequest: coded,
    Specimen: (resource) => [
      conceptKey(resource.type),
      at(
        resource,
        'collection.collectedDateTime',
        'collection.collectedPeriod',
        'receivedTime',
      ),
    ],
  });

/**
 * What an identifier identifies while the statement under it changes, by type:
 * of what is kept in lists only the thing itself, of what happened also the
 * time, because some sources number kinds of results. Undefined where a part is
 * missing.
 */
const STATED: Readonly<Record<string, AgreeingParts>> = lookupTable({
  AllergyIntolerance: ({ code }) => [meaningOf(code)],
  Condition: ({ code }) => [meaningOf(code)],
  DiagnosticReport: (resource) => [meaningOf(resource.code), dayOf(resource)],
  Encounter: (resource) => [dayOf(resource)],
  Immunization: (resource) => [
    meaningOf(resource.vaccineCode),
    day(resource, 'occurrenceDateTime'),
  ],
  MedicationRequest: (resource, related) => [medicationOf(resource, related)],
  MedicationStatement: (resource, related) => [medicationOf(resource, related)],
  Observation: (resource) => [
    meaningOf(resource.code),
    dayOf(resource),
    meaningOf(resource.bodySite) ?? '',
    ...focusOf(resource),
  ],
  Procedure: (resource) => [meaningOf(resource.code), dayOf(resource)],
});
