import type { FhirResource } from 'fhir/r4.js';
import { envelopeOf } from './envelope.ts';
import { invalid } from './errors.ts';
import {
  codeOrNameAt,
  type FieldPlace,
  fieldsAt,
  numberAt,
  type SegmentGroup,
  valueAt,
} from './field-places.ts';
import { recordNumber, requiredField, subjectNumbers } from './fields.ts';
import { hl7Table } from './lookup-table.ts';
import { mappedResource } from './mapped.ts';
import { CLINICAL_MESSAGES } from './mappings/clinical-messages.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import type { AnyMessageMapping } from './message-mapping.ts';
import {
  observationsIn,
  vaccineObservations,
  withReactions,
  withSupport,
} from './observations-beside.ts';
import type {
  ReadMessage,
  ReportedResource,
  ReportedSubject,
  SubjectNumber,
} from './read-message.ts';
import type { ObservationReading } from './value.ts';

const MESSAGES: Readonly<Record<string, AnyMessageMapping>> =
  hl7Table(CLINICAL_MESSAGES);

/** The supported types, for refusals. */
export const CLINICAL_MESSAGE_TYPES = Object.keys(MESSAGES);

export const readsClinical = (type: string): boolean =>
  MESSAGES[type] !== undefined;

/**
 * Reads what is recorded without being announced. Throws
 * UnreadableMessageError.
 */
export function readClinical(
  message: Hl7Message,
  type: string,
  zone: string,
): ReadMessage {
  const { pid: _, time, ...envelope } = envelopeOf(message, zone);
  const items = reportsOf(message, type, { time, sender: '' });
  return {
    ...envelope,
    trigger: message.header.value(9, 2) ?? '',
    recordedAt: requiredField(
      envelope.sentAt,
      'MSH-7',
      'the time of the message',
    ),
    content: {
      kind: 'clinical',
      items: items.map(({ sourceId, resource, numbers }) => ({
        sourceId,
        ...(numbers === undefined ? {} : { numbers }),
        at: timeOf(resource),
        isTrue: true,
      })),
    },
  };
}

/** When it happened or was ordered, as the message says. */
function timeOf(resource: FhirResource): string | undefined {
  const { start, occurrenceDateTime, authoredOn, date } =
    resource as unknown as Record<string, string | undefined>;
  return start ?? occurrenceDateTime ?? authoredOn ?? date;
}

/** What the message reports, as FHIR resources. */
export function reportedInClinical(
  message: Hl7Message,
  type: string,
  zone: string,
  sender: string,
): ReportedSubject[] {
  const { time } = envelopeOf(message, zone);
  return reportsOf(message, type, { time, sender }).map(
    ({ sourceId, numbers, ...reported }) => ({
      kind: 'clinical',
      sourceId,
      ...(numbers === undefined ? {} : { numbers }),
      resources: [reported],
    }),
  );
}

type Report = ReportedResource & {
  sourceId: string;
  numbers?: readonly SubjectNumber[];
};

function reportsOf(
  message: Hl7Message,
  type: string,
  reading: ObservationReading,
): Report[] {
  // Before version 2.5, an order of any kind came as ORM.
  const isOfDrug = type === 'ORM^O01' && message.segment('RXO') !== undefined;
  const mapping = requiredField(
    MESSAGES[isOfDrug ? 'OMP^O09' : type],
    'MSH-9',
    'a supported type',
  );
  const groups = groupsOf(message, mapping);
  if (groups.length === 0)
    throw invalid(`${mapping.main} is required: ${mapping.what}`, mapping.main);
  return groups.flatMap((group) =>
    reportOf(
      [message.header, ...message.segments('PID'), ...group],
      mapping,
      reading,
    ),
  );
}

/**
 * A group begins with ORC, or with a main segment that has none; it has its
 * main segment first. What stands before that belongs to the order that was
 * asked for (RXO), and counts only if the main segment has none of its own.
 */
function groupsOf(
  message: Hl7Message,
  { main, segments }: AnyMessageMapping,
): Hl7Segment[][] {
  const groups: Hl7Segment[][] = [];
  for (const segment of message.segments(...segments)) {
    const has = (name: string) =>
      groups.at(-1)?.some((each) => each.name === name) === true;
    if (
      segment.name === 'ORC' ||
      (segment.name === main && (has(main) || groups.length === 0))
    )
      groups.push([]);
    groups.at(-1)?.push(segment);
  }
  return groups.flatMap((group) => {
    const at = group.findIndex(({ name }) => name === main);
    if (at < 0) return [];
    const own = group.slice(at);
    const before = group
      .slice(0, at)
      .filter(
        ({ name }) => name === 'NTE' || own.every((each) => each.name !== name),
      );
    return [[...own, ...before]];
  });
}

