import type { MedicationDispense } from 'fhir/r4.js';
import { decimalOf } from '../../../../lib/written-decimals.ts';
import { type InboundMessage, type ReportedSubject, UnreadableMessageError } from '../inbound.ts';
import { envelopeOf } from './envelope.ts';
import { conceptOf, orderNumber, required } from './fields.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import { fhirTime, parseHl7Time } from './time.ts';

/** One RXD segment with the segments of its order. */
interface DispenseGroup {
  orc?: Hl7Segment;
  rxe?: Hl7Segment;
  rxr?: Hl7Segment;
  rxd: Hl7Segment;
}

/** Order control codes (HL7 table 0119) that take a dispense back: cancelled by the placer or filler. */
const CANCELLED = new Set(['CA', 'OC', 'CR']);

/** Reads a pharmacy dispense message (RDS^O13): each RXD segment is a fill. Throws UnreadableMessageError. */
export function readRds(message: Hl7Message, zone: string): InboundMessage {
  const { pid: _, time, ...envelope } = envelopeOf(message, zone);
  // What cannot be read as resources is refused now, not when it is recorded.
  reportedInRds(message, zone, '');
  return {
    ...envelope,
    trigger: 'O13',
    recordedAt: required(envelope.sentAt, 'MSH-7', 'the time of the message'),
    content: {
      kind: 'pharmacy',
      items: dispensesOf(message).map((group) => ({
        sourceId: sourceIdOf(group),
        at: parseHl7Time(group.rxd.value(3), time),
        isTrue: !isCancelled(group),
      })),
    },
  };
}

/** What the message reports, as FHIR resources. */
export function reportedInRds(message: Hl7Message, zone: string, sender: string): ReportedSubject[] {
  const { time } = envelopeOf(message, zone);
  return dispensesOf(message).map((group) => {
    const { rxd, rxe, rxr } = group;
    const [value, unit] = [rxd.value(4), rxd.value(5, 2) ?? rxd.value(5)];
    const handedOver = fhirTime(rxd.value(3), time);
    const [route] = rxr?.repetitions(1) ?? [];
    const instructions = rxe?.value(7, 2) ?? rxe?.value(21, 2) ?? rxe?.value(21);
    const dosage = {
      ...(instructions === undefined ? {} : { text: instructions }),
      ...(route === undefined ? {} : { route: conceptOf(route, sender) }),
    };
    const note = rxd.texts(9).join('\n').trim();
    const dispense: MedicationDispense & { id: string } = {
      resourceType: 'MedicationDispense',
      id: 'dispense',
      status: isCancelled(group) ? 'cancelled' : 'completed',
      medicationCodeableConcept: required(
        conceptOf(rxd.repetitions(2)[0], sender),
        'RXD-2',
        'the medication',
      ),
      subject: { reference: 'Patient/person' },
      ...(rxd.value(7) === undefined ? {} : { identifier: [{ value: rxd.value(7) }] }),
      ...(value !== undefined && /^(?:\d+\.?\d*|\.\d+)$/.test(value)
        ? { quantity: { ...decimalOf('value', value), ...(unit === undefined ? {} : { unit }) } }
        : {}),
      ...(handedOver === undefined ? {} : { whenHandedOver: handedOver }),
      ...(Object.keys(dosage).length === 0 ? {} : { dosageInstruction: [dosage] }),
      ...(note === '' ? {} : { note: [{ text: note }] }),
    };
    return { kind: 'pharmacy', sourceId: sourceIdOf(group), resources: [{ resource: dispense }] };
  });
}

function dispensesOf(message: Hl7Message): DispenseGroup[] {
  const groups: DispenseGroup[] = [];
  let order: Omit<DispenseGroup, 'rxd'> = {};
  for (const segment of message.segments('ORC', 'RXE', 'RXR', 'RXD')) {
    if (segment.name === 'ORC') order = { orc: segment };
    else if (segment.name === 'RXE') order.rxe = segment;
    // A route after RXD is that of the dispense.
    else if (segment.name === 'RXR')
      (groups.at(-1)?.orc === order.orc ? (groups.at(-1) ?? order) : order).rxr = segment;
    else if (segment.name === 'RXD') groups.push({ ...order, rxd: segment });
  }
  if (groups.length === 0)
    throw new UnreadableMessageError('invalid', 'RXD is required: the dispense', 'RXD');
  return groups;
}

/** Prescription number and the number of the fill. */
function sourceIdOf({ orc, rxd }: DispenseGroup): string {
  const prescription = orderNumber(rxd, 7) ?? orderNumber(orc, 3);
  return `${required(prescription, 'RXD-7', 'the prescription number')}#${rxd.value(1) ?? ''}`;
}

const isCancelled = ({ orc }: DispenseGroup): boolean => CANCELLED.has(orc?.value(1) ?? '');
