import { allergiesBeside, readAdt, reportedInAdt } from './adt.ts';
import {
  CLINICAL_MESSAGE_TYPES,
  readClinical,
  readsClinical,
  reportedInClinical,
} from './clinical.ts';
import { labelsIn, withLabels } from './envelope.ts';
import { UnreadableMessageError } from './errors.ts';
import { hl7Table } from './lookup-table.ts';
import type { Hl7Message } from './message.ts';
import { readOru, reportedInOru } from './oru.ts';
import { readRds, reportedInRds } from './rds.ts';
import type { ReadMessage, ReportedSubject } from './read-message.ts';

const READERS: Readonly<
  Record<
    string,
    readonly [read: typeof readAdt, reported: typeof reportedInOru]
  >
> = hl7Table({
  ADT: [readAdt, reportedInAdt],
  'ORU^R01': [readOru, reportedInOru],
  'RDS^O13': [readRds, reportedInRds],
});

/**
 * Reads a message of any supported type. Throws UnreadableMessageError. @param
 * zone of the sender's times without an offset
 */
export function readHl7(message: Hl7Message, zone: string): ReadMessage {
  const read = readTyped(message, zone);
  const security = labelsIn(message);
  const person =
    security === undefined
      ? read.person
      : { ...read.person, meta: { security } };
  const beside = besideOf(message, zone, '').map(({ sourceId }) => ({
    sourceId,
    isTrue: true,
  }));
  const unused = [...message.unread(), ...message.remarks()].sort();
  return {
    ...read,
    person,
    unused,
    ...(beside.length === 0 ? {} : { beside }),
    ...message.held(),
  };
}

/** What ADT says of allergies is of its own content. */
const besideOf = (
  message: Hl7Message,
  zone: string,
  sender: string,
): ReportedSubject[] =>
  typeOf(message) === 'ADT' ? [] : allergiesBeside(message, zone, sender);

function readTyped(message: Hl7Message, zone: string): ReadMessage {
  const type = typeOf(message);
  if (readsClinical(type)) return readClinical(message, type, zone);
  const [read] = READERS[type] ?? [];
  if (read !== undefined) return read(message, zone);
  throw new UnreadableMessageError(
    'unsupported',
    `Not supported: send ADT, ORU^R01, ${[...RESULTS].join(', ')}, RDS^O13, ${CLINICAL_MESSAGE_TYPES.join(', ')}`,
    'MSH-9',
  );
}

/**
 * Results are reported by several events: also of a point of care (R30 to R32),
 * and of automated laboratories (OUL).
 */
const RESULTS = new Set([
  'ORU^R30',
  'ORU^R31',
  'ORU^R32',
  'OUL^R22',
  'OUL^R23',
  'OUL^R24',
]);

/**
 * What a message reports besides the stay itself, as FHIR resources. Throws
 * UnreadableMessageError.
 *
 * @param earlier messages with results to which those of this one may belong, as
 *   susceptibilities to an organism
 */
export function reportedInHl7(
  message: Hl7Message,
  zone: string,
  sender: string,
  earlier: readonly Hl7Message[] = [],
): ReportedSubject[] {
  const labels = labelsIn(message) ?? [];
  const reported = [
    ...reportedTyped(message, zone, sender, earlier),
    ...besideOf(message, zone, sender),
  ];
  if (labels.length === 0) return reported;
  return reported.map(({ resources, ...subject }) => ({
    ...subject,
    resources: resources.map((each) => ({
      ...each,
      resource: withLabels(each.resource, labels),
    })),
  }));
}

function reportedTyped(
  message: Hl7Message,
  zone: string,
  sender: string,
  earlier: readonly Hl7Message[],
): ReportedSubject[] {
  const type = typeOf(message);
  if (readsClinical(type))
    return reportedInClinical(message, type, zone, sender);
  const [, reported] = READERS[type] ?? [];
  return reported?.(message, zone, sender, earlier) ?? [];
}

/** Types whose events differ only in the status that they report. */
const OF_ANY_EVENT = new Set(['ADT', 'MDM', 'SIU']);

function typeOf({ header }: Hl7Message): string {
  const code = header.value(9, 1) ?? '';
  const event = header.value(9, 2) ?? '';
  const type = OF_ANY_EVENT.has(code) ? code : `${code}^${event}`;
  return RESULTS.has(type) ? 'ORU^R01' : type;
}
