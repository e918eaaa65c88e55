import type { Dosage, FhirResource } from 'fhir/r4.js';
import type {
  AnyElementMapping,
  AnyResourceMapping,
  ResourceMapping,
} from './element-mapping.ts';
import type { SegmentGroup } from './field-places.ts';
import { requiredField } from './fields.ts';
import { timedDosages } from './timings.ts';
import type { ObservationReading } from './value.ts';

/** The elements of a group of segments. Throws UnreadableMessageError. */
export function mappedElements(
  group: SegmentGroup,
  elements: readonly AnyElementMapping[],
  reading: ObservationReading,
  result: Record<string, unknown> = {},
): Record<string, unknown> {
  for (const { to, from, read, instead, required: what } of elements) {
    const value = read(group, from, reading);
    if (what !== undefined) requiredField(value, from[0] ?? '', what);
    if (value === undefined) continue;
    if (instead !== undefined) delete result[instead];
    place(result, to.split('.'), value);
  }
  return result;
}

/**
 * A resource with the elements of a group of segments. Throws
 * UnreadableMessageError.
 */
export function mappedResource<Resource extends FhirResource>(
  group: SegmentGroup,
  mapping: ResourceMapping<Resource>,
  reading: ObservationReading,
): Resource & { id: string };
export function mappedResource(
  group: SegmentGroup,
  mapping: AnyResourceMapping,
  reading: ObservationReading,
): FhirResource & { id: string };
export function mappedResource(
  group: SegmentGroup,
  { resource, elements }: AnyResourceMapping,
  reading: ObservationReading,
): FhirResource & { id: string } {
  const result = mappedElements(group, elements, reading, {
    ...structuredClone(resource),
    id: 'reported',
  });
  const ofDosage = elements.filter(({ to }) => to.startsWith(DOSAGE));
  if (ofDosage.length > 0) {
    const dosageOf = (of: SegmentGroup) => {
      const read = mappedElements(of, ofDosage, reading);
      return (read.dosageInstruction as Dosage[] | undefined)?.[0];
    };
    const dosages = timedDosages(group, dosageOf, reading.time);
    if (dosages !== undefined) result.dosageInstruction = dosages;
  }
  // FHIR wants the end of an appointment with its start; without an end or a
  // duration, the start is only asked for.
  const { start, end, minutesDuration } = result;
  if (typeof start === 'string' && end === undefined) {
    if (typeof minutesDuration === 'number') {
      const time = start.slice(0, 23);
      const offset = start.slice(23);
      const end = new Date(Date.parse(`${time}Z`) + minutesDuration * 60_000);
      result.end = end.toISOString().replace('Z', offset);
    } else {
      delete result.start;
      result.requestedPeriod = [{ start }];
    }
  }
  return result as unknown as FhirResource & { id: string };
}

const DOSAGE = 'dosageInstruction[]';

const ADDED = new Set(['participant', 'note']);

/**
 * `a[].b`: in the first item of a list. A list is added to one that is there,
 * unless it holds only an empty item.
 */
function place(
  target: Record<string, unknown>,
  [step = '', ...rest]: readonly string[],
  value: unknown,
): void {
  const name = step.replace('[]', '');
  if (rest.length === 0) {
    const list =
      Array.isArray(target[name]) && ADDED.has(name) ? target[name] : [];
    target[name] = step.endsWith('[]')
      ? [value]
      : Array.isArray(value)
        ? [...list, ...value]
        : value;
    return;
  }
  const existing = target[name];
  const inner = (Array.isArray(existing) ? existing[0] : existing) ?? {};
  if (existing === undefined)
    target[name] = step.endsWith('[]') ? [inner] : inner;
  place(inner as Record<string, unknown>, rest, value);
}
