import type { Attachment, Dosage, FhirResource } from 'fhir/r4.js';
import { decimalOf } from '../../../../lib/written-decimals.ts';
import { conceptOf, orderNumber, practitionersIn, required } from './fields.ts';
import { fileOf } from './files.ts';
import type { Hl7Segment } from './message.ts';
import { fhirTime, localTime } from './time.ts';
import { dosagesOf } from './timings.ts';
import { unitText } from './unescaped-units.ts';
import type { ObservationReading } from './value.ts';

/**
 * How one element of a resource is read. Places are `RXA-17.2`: of several, the
 * first that has a value counts.
 */
export interface ElementMapping {
  to: string;
  from: readonly string[];
  as: string;
  unit?: string;
  system?: string;
  codes?: Readonly<Record<string, string>>;
  /** The code if none of `codes` is sent. */
  otherwise?: string;
  /** The element of the same choice that this one replaces. */
  instead?: string;
  /** What it is, in the refusal of a message without it. */
  required?: string;
}

export interface ResourceMapping {
  resource: object;
  elements: readonly ElementMapping[];
}

type Group = readonly Hl7Segment[];
interface Place {
  segment: Hl7Segment;
  field: number;
  component: number | undefined;
}

const placesOf = (group: Group, place: string): Place[] => {
  const [, name, field, component] =
    /^(\w{3})-(\d+)(?:\.(\d+))?$/.exec(place) ?? [];
  const part = component === undefined ? undefined : Number(component);
  return group
    .filter((segment) => segment.name === name)
    .map((segment) => ({ segment, field: Number(field), component: part }));
};

const placesAt = (group: Group, places: readonly string[]): Place[] =>
  places.flatMap((place) => placesOf(group, place));

export const valueAt = (group: Group, place: string): string | undefined =>
  firstOf(placesOf(group, place), ({ segment, field, component }) =>
    segment.value(field, component),
  );

export const numberAt = (group: Group, place: string): string | undefined =>
  firstOf(placesOf(group, place), ({ segment, field }) =>
    orderNumber(segment, field),
  );

/** What the first place says that says anything; the others stay unread. */
function firstOf<T>(
  places: readonly Place[],
  read: (place: Place) => T | undefined,
): T | undefined {
  for (const place of places) {
    const value = read(place);
    if (value !== undefined) return value;
  }
  return undefined;
}

type Reader = (
  group: Group,
  mapping: ElementMapping,
  reading: ObservationReading,
) => unknown;

const first =
  (
    read: (
      place: Place,
      mapping: ElementMapping,
      reading: ObservationReading,
    ) => unknown,
  ): Reader =>
  (group, mapping, reading) =>
    firstOf(placesAt(group, mapping.from), (place) =>
      read(place, mapping, reading),
    );

const textAt = ({ segment, field, component }: Place): string | undefined =>
  segment.value(field, component);

/** What has a value that cannot be read is counted. */
const understood = (read: Parameters<typeof first>[0]): Reader =>
  first((place, mapping, reading) => {
    const value = read(place, mapping, reading);
    if (value === undefined && textAt(place) !== undefined)
      place.segment.remark(place.field, 'not understood');
    return value;
  });

