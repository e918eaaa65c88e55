import { createHash } from 'node:crypto';
import type { FhirResource, Patient } from 'fhir/r4.js';
import type { AnyNumberedMapping } from './element-mapping.ts';
import { envelopeOf, labelsIn } from './envelope.ts';
import { UnreadableMessageError } from './errors.ts';
import { valueAt } from './field-places.ts';
import { recordNumber, requiredField, visitNumber } from './fields.ts';
import { hl7Table } from './lookup-table.ts';
import { mappedResource } from './mapped.ts';
import { AL1_MAPPING, IAM_MAPPING } from './mappings/allergy.ts';
import { DG1_MAPPING, PR1_MAPPING } from './mappings/stay.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import { observationsIn } from './observations-beside.ts';
import type {
  ReadContent,
  ReadMessage,
  ReportedResource,
  ReportedSubject,
  StayEvent,
  SubjectNumber,
} from './read-message.ts';
import { hl7TimeInFhir, parseHl7Time, type TimeReading } from './time.ts';
import type { ObservationReading } from './value.ts';

const ALLERGIES = { AL1: AL1_MAPPING, IAM: IAM_MAPPING };
/** What a pre-admission plans has not been done. */
const BEFORE_STAY = { ...ALLERGIES, DG1: DG1_MAPPING };
const OF_STAY = { ...BEFORE_STAY, PR1: PR1_MAPPING };
/** Those of a person are of no stay. */
const { category: _, ...CONDITION } = DG1_MAPPING.resource;
const OF_PERSON = { ...OF_STAY, DG1: { ...DG1_MAPPING, resource: CONDITION } };

/**
 * The supported ADT events. What a pre-admission (A05) plans has not happened:
 * only its description of the person counts. By A06 an outpatient becomes an
 * inpatient, by A07 the reverse.
 */
const TRIGGERS: Readonly<
  Record<string, StayEvent['trigger'] | 'merge' | 'person'>
> = hl7Table({
  A01: 'admit',
  A02: 'transfer',
  A03: 'discharge',
  A04: 'register',
  A05: 'update',
  A06: 'admit',
  A07: 'describe',
  A08: 'describe',
  A11: 'cancel-admit',
  A12: 'cancel-transfer',
  A13: 'cancel-discharge',
  A28: 'person',
  A30: 'merge',
  A31: 'person',
  A34: 'merge',
  A36: 'merge',
  A39: 'merge',
  A40: 'merge',
  A47: 'merge',
  A60: 'person',
});

/** PV1-2 (HL7 table 0004) as codes of ActEncounterCode. */
const CLASSES: Readonly<Record<string, 'IMP' | 'EMER' | 'AMB' | 'PRENC'>> =
  hl7Table({
    I: 'IMP',
    B: 'IMP',
    E: 'EMER',
    O: 'AMB',
    R: 'AMB',
    P: 'PRENC',
  });

/**
 * Reads an ADT message. Throws UnreadableMessageError.
 *
 * @param zone IANA time zone for times of the sender without an offset
 */
export function readAdt(message: Hl7Message, zone: string): ReadMessage {
  const evn = message.segment('EVN');
  const { event, trigger } = triggerOf(message);
  const { time, pid, ...envelope } = envelopeOf(message, zone);
  const { sourcePatientId } = envelope;
  const isOfStay = trigger !== 'merge' && trigger !== 'person';
  const reports =
    isOfStay &&
    (statesDeath(envelope.person) ||
      reportedInAdt(message, zone, '').length > 0)
      ? { reports: true as const }
      : {};
  return {
    ...envelope,
    trigger: event,
    recordedAt: requiredField(
      parseHl7Time(evn?.value(2), time) ?? envelope.sentAt,
      'EVN-2',
      'the time at which the event was recorded, as YYYYMMDD[HHMM[SS]][+ZZZZ]',
    ),
    content:
      trigger === 'merge'
        ? mergeOf(message, sourcePatientId)
        : trigger === 'person'
          ? personOf(message, zone, sourcePatientId)
          : event === 'A05'
            ? {
                kind: 'encounter',
                sourceId: visitOf(message, pid),
                numbers: visitNumbers(message),
                event: { trigger, ...reports },
              }
            : encounterOf(message, pid, { trigger, ...reports }, time),
  };
}

