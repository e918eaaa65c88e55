import { envelopeOf } from './envelope.ts';
import { invalid } from './errors.ts';
import { fieldsAt, numberAt, valueAt } from './field-places.ts';
import { orderNumber, requiredField, subjectNumbers } from './fields.ts';
import { mappedResource } from './mapped.ts';
import { DISPENSE_MAPPING } from './mappings/dispense.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import type {
  ReadMessage,
  ReportedSubject,
  SubjectNumber,
} from './read-message.ts';
import { hl7TimeInFhir, parseHl7Time } from './time.ts';
import type { ObservationReading } from './value.ts';

/** One RXD segment with the segments of its order. */
type DispenseGroup = [Hl7Segment, ...Hl7Segment[]];

/**
 * Reads a pharmacy dispense message (RDS^O13): each RXD segment is a fill.
 * Throws UnreadableMessageError.
 */
export function readRds(message: Hl7Message, zone: string): ReadMessage {
  const { pid: _, time, ...envelope } = envelopeOf(message, zone);
  return {
    ...envelope,
    trigger: 'O13',
    recordedAt: requiredField(
      envelope.sentAt,
      'MSH-7',
      'the time of the message',
    ),
    content: {
      kind: 'pharmacy',
      items: [...dispensesById(message)].map(([sourceId, group]) => ({
        sourceId,
        numbers: numbersOf(group),
        at: parseHl7Time(group[0].value(3), time),
        specimen: hl7TimeInFhir(group[0].value(3), time),
        corrects: CHANGES.has(valueAt(group, 'ORC-1')),
        // What cannot be read as a resource is refused now, not when it is
        // recorded.
        isTrue: dispenseOf(group, { time, sender: '' }).status !== 'cancelled',
      })),
    },
  };
}

/** What the message reports, as FHIR resources. */
export function reportedInRds(
  message: Hl7Message,
  zone: string,
  sender: string,
): ReportedSubject[] {
  const { time } = envelopeOf(message, zone);
  return [...dispensesById(message)].map(([sourceId, group]) => ({
    kind: 'pharmacy',
    sourceId,
    numbers: numbersOf(group),
    resources: [{ resource: dispenseOf(group, { time, sender }) }],
  }));
}

function dispenseOf(group: DispenseGroup, reading: ObservationReading) {
  const dispense = mappedResource(group, DISPENSE_MAPPING, reading);
  const fill = group[0].value(1);
  const identifier = [
    ...(dispense.identifier ?? []),
    ...(fill === undefined ? [] : [{ type: FILL_NUMBER, value: fill }]),
  ];
  return {
    ...dispense,
    id: 'dispense',
    ...(identifier.length === 0 ? {} : { identifier }),
  };
}

/** Two equal fills of one prescription on one day are told apart by it. */
const FILL_NUMBER = { text: 'Fill number' };

/** ORC-1 of a message that changes or takes back a fill. */
const CHANGES: ReadonlySet<string | undefined> = new Set([
  'CA',
  'OC',
  'CR',
  'DC',
  'OD',
  'XO',
  'XX',
  'XR',
  'DE',
]);

/**
 * Each RXD segment with what follows it, and with the segments of its order
 * that it has none of its own of. What stands before RXE belongs to the order
 * that was asked for.
 */
function dispensesOf(message: Hl7Message): DispenseGroup[] {
  const groups: { own: DispenseGroup; order: readonly Hl7Segment[] }[] = [];
  let order: Hl7Segment[] = [];
  let own: DispenseGroup | undefined;
  for (const segment of message.segments(
    'ORC',
    'RXE',
    'TQ1',
    'RXR',
    'RXC',
    'RXD',
  )) {
    if (segment.name === 'RXD') {
      own = [segment];
      groups.push({ own, order });
    } else if (segment.name !== 'ORC' && segment.name !== 'RXE')
      (own ?? order).push(segment);
    else {
      own = undefined;
      order = [
        ...(segment.name === 'RXE'
          ? order.filter(({ name }) => name === 'ORC')
          : []),
        segment,
      ];
    }
  }
  if (groups.length === 0)
    throw invalid('RXD is required: the dispense', 'RXD');
  return groups.map(({ own: [rxd, ...others], order: of }) => [
    rxd,
    ...others,
    ...of.filter(({ name }) => others.every((each) => each.name !== name)),
  ]);
}

/** The fills of a message by their ids; of two equal ids the second has its own. */
function dispensesById(message: Hl7Message): Map<string, DispenseGroup> {
  const byId = new Map<string, DispenseGroup>();
  for (const group of dispensesOf(message)) {
    const id = sourceIdOf(group);
    let nth = 1;
    while (byId.has(nth === 1 ? id : `${id}/${nth}`)) nth += 1;
    byId.set(nth === 1 ? id : `${id}/${nth}`, group);
  }
  return byId;
}

/** The numbers of the prescription, as its own message has them. */
const numbersOf = (group: DispenseGroup): SubjectNumber[] =>
  fieldsAt(group, ['RXD-7', 'RXE-15', 'ORC-2', 'ORC-3']).flatMap(
    ({ segment, field }) =>
      subjectNumbers(segment, field, {
        of: 'MedicationRequest',
        role: 'refers',
      }),
  );

/** Prescription number and the number of the fill. */
function sourceIdOf(group: DispenseGroup): string {
  const prescription = orderNumber(group[0], 7) ?? numberAt(group, 'ORC-3');
  return `${requiredField(prescription, 'RXD-7', 'the prescription number')}#${group[0].value(1) ?? ''}`;
}