const READERS: Readonly<Record<string, Reader>> = {
  text: first(textAt),
  concept: first(({ segment, field }, _, { sender }) =>
    conceptOf(segment.repetitions(field)[0], sender),
  ),
  concepts: (group, { from }, { sender }) =>
    listed(
      repetitionsAt(group, from).flatMap(
        ({ read }) => conceptOf(read, sender) ?? [],
      ),
    ),
  coding: first((place, { system, codes }) => {
    const sent = textAt(place);
    const code = codes === undefined ? sent : codes[sent ?? ''];
    return code && { system, code };
  }),
  person: first(({ segment, field }) => practitionersIn(segment, field)[0]),
  time: understood((place, _, { time }) => fhirTime(textAt(place), time)),
  day: understood((place, _, { time }) =>
    fhirTime(textAt(place), time)?.slice(0, 10),
  ),
  instant: understood((place, _, { time }) => localTime(textAt(place), time)),
  count: understood((place) =>
    /^\d{1,4}$/.test(textAt(place) ?? '') ? Number(textAt(place)) : undefined,
  ),
  isFirst: first(
    (place, { codes }) =>
      textAt(place) && codes?.[textAt(place) ?? ''] !== undefined,
  ),
  code: (group, mapping) =>
    first((place) => mapping.codes?.[textAt(place) ?? ''])(
      group,
      mapping,
      NO_READING,
    ) ?? mapping.otherwise,
  lines: (group, { from }) =>
    placesAt(group, from)
      .flatMap(({ segment, field }) => segment.texts(field))
      .join('\n')
      .trim() || undefined,
  quantity: understood((place, { unit = '' }) => {
    const number = textAt(place);
    if (number === undefined || !/^(?:\d+\.?\d*|\.\d+)$/.test(number))
      return undefined;
    const [unitAt] = placesOf([place.segment], unit);
    const name = unitAt && unitText(unitAt.segment, unitAt.field);
    return {
      ...decimalOf('value', number),
      ...(name === undefined ? {} : { unit: name }),
    };
  }),
  minutes: first((place, { unit = '' }) => {
    const isMinutes = /^(?:MIN.*|M)$/i.test(
      valueAt([place.segment], unit) ?? 'MIN',
    );
    return isMinutes && Number(textAt(place)) > 0
      ? Math.round(Number(textAt(place)))
      : undefined;
  }),
  dose: (group, { from: [low = '', high = ''], unit }) => {
    const amountAt = (place: string) =>
      READERS.quantity?.(
        group,
        { to: '', as: '', from: [place], unit },
        NO_READING,
      );
    const [from, to] = [amountAt(low), amountAt(high)] as (
      | object
      | undefined
    )[];
    if (
      from !== undefined &&
      to !== undefined &&
      JSON.stringify(from) !== JSON.stringify(to)
    )
      return { doseRange: { low: from, high: to } };
    const doseQuantity = from ?? to;
    return doseQuantity && { doseQuantity };
  },
  /** Every text and every coded instruction, once. */
  directions: (group, { from }) =>
    [
      ...new Set(
        repetitionsAt(group, from).flatMap(({ read, component }) =>
          component === undefined
            ? (read.whole(2) ?? read.whole(1) ?? [])
            : (read.whole(component) ?? []),
        ),
      ),
    ].join('; ') || undefined,
  components: (group) =>
    listed(
      [
        ...new Set(
          group.filter(({ name }) => name === 'RXC').map(componentText),
        ),
      ].map((text) => ({ text })),
    ),
  reactions: (group, { from, unit = '', codes }) => {
    const severity = codes?.[valueAt(group, unit) ?? ''];
    const texts = repetitionsAt(group, from).flatMap(
      ({ read }) => read.whole(2) ?? read.whole(1) ?? [],
    );
    if (texts.length === 0 && severity === undefined) return undefined;
    const manifestation =
      texts.length === 0 ? [UNKNOWN] : texts.map((text) => ({ text }));
    return [{ manifestation, ...(severity === undefined ? {} : { severity }) }];
  },
  participants: (group, { from }) =>
    placesAt(group, from)
      .flatMap(({ segment, field }) => practitionersIn(segment, field))
      .map((actor) => ({ actor, status: 'accepted' })),
  places: (group, { from }) =>
    placesAt(group, from)
      .map(({ segment, field }) =>
        [1, 2, 3, 4]
          .flatMap((part) => segment.value(field, part) ?? [])
          .join('-'),
      )
      .flatMap((display) =>
        display === ''
          ? []
          : [{ actor: { type: 'Location', display }, status: 'accepted' }],
      ),
  files: (group) => {
    const files = filesIn(group.filter(({ name }) => name === 'OBX'));
    return files.length === 0
      ? undefined
      : files.map((attachment) => ({ attachment }));
  },
};
const UNKNOWN = {
  coding: [
    {
      system: 'http://terminology.hl7.org/CodeSystem/data-absent-reason',
      code: 'unknown',
    },
  ],
};