function personal(group: SegmentGroup, place: FieldPlace): string | undefined {
  const value = valueAt(group, place);
  const pid = group.find(({ name }) => name === 'PID');
  const record = pid && recordNumber(pid, 3);
  return (
    value &&
    `${value} of ${requiredField(record, 'PID-3', 'the record number, because ORC-3 has no number')}`
  );
}

/** Every number of an order, by which results and fills name it. */
function numbersOfOrder(
  group: SegmentGroup,
  { number, resource }: AnyMessageMapping,
  code: string,
): SubjectNumber[] {
  const of = resource.resourceType;
  return fieldsAt(group, number).flatMap(({ segment, field }) => [
    ...subjectNumbers(segment, field, { of, role: 'own' }),
    ...subjectNumbers(segment, field, {
      of: `${of}${code}`,
      role: 'identifies',
    }),
  ]);
}

/** Those of a document are its content. */
function observationsOf(
  group: SegmentGroup,
  { main }: AnyMessageMapping,
  reading: ObservationReading,
) {
  if (main === 'TXA') return [];
  return main === 'RXA'
    ? vaccineObservations(group, reading)
    : observationsIn(group, reading);
}

function reportOf(
  group: SegmentGroup,
  mapping: AnyMessageMapping,
  reading: ObservationReading,
): Report[] {
  const { resource, andCode, numberOfPerson, leftOut = {}, replaces } = mapping;
  const isLeftOut = (place: FieldPlace) =>
    leftOut[place]?.includes(valueAt(group, place) ?? '') === true;
  const observations = observationsOf(group, mapping, reading);
  // That no vaccine was given is no vaccination; immunity may stand beside it.
  const isNothing = andCode !== undefined && isLeftOut(andCode);
  if (isNothing && observations.length === 0) return [];
  const elements = mapping.elements.filter(({ from }) => !from.some(isLeftOut));
  const numbers = mapping.number.filter((place) => !isLeftOut(place));
  const number =
    numbers.flatMap((place) => numberAt(group, place) ?? []).at(0) ??
    (numberOfPerson && personal(group, numberOfPerson));
  const idOf = (of: string): string => `${resource.resourceType}/${of}`;
  const code = andCode === undefined ? '' : `/${codeOrNameAt(group, andCode)}`;
  const isStatusOnly =
    mapping.statusOnlyWithout !== undefined &&
    !group.some(({ name }) => name === mapping.statusOnlyWithout);
  const sourceId = idOf(
    `${requiredField(number, mapping.number[0] ?? '', `the number of ${mapping.what}`)}${code}`,
  );
  const beside = observations.map((each) => ({ sourceId, resource: each }));
  if (isNothing) return beside;
  const mapped = mappedResource(group, { resource, elements }, reading);
  const reported =
    mapping.main === 'RXA'
      ? withReactions(mapped, observations)
      : withSupport(mapped, observations);
  const own: Report = {
    sourceId,
    ...(mapping.isOrder === true
      ? { numbers: numbersOfOrder(group, mapping, code) }
      : {}),
    resource: reported,
    ...(isStatusOnly ? { isStatusOnly } : {}),
  };
  if (replaces === undefined) return [own, ...beside];
  const relation = replaces.events[valueAt(group, 'MSH-9.2') ?? ''];
  const other = numberAt(group, replaces.number);
  if (relation === undefined || other === undefined || other === number)
    return [own, ...beside];
  const target = {
    identifier: { value: valueAt(group, replaces.number) },
  };
  own.resource = {
    ...reported,
    relatesTo: [{ code: relation, target }],
  } as FhirResource & { id: string };
  if (relation !== 'replaces') return [own];
  const { docStatus: _, ...replaced } = reported as FhirResource & {
    id: string;
    docStatus?: string;
  };
  const superseded = {
    ...replaced,
    masterIdentifier: target.identifier,
    status: 'superseded',
    content: [{ attachment: {} }],
  };
  return [
    own,
    {
      sourceId: idOf(other),
      resource: superseded as FhirResource & { id: string },
      isStatusOnly: true,
    },
  ];
}
