import { invalid } from './errors.ts';
import type { Hl7Message, Hl7Segment } from './message.ts';
import { readHl7, reportedInHl7 } from './read-hl7.ts';
import type { ReadMessage, ReportedSubject } from './read-message.ts';
import { isSegmentName } from './segment-names.ts';
import { isUnitCut } from './unescaped-units.ts';

/** A message that is taken in, and what is recorded of it. */
export interface AcceptedHl7 {
  message: ReadMessage;
  reported: readonly ReportedSubject[];
}

/** The fields of units, by segment. */
const UNITS: Readonly<Record<string, number>> = {
  OBX: 6,
  RXA: 7,
  RXD: 5,
  RXE: 5,
  RXO: 4,
};

/** The fields of numbers by which something is known, by segment. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  PID: [3, 18],
  MRG: [1],
  PV1: [19],
  ORC: [2, 3],
  OBR: [2, 3],
  RXE: [15],
  RXD: [7],
  TXA: [12],
  SCH: [1, 2],
};

/**
 * Reads a message as one that has just arrived: what cannot be recorded, or not
 * in full and without a reason, is refused now. A stored message is read by
 * `readHl7`, so that what was accepted before stays readable. Throws
 * UnreadableMessageError.
 *
 * @param zone IANA time zone for times of the sender without an offset
 */
export function acceptHl7(parsed: Hl7Message, zone: string): AcceptedHl7 {
  const message = readHl7(parsed, zone);
  refuseStrays(parsed);
  for (const [name, field] of Object.entries(UNITS))
    for (const segment of parsed.segments(name)) refuseUnit(segment, field);
  for (const [name, fields] of Object.entries(NUMBERS))
    for (const segment of parsed.segments(name))
      for (const field of fields) refuseNumber(segment, field);
  for (const allergy of parsed.segments('AL1', 'IAM')) refuseUnnamed(allergy);
  return { message, reported: reportedInHl7(parsed, zone, 'checked') };
}

function refuseStrays({ strays, names }: Hl7Message): void {
  const unknown = names().find((each) => !isSegmentName(each));
  if (unknown !== undefined)
    throw invalid(
      `${unknown} is no segment of HL7 v2: names of segments of your own begin with Z`,
      unknown,
    );
  const [name] = strays;
  if (name === undefined) return;
  throw invalid(
    `A line after ${name} is no segment: write line breaks within a text as \\.br\\`,
    name,
  );
}

function refuseUnit(segment: Hl7Segment, field: number): void {
  if (!isUnitCut(segment, field)) return;
  const place = `${segment.name}-${field}`;
  throw invalid(`${place} is cut: write ^ within a unit as \\S\\`, place);
}

/** As spreadsheets write a long number, whose last digits are gone. */
const SCIENTIFIC = /^\d(?:[.,]\d+E\+?|E\+)\d+$/i;

function refuseNumber(segment: Hl7Segment, field: number): void {
  const place = `${segment.name}-${field}`;
  for (const read of segment.repetitions(field)) {
    const number = read(1);
    if (SCIENTIFIC.test(number ?? ''))
      throw invalid(
        `${place} is in scientific notation, so that digits of the number are lost: send all of them`,
        place,
      );
    if (read(1, 2) !== undefined)
      throw invalid(`${place} is cut: write & within it as \\T\\`, place);
  }
}

/** A reaction without what it is a reaction to would be nowhere. */
function refuseUnnamed(allergy: Hl7Segment): void {
  const isNamed = allergy.raw(3) !== '' && allergy.raw(3) !== '""';
  if (isNamed || allergy.raw(5) === '') return;
  const place = `${allergy.name}-3`;
  throw invalid(`${place} is required: what the allergy is to`, place);
}