const listed = <T>(values: readonly T[]): readonly T[] | undefined =>
  values.length === 0 ? undefined : values;

const repetitionsAt = (group: Group, places: readonly string[]) =>
  placesAt(group, places).flatMap(({ segment, field, component }) =>
    segment.repetitions(field).map((read) => ({ read, component })),
  );

/** A component of a compounded medication: `Additive: Nicardipine, 5 mg/hr`. */
function componentText(rxc: Hl7Segment): string {
  const unit = rxc.value(4, 2) ?? rxc.value(4) ?? '';
  const amount = `${rxc.value(3) ?? ''} ${unit}`.trim();
  const kind =
    rxc.value(1) === 'A'
      ? 'Additive'
      : rxc.value(1) === 'B'
        ? 'Base'
        : 'Component';
  return `${kind}: ${[rxc.value(2, 2) ?? rxc.value(2), amount].filter(Boolean).join(', ')}`;
}

const NO_READING: ObservationReading = { time: { zone: 'UTC' }, sender: '' };

/** The files of OBX segments, and their lines of text as one file. */
function filesIn(segments: Group): Attachment[] {
  const files: Attachment[] = [];
  const lines: string[] = [];
  for (const obx of segments) {
    const file = fileOf(obx);
    if (file === undefined) lines.push(...linesOf(obx));
    else files.push(file);
  }
  const data = Buffer.from(lines.join('\n').trim()).toString('base64');
  return data === ''
    ? files
    : [...files, { contentType: 'text/plain; charset=utf-8', data }];
}

/** Types whose value is shown as it is; of ED, what is no file. */
const TEXT = new Set(['TX', 'FT', 'ST', 'ED', undefined]);

/**
 * The lines of a text; a value that is measured or coded stands beside what it
 * is a value of.
 */
function linesOf(obx: Hl7Segment): string[] {
  if (TEXT.has(obx.value(2))) return obx.texts(5);
  const name = obx.value(3, 2) ?? obx.value(3) ?? '';
  const values = obx.repetitions(5).flatMap((read) => read(2) ?? read(1) ?? []);
  const unit = obx.value(6, 2) ?? obx.value(6) ?? '';
  return [`${name}: ${values.join(', ')} ${unit}`.trim()];
}

/** The elements of a group of segments. Throws UnreadableMessageError. */
export function mappedElements(
  group: Group,
  elements: readonly ElementMapping[],
  reading: ObservationReading,
  result: Record<string, unknown> = {},
): Record<string, unknown> {
  for (const mapping of elements) {
    const value = READERS[mapping.as]?.(group, mapping, reading);
    if (mapping.required !== undefined)
      required(value, mapping.from[0] ?? '', mapping.required);
    if (value === undefined) continue;
    if (mapping.instead !== undefined) delete result[mapping.instead];
    place(result, mapping.to.split('.'), value);
  }
  return result;
}

/**
 * A resource with the elements of a group of segments. Throws
 * UnreadableMessageError.
 */
export function mappedResource(
  group: Group,
  { resource, elements }: ResourceMapping,
  reading: ObservationReading,
): FhirResource & { id: string } {
  const result = mappedElements(group, elements, reading, {
    ...structuredClone(resource),
    id: 'reported',
  });
  const dosages = dosagesOf(group, (of) => {
    const ofDosage = elements.filter(({ to }) => to.startsWith(DOSAGE));
    const read = mappedElements(of, ofDosage, reading);
    return (read.dosageInstruction as Dosage[] | undefined)?.[0];
  });
  if (dosages !== undefined && result.dosageInstruction !== undefined)
    result.dosageInstruction = dosages;
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
