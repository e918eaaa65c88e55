import type { Reference } from 'fhir/r4.js';
import type { ComponentReader, Hl7Segment } from './message.ts';

const NPI = 'http://hl7.org/fhir/sid/us-npi';

/** The persons (XCN) that a field names, by number and name; they are not resources of their own. */
export const practitionersIn = (segment: Hl7Segment | undefined, field: number): Reference[] =>
  (segment?.repetitions(field) ?? []).flatMap((read) =>
    practitioner((part) => read(part), { authority: read(9), type: read(13) }),
  );

/**
 * The person of OBR-32 to OBR-35 (NDL): number and name are subcomponents of the first component. Many senders use the
 * components of XCN instead.
 */
export const namedIn = (segment: Hl7Segment, field: number): Reference[] =>
  segment.repetitions(field).flatMap((read) => {
    const isXcn = read(1, 2) === undefined && read(2) !== undefined && !/^\d{8}/.test(read(2) ?? '');
    return isXcn
      ? practitioner((part) => read(part), { authority: read(9), type: read(13) })
      : practitioner((part) => read(1, part), { authority: read(1, 9), type: undefined });
  });

function practitioner(
  part: (at: number) => ReturnType<ComponentReader>,
  { authority, type }: { authority?: string; type?: string },
): Reference[] {
  const number = part(1);
  // Prefix, given names, family name, suffix, degree.
  const name = [6, 3, 4, 2, 5, 7].flatMap((at) => part(at) ?? []).join(' ');
  if (number === undefined && name === '') return [];
  const isNpi = [authority, type].some((text) => /^(?:NPI|.*2\.16\.840\.1\.113883\.4\.6)$/i.test(text ?? ''));
  return [
    {
      type: 'Practitioner',
      ...(number === undefined
        ? {}
        : {
            identifier: {
              ...(isNpi ? { system: NPI } : {}),
              value: number,
              ...(isNpi || authority === undefined ? {} : { assigner: { display: authority } }),
            },
          }),
      display: name === '' ? `${number}` : name,
    },
  ];
}
