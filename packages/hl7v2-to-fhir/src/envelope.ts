import type {
  Address,
  Coding,
  ContactPoint,
  HumanName,
  Identifier,
  Patient,
} from 'fhir/r4.js';
import { invalid, UnreadableMessageError } from './errors.ts';
import { recordNumber, requiredField } from './fields.ts';
import { hl7Table } from './lookup-table.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import type { ReportedResource } from './read-message.ts';
import {
  hl7Offset,
  hl7TimeInFhir,
  parseHl7Date,
  parseHl7Time,
  type TimeReading,
} from './time.ts';

/**
 * What all kinds of messages have in common: id, times and the person. Throws
 * UnreadableMessageError. @param zone IANA time zone for times of the sender
 * without an offset
 */
export function envelopeOf(message: Hl7Message, zone: string) {
  const { header } = message;
  const processing = header.value(11) ?? 'P';
  if (processing !== 'P')
    throw new UnreadableMessageError(
      'unsupported',
      'Only production messages (P) are accepted',
      'MSH-11',
    );
  const time: TimeReading = { zone, offset: hl7Offset(header.value(7)) };
  const [pid, ...others] = message.segments('PID');
  if (others.length > 0)
    throw invalid(
      'The message is about several patients; send one patient in each message',
      'PID',
    );
  const controlId = requiredField(
    header.value(10),
    'MSH-10',
    'the message control id',
  );
  return {
    time,
    pid: requiredField(pid, 'PID', 'the patient'),
    messageId: JSON.stringify([header.raw(3), header.raw(4), controlId]),
    fingerprint: message.fingerprint,
    sentAt: parseHl7Time(header.value(7), time),
    person: personOf(requiredField(pid, 'PID', 'the patient'), time),
    sourcePatientId: pid && recordNumber(pid, 3),
  };
}

/** HL7 table 0001. */
const GENDERS: Readonly<Record<string, Patient['gender']>> = hl7Table({
  F: 'female',
  M: 'male',
  O: 'other',
  A: 'other',
});

/**
 * The person that a PID segment describes, reduced to what the matching rule
 * uses, and whether they have died.
 */
function personOf(pid: Hl7Segment, time: TimeReading): Patient {
  return {
    resourceType: 'Patient',
    name: pid.repetitions(5).map(personName),
    birthDate: parseHl7Date(pid.value(7)),
    gender: GENDERS[pid.value(8)?.toUpperCase() ?? ''],
    address: pid.repetitions(11).flatMap(addressOf),
    telecom: [13, 14].flatMap((field) =>
      pid.repetitions(field).flatMap(telecomOf),
    ),
    identifier: identifiersOf(pid),
    ...deathIn(pid, time),
  };
}

/**
 * PID-29 and PID-30: when and whether the person died. `N` and `""` take back
 * what an earlier message said; empty fields say nothing.
 */
function deathIn(
  pid: Hl7Segment,
  time: TimeReading,
): Pick<Patient, 'deceasedDateTime' | 'deceasedBoolean'> {
  const at = hl7TimeInFhir(pid.value(29), time);
  const indicator = pid.value(30)?.toUpperCase();

  if (indicator === 'N') return { deceasedBoolean: false };
  if (at !== undefined) return { deceasedDateTime: at };
  if (indicator === 'Y') return { deceasedBoolean: true };

  const isTakenBack = pid.raw(29) === '""' || pid.raw(30) === '""';
  return isTakenBack ? { deceasedBoolean: false } : {};
}

type Reader = ReturnType<Hl7Segment['repetitions']>[number];

function personName(read: Reader): HumanName {
  const given = [read(2), read(3)].filter((name) => name !== undefined);
  const suffix = read(4);
  return {
    family: read(1),
    ...(given.length > 0 ? { given } : {}),
    ...(suffix === undefined ? {} : { suffix: [suffix] }),
  };
}

/** A phone number in one piece or in parts, or an e-mail address (XTN). */
function telecomOf(read: Reader): ContactPoint[] {
  const parts = [read(6), read(7)].flatMap((part) => part ?? []).join('');
  const phone = read(1) ?? read(12) ?? parts;
  const points: ContactPoint[] = [
    { system: 'phone', value: phone },
    { system: 'email', value: read(4) },
  ];
  return points.filter(({ value }) => value);
}

/** Every number of PID-3 with its type, the SSN and the driver's licence. */
function identifiersOf(pid: Hl7Segment): Identifier[] {
  const numbers = pid
    .repetitions(3)
    .map((read) => identifierOf(read(5), read(1)));
  const [licence] = pid.repetitions(20);
  return [
    ...numbers,
    identifierOf('SS', pid.value(19)),
    identifierOf('DL', licence?.(1), licence?.(2)),
  ].filter(({ value }) => value !== undefined);
}

const identifierOf = (
  code: string | undefined,
  value: string | undefined,
  assigner?: string,
): Identifier => ({
  value,
  ...(code === undefined ? {} : { type: { coding: [{ code }] } }),
  ...(assigner === undefined ? {} : { assigner: { display: assigner } }),
});

function addressOf(read: Reader): Address[] {
  // BA: the sender marked the address as bad.
  if (read(7) === 'BA') return [];
  const line = [read(1), read(2)].filter((text) => text !== undefined);
  return [
    {
      line,
      city: read(3),
      state: read(4),
      postalCode: read(5),
      country: read(6),
    },
  ];
}

const RESTRICTED: Coding = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality',
  code: 'R',
  display: 'restricted',
};

/**
 * The security labels of everything that a message reports: its person is
 * protected (PD1-12), or is a VIP of some kind (PV1-16). Undefined when it says
 * nothing of either.
 */
export function labelsIn(message: Hl7Message): Coding[] | undefined {
  const isProtected = message.segment('PD1')?.value(12);
  const vip = message.segment('PV1')?.value(16);
  if (isProtected === undefined && vip === undefined) return undefined;
  return [
    ...(isProtected === 'Y' ? [RESTRICTED] : []),
    ...(vip === undefined
      ? []
      : [
          {
            system: 'http://terminology.hl7.org/CodeSystem/v2-0099',
            code: vip,
          },
        ]),
  ];
}

export function withLabels(
  resource: ReportedResource['resource'],
  labels: readonly Coding[],
): ReportedResource['resource'] {
  const { security = [], ...meta } = resource.meta ?? {};
  return { ...resource, meta: { ...meta, security: [...security, ...labels] } };
}
