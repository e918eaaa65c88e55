import type { CodeableConcept, Coding, Reference } from 'fhir/r4.js';
import { codingSystemUrl } from './coding-systems.ts';
import { invalid } from './errors.ts';
import type { ComponentReader, Hl7Segment } from './message.ts';
import type { SubjectNumber } from './read-message.ts';

/**
 * A visit or account number (CX) with its assigning authority, because two
 * authorities may use the same numbers. The sending facility stands for an
 * authority that is not named.
 */
export function visitNumber(
  segment: Hl7Segment,
  field: number,
): string | undefined {
  const [read] = segment.repetitions(field);
  return read && withAuthority(read, `@${segment.origin.facility}`);
}

/**
 * The person's record number: the medical record number (MR), otherwise the
 * internal one (PI), otherwise the first.
 */
export function recordNumber(
  segment: Hl7Segment,
  field: number,
): string | undefined {
  const all = segment.repetitions(field);
  const read =
    all.find((each) => each(5) === 'MR') ??
    all.find((each) => each(5) === 'PI') ??
    all[0];
  return read && withAuthority(read);
}

function withAuthority(
  read: ComponentReader,
  otherwise = '',
): string | undefined {
  const value = read(1);
  return value === undefined ? undefined : `${value}^${read(4) ?? otherwise}`;
}

/**
 * The number of an order, report, document or dispense (EI), with the namespace
 * that assigned it. The sending application and facility stand for a namespace
 * that is not named: two laboratories behind one sender may use the same
 * numbers.
 */
export function orderNumber(
  segment: Hl7Segment | undefined,
  field: number,
): string | undefined {
  const value = segment?.value(field);
  if (segment === undefined || value === undefined) return undefined;
  const { application, facility } = segment.origin;
  return `${value}^${segment.value(field, 2) ?? segment.value(field, 3) ?? `@${application}|${facility}`}`;
}

/** The number in a field (EI); none where it is empty. */
export function subjectNumbers(
  segment: Hl7Segment | undefined,
  field: number,
  { of, role }: Pick<SubjectNumber, 'of' | 'role'>,
): SubjectNumber[] {
  const value = segment?.value(field);
  if (segment === undefined || value === undefined) return [];
  const authority = segment.value(field, 2) ?? segment.value(field, 3);
  return [
    { of, role, value, ...(authority === undefined ? {} : { authority }) },
  ];
}

/** Throws UnreadableMessageError if the value is missing. */
export function requiredField<T>(
  value: T | undefined,
  place: string,
  what: string,
): T {
  if (value === undefined)
    throw invalid(`${place} is required: ${what}`, place);
  return value;
}

/**
 * A system for codes of the sender's own, so that equal codes of two senders
 * never mean the same.
 */
const ownSystem = (sender: string, name: string | undefined): string =>
  `urn:medical-exchange:sender:${sender}:codes:${name ?? 'L'}`;

/**
 * A coded element (CE, CWE): the code, an alternate code and the text.
 * Undefined when it is empty.
 */
export function codedElement(
  read: Pick<ComponentReader, 'whole'> | undefined,
  sender: string,
): CodeableConcept | undefined {
  if (read === undefined) return undefined;
  const coding = [1, 4].flatMap((at): Coding[] => {
    const code = read.whole(at);
    const display = read.whole(at + 1);
    const name = read.whole(at + 2);
    if (code === undefined) return [];
    const system = codingSystemUrl(name) ?? ownSystem(sender, name);
    return [{ system, code, ...(display === undefined ? {} : { display }) }];
  });
  const text = read.whole(9) ?? read.whole(2) ?? read.whole(5);
  if (coding.length === 0 && text === undefined) return undefined;
  return {
    ...(coding.length > 0 ? { coding } : {}),
    ...(text === undefined ? {} : { text }),
  };
}

const NPI = 'http://hl7.org/fhir/sid/us-npi';

/**
 * The persons (XCN) that a field names, by number and name; they are not
 * resources of their own.
 */
export const practitionersIn = (
  segment: Hl7Segment | undefined,
  field: number,
): Reference[] =>
  (segment?.repetitions(field) ?? []).flatMap((read) =>
    practitioner((part) => read(part), { authority: read(9), type: read(13) }),
  );

/**
 * The person of OBR-32 to OBR-35 (NDL): number and name are subcomponents of
 * the first component. Many senders use the components of XCN instead.
 */
export const namedIn = (segment: Hl7Segment, field: number): Reference[] =>
  segment.repetitions(field).flatMap((read) => {
    const isXcn =
      read(1, 2) === undefined &&
      read(2) !== undefined &&
      !/^\d{8}/.test(read(2) ?? '');
    return isXcn
      ? practitioner((part) => read(part), {
          authority: read(9),
          type: read(13),
        })
      : practitioner((part) => read(1, part), {
          authority: read(1, 9),
          type: undefined,
        });
  });

function practitioner(
  part: (at: number) => ReturnType<ComponentReader>,
  { authority, type }: { authority?: string; type?: string },
): Reference[] {
  const number = part(1);
  // Prefix, given names, family name, suffix, degree.
  const name = [6, 3, 4, 2, 5, 7].flatMap((at) => part(at) ?? []).join(' ');
  if (number === undefined && name === '') return [];
  const isNpi = [authority, type].some((text) =>
    /^(?:NPI|.*2\.16\.840\.1\.113883\.4\.6)$/i.test(text ?? ''),
  );
  return [
    {
      type: 'Practitioner',
      ...(number === undefined
        ? {}
        : {
            identifier: {
              ...(isNpi ? { system: NPI } : {}),
              value: number,
              ...(isNpi || authority === undefined
                ? {}
                : { assigner: { display: authority } }),
            },
          }),
      display: name === '' ? `${number}` : name,
    },
  ];
}
