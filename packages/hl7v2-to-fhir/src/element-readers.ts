import type {
  AllergyIntoleranceReaction,
  AppointmentParticipant,
  Attachment,
  CodeableConcept,
  Coding,
  DocumentReferenceContent,
  DosageDoseAndRate,
  Quantity,
  Reference,
} from 'fhir/r4.js';
import type { ElementReader } from './element-mapping.ts';
import {
  type FieldPlace,
  fieldsAt,
  firstRead,
  type GroupField,
  type SegmentGroup,
  textIn,
  valueAt,
} from './field-places.ts';
import { codedElement, practitionersIn } from './fields.ts';
import { fileOf } from './files.ts';
import { hl7Table } from './lookup-table.ts';
import type { Hl7Segment } from './message.ts';
import { hl7TimeInFhir, localTime } from './time.ts';
import { fieldUnit } from './unescaped-units.ts';
import type { ObservationReading } from './value.ts';
import { hl7Decimal } from './written-decimals.ts';

type FieldReader<T> = (
  field: GroupField,
  reading: ObservationReading,
) => T | undefined;

/** The first place of which the reader makes something. */
const first =
  <T>(read: FieldReader<T>): ElementReader<T> =>
  (group, from, reading) =>
    firstRead(fieldsAt(group, from), (field) => read(field, reading));

/** The same; a value that cannot be read is counted. */
const understood = <T>(read: FieldReader<T>): ElementReader<T> =>
  first((field, reading) => {
    const value = read(field, reading);
    if (value === undefined && textIn(field) !== undefined)
      field.segment.remark(field.field, 'not understood');
    return value;
  });

export const asText: ElementReader<string> = first(textIn);

/** Every line of every place. */
export const asLines: ElementReader<string> = (group, from) =>
  fieldsAt(group, from)
    .flatMap(({ segment, field }) => segment.texts(field))
    .join('\n')
    .trim() || undefined;

/**
 * What the codes of the sender mean; the first place with one of them counts.
 * Without `otherwise`, a code that is not in the table is counted; `undefined`
 * in the table: a code that says nothing of the element.
 *
 * @param otherwise what it is without any of them
 */
export function asCodeOf<const Code extends string>(
  codes: Readonly<Record<string, Code | undefined>>,
  otherwise?: Code,
): ElementReader<Code> {
  const table: Readonly<Record<string, Code | undefined>> = hl7Table(codes);
  const read = first((field) => {
    const text = textIn(field);
    if (text === undefined) return undefined;
    if (otherwise === undefined && !(text in table))
      field.segment.remark(field.field, 'not understood');
    return table[text];
  });
  return (group, from, reading) => read(group, from, reading) ?? otherwise;
}

/** Whether the value is this one. */
export const isCode = (code: string): ElementReader<boolean> =>
  first((field) => {
    const text = textIn(field);
    return text === undefined ? undefined : text === code;
  });

/** True if the value is this one; otherwise it says nothing of the element. */
export const isOnly = (code: string): ElementReader<boolean> =>
  first((field) => (textIn(field) === code ? true : undefined));

/** A code as sent, of a system. */
export const asCodingIn = (system: string): ElementReader<Coding> =>
  first((field) => {
    const code = textIn(field);
    return code === undefined ? undefined : { system, code };
  });

/** What the codes of the sender mean in a system of FHIR. */
export function asCodingOf<Code extends string>(
  system: string,
  codes: Readonly<Record<string, Code | undefined>>,
): ElementReader<Coding> {
  const read = asCodeOf(codes);
  return (group, from, reading) => {
    const code = read(group, from, reading);
    return code === undefined ? undefined : { system, code };
  };
}

export const asConcept: ElementReader<CodeableConcept> = first(
  ({ segment, field }, { sender }) =>
    codedElement(segment.repetitions(field)[0], sender),
);

/** Every repetition of every place. */
export const asConcepts: ElementReader<CodeableConcept[]> = (
  group,
  from,
  { sender },
) =>
  listed(
    repetitionsAt(group, from).flatMap(
      ({ read }) => codedElement(read, sender) ?? [],
    ),
  );

export const asPerson: ElementReader<Reference> = first(
  ({ segment, field }) => practitionersIn(segment, field)[0],
);

/** As precise as it was sent. */
export const asTime: ElementReader<string> = understood((field, { time }) =>
  hl7TimeInFhir(textIn(field), time),
);

export const asDay: ElementReader<string> = understood((field, { time }) =>
  hl7TimeInFhir(textIn(field), time)?.slice(0, 10),
);

export const asInstant: ElementReader<string> = understood((field, { time }) =>
  localTime(textIn(field), time),
);

export const asCount: ElementReader<number> = understood((field) => {
  const text = textIn(field) ?? '';
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
});