/** Whether the message says that the person died, or takes it back. */
const statesDeath = ({ deceasedDateTime, deceasedBoolean }: Patient): boolean =>
  deceasedDateTime !== undefined || deceasedBoolean !== undefined;

/** The event, and what it does. Throws UnreadableMessageError. */
function triggerOf(message: Hl7Message) {
  const event =
    message.header.value(9, 2) ?? message.segment('EVN')?.value(1) ?? '';
  const trigger = TRIGGERS[event];
  if (trigger === undefined)
    throw new UnreadableMessageError(
      'unsupported',
      `Not supported: send ADT with one of ${Object.keys(TRIGGERS).join(', ')}`,
      'MSH-9',
    );
  return { event, trigger };
}

/** A new description of a person, and what comes with it. */
function personOf(
  message: Hl7Message,
  zone: string,
  sourcePatientId: string | undefined,
): ReadContent {
  const items = reportedInAdt(message, zone, '').map(({ sourceId }) => ({
    sourceId,
    isTrue: true,
  }));
  return {
    kind: 'person',
    sourcePatientId: requiredField(
      sourcePatientId,
      'PID-3',
      'the record number',
    ),
    ...(items.length === 0 ? {} : { items }),
  };
}

function mergeOf(
  message: Hl7Message,
  survivingId: string | undefined,
): ReadContent {
  const mrg = message.segment('MRG');
  return {
    kind: 'merge',
    priorPatientId: requiredField(
      mrg && recordNumber(mrg, 1),
      'MRG-1',
      'the record number that was merged into the other',
    ),
    sourcePatientId: requiredField(
      survivingId,
      'PID-3',
      'the record number that remains',
    ),
  };
}

function encounterOf(
  message: Hl7Message,
  pid: Hl7Segment,
  event: Pick<StayEvent, 'trigger' | 'reports'>,
  time: TimeReading,
): ReadContent {
  const pv1 = message.segment('PV1');
  const evn = message.segment('EVN');
  const written: Record<string, string> = {};
  const timeIn = (text: string | undefined): string | undefined => {
    const at = parseHl7Time(text, time);
    const asWritten = hl7TimeInFhir(text, time);
    if (at !== undefined && asWritten !== undefined) written[at] = asWritten;
    return at;
  };
  timeIn(message.header.value(7));
  timeIn(evn?.value(2));
  return {
    kind: 'encounter',
    sourceId: visitOf(message, pid),
    numbers: visitNumbers(message),
    event: {
      ...event,
      occurredAt: timeIn(evn?.value(6)),
      admittedAt: timeIn(pv1?.value(44)),
      dischargedAt: timeIn(pv1?.value(45)),
      ...(pv1?.isNull(45) ? { isDischargeDeleted: true } : {}),
      written,
      encounterClass: CLASSES[pv1?.value(2) ?? ''],
      location: pv1 && locationOf(pv1, 3),
      priorLocation: pv1 && locationOf(pv1, 6),
      disposition: pv1?.value(36),
    },
  };
}

/**
 * Allergies, diagnoses, procedures and measurements of an admission or change of
 * a stay (AL1, IAM, DG1, PR1, OBX), or of a person. Senders leave out what has not
 * changed, so that what a message lacks still stands. A segment without a code
 * or a name says nothing.
 */
