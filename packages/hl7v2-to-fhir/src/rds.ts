import { envelopeOf } from './envelope.ts';
import { invalid } from './errors.ts';
import { numberAt } from './field-places.ts';
import { orderNumber, requiredField } from './fields.ts';
import { mappedResource } from './mapped.ts';
import { DISPENSE_MAPPING } from './mappings/dispense.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import type { ReadMessage, ReportedSubject } from './read-message.ts';
import { parseHl7Time } from './time.ts';
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
      items: dispensesOf(message).map((group) => ({
        sourceId: sourceIdOf(group),
        at: parseHl7Time(group[0].value(3), time),
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
  return dispensesOf(message).map((group) => ({
    kind: 'pharmacy',
    sourceId: sourceIdOf(group),
    resources: [{ resource: dispenseOf(group, { time, sender }) }],
  }));
}

const dispenseOf = (group: DispenseGroup, reading: ObservationReading) => ({
  ...mappedResource(group, DISPENSE_MAPPING, reading),
  id: 'dispense',
});

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

/** Prescription number and the number of the fill. */
function sourceIdOf(group: DispenseGroup): string {
  const prescription = orderNumber(group[0], 7) ?? numberAt(group, 'ORC-3');
  return `${requiredField(prescription, 'RXD-7', 'the prescription number')}#${group[0].value(1) ?? ''}`;
}