/** @param unitAt the field of its unit, in the same segment */
export const asQuantity = (unitAt: FieldPlace): ElementReader<Quantity> =>
  understood((field) => {
    const number = textIn(field);
    if (number === undefined || !/^(?:\d+\.?\d*|\.\d+)$/.test(number))
      return undefined;
    const [unitField] = fieldsAt([field.segment], [unitAt]);
    const unit = unitField && fieldUnit(unitField.segment, unitField.field);
    return {
      ...hl7Decimal('value', number),
      ...(unit === undefined ? {} : { unit }),
    };
  });

/**
 * A number of minutes. One of another unit is not read, and counted.
 *
 * @param unitAt the field of the unit, in the same segment
 */
export const asMinutes = (unitAt: FieldPlace): ElementReader<number> =>
  first((field) => {
    const unit = valueAt([field.segment], unitAt) ?? 'MIN';
    if (!/^(?:MIN.*|M)$/i.test(unit)) return undefined;

    const minutes = Number(textIn(field));
    return minutes > 0 ? Math.round(minutes) : undefined;
  });

/** An amount, or a range from the first place to the second. */
export function asDose(unitAt: FieldPlace): ElementReader<DosageDoseAndRate> {
  const amountOf = asQuantity(unitAt);

  return (group, [lowAt, highAt], reading) => {
    const low = lowAt && amountOf(group, [lowAt], reading);
    const high = highAt && amountOf(group, [highAt], reading);
    const isRange =
      low !== undefined &&
      high !== undefined &&
      JSON.stringify(low) !== JSON.stringify(high);
    if (isRange) return { doseRange: { low, high } };
    const doseQuantity = low ?? high;
    return doseQuantity && { doseQuantity };
  };
}

/** Every text and every coded instruction, once. */
export const asDirections: ElementReader<string> = (group, from) => {
  const texts = repetitionsAt(group, from).flatMap(({ read, component }) =>
    component === undefined
      ? (read.whole(2) ?? read.whole(1) ?? [])
      : (read.whole(component) ?? []),
  );
  return [...new Set(texts)].join('; ') || undefined;
};

/** The components of a compounded medication (RXC), each as a note. */
export const asComponents: ElementReader<{ text: string }[]> = (group) => {
  const components = group.filter(({ name }) => name === 'RXC');
  const texts = new Set(components.map(componentText));
  return listed([...texts].map((text) => ({ text })));
};

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

/** One reaction, with all its signs. */
export function asReaction(
  severityAt: FieldPlace,
  severities: Readonly<
    Record<string, AllergyIntoleranceReaction['severity'] | undefined>
  >,
): ElementReader<AllergyIntoleranceReaction[]> {
  const severityOf = asCodeOf(severities);

  return (group, from, reading) => {
    const severity = severityOf(group, [severityAt], reading);
    const texts = repetitionsAt(group, from).flatMap(
      ({ read }) => read.whole(2) ?? read.whole(1) ?? [],
    );
    if (texts.length === 0 && severity === undefined) return undefined;
    const manifestation =
      texts.length === 0 ? [UNKNOWN] : texts.map((text) => ({ text }));
    return [{ manifestation, ...(severity === undefined ? {} : { severity }) }];
  };
}

const UNKNOWN: CodeableConcept = {
  coding: [
    {
      system: 'http://terminology.hl7.org/CodeSystem/data-absent-reason',
      code: 'unknown',
    },
  ],
};

/** Every person of every place. */
export const asParticipants: ElementReader<AppointmentParticipant[]> = (
  group,
  from,
) =>
  fieldsAt(group, from)
    .flatMap(({ segment, field }) => practitionersIn(segment, field))
    .map((actor) => ({ actor, status: 'accepted' }));

/** Every location (PL): point of care, room, bed and facility. */
export const asLocations: ElementReader<AppointmentParticipant[]> = (
  group,
  from,
) =>
  fieldsAt(group, from)
    .map(({ segment, field }) =>
      [1, 2, 3, 4]
        .flatMap((part) => segment.value(field, part) ?? [])
        .join('-'),
    )
    .filter((display) => display !== '')
    .map((display) => ({
      actor: { type: 'Location', display },
      status: 'accepted',
    }));

/** The files of OBX segments, and their lines of text as one file. */
export const asFiles: ElementReader<DocumentReferenceContent[]> = (group) => {
  const files: Attachment[] = [];
  const lines: string[] = [];
  for (const obx of group.filter(({ name }) => name === 'OBX')) {
    const file = fileOf(obx);
    if (file === undefined) lines.push(...linesOf(obx));
    else files.push(file);
  }

  const data = Buffer.from(lines.join('\n').trim()).toString('base64');
  if (data !== '')
    files.push({ contentType: 'text/plain; charset=utf-8', data });
  return listed(files.map((attachment) => ({ attachment })));
};

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

const listed = <T>(values: T[]): T[] | undefined =>
  values.length === 0 ? undefined : values;

const repetitionsAt = (group: SegmentGroup, places: readonly FieldPlace[]) =>
  fieldsAt(group, places).flatMap(({ segment, field, component }) =>
    segment.repetitions(field).map((read) => ({ read, component })),
  );