export function reportedInAdt(
  message: Hl7Message,
  zone: string,
  sender: string,
): ReportedSubject[] {
  const { pid, time, sourcePatientId } = envelopeOf(message, zone);
  const { event, trigger } = triggerOf(message);
  if (trigger === 'merge') return [];
  const reading = { time, sender };
  if (trigger === 'person') {
    const resources = [
      ...describedIn(message, OF_PERSON, reading),
      ...observedIn(message, reading),
    ];
    return ofRecord(resources, sourcePatientId);
  }
  const described = event === 'A05' ? BEFORE_STAY : OF_STAY;
  const resources = [
    ...describedIn(message, described, reading),
    ...observedIn(message, reading),
  ];
  // The stay itself comes of its state; here only its labels, which are as the
  // newest message has them.
  if (labelsIn(message) !== undefined)
    resources.push({ resource: LABELLED_STAY });
  return resources.length === 0
    ? []
    : [
        {
          kind: 'encounter',
          sourceId: visitOf(message, pid),
          numbers: visitNumbers(message),
          resources,
        },
      ];
}

/**
 * The allergies of a message that is about something else, as an order: they
 * are those of the person.
 */
export function allergiesBeside(
  message: Hl7Message,
  zone: string,
  sender: string,
): ReportedSubject[] {
  const { time, sourcePatientId } = envelopeOf(message, zone);
  const allergies = describedIn(message, ALLERGIES, { time, sender });
  return ofRecord(allergies, sourcePatientId);
}

/** What is known of the person of a record, and of no stay. */
const ofRecord = (
  resources: readonly ReportedResource[],
  record: string | undefined,
): ReportedSubject[] =>
  resources.length === 0
    ? []
    : [
        {
          kind: 'clinical',
          // Of its first kind; stored records are known by it.
          sourceId: `AllergyIntolerance of ${requiredField(record, 'PID-3', 'the record number')}`,
          resources,
        },
      ];

/** Height, weight and their like. */
const observedIn = (
  message: Hl7Message,
  reading: ObservationReading,
): ReportedResource[] =>
  observationsIn(message.segments('OBX'), reading, { areMeasured: true }).map(
    (resource) => ({ resource }),
  );

/** What the segments of these names describe. */
const describedIn = (
  message: Hl7Message,
  described: Readonly<Record<string, AnyNumberedMapping>>,
  reading: ObservationReading,
): ReportedResource[] =>
  Object.entries(described).flatMap(([name, mapping]) =>
    message.segments(name).flatMap((segment) => {
      const resource = mappedResource([segment], mapping, reading) as {
        code?: object;
      } & FhirResource;
      const number = mapping.number
        .map((place) => valueAt([segment], place))
        .find(Boolean);
      const key = JSON.stringify([name, number ?? resource.code]);
      const id = `v-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
      return resource.code === undefined
        ? []
        : [{ resource: { ...resource, id } }];
    }),
  );

const LABELLED_STAY = { resourceType: 'Encounter', id: '' } as FhirResource & {
  id: string;
};

/** The visit number; without one, the account number identifies the stay. */
function visitOf(message: Hl7Message, pid: Hl7Segment): string {
  const pv1 = message.segment('PV1');
  return requiredField(
    (pv1 && visitNumber(pv1, 19)) ?? visitNumber(pid, 18),
    'PV1-19',
    'the visit number',
  );
}

/** The visit number, whether or not its authority is named. */
function visitNumbers(message: Hl7Message): SubjectNumber[] {
  const pv1 = message.segment('PV1');
  const value = pv1?.value(19);
  if (pv1 === undefined || value === undefined) return [];
  const authority = pv1.value(19, 4);
  return [
    {
      of: 'visit',
      role: 'identifies',
      value,
      ...(authority === undefined ? {} : { authority }),
    },
  ];
}

/** Point of care, room and bed, and the facility: `5E-512-A, MERCY`. */
function locationOf(pv1: Hl7Segment, field: number): string | undefined {
  const place = [1, 2, 3]
    .flatMap((component) => pv1.value(field, component) ?? [])
    .join('-');
  const text = [place, pv1.value(field, 4)].filter(Boolean).join(', ');
  return text === '' ? undefined : text;
}
