import { orderNumber } from './fields.ts';
import type { Hl7Segment } from './message.ts';

/** The segments whose fields are mapped. */
export type SegmentName =
  | 'MSH'
  | 'ORC'
  | 'OBR'
  | 'OBX'
  | 'NTE'
  | 'SPM'
  | 'TQ1'
  | 'AL1'
  | 'IAM'
  | 'DG1'
  | 'PR1'
  | 'RXA'
  | 'RXC'
  | 'RXD'
  | 'RXE'
  | 'RXO'
  | 'RXR'
  | 'TXA'
  | 'SCH'
  | 'AIS'
  | 'AIP'
  | 'AIL';

/** A field, or a component of one: `RXA-17.2`. */
export type FieldPlace = `${SegmentName}-${number}`;

/** Segments that describe one thing together. */
export type SegmentGroup = readonly Hl7Segment[];

/** A field of one segment of a group. */
export interface GroupField {
  segment: Hl7Segment;
  field: number;
  component: number | undefined;
}

/** The fields at these places, in every segment of that name. */
export const fieldsAt = (
  group: SegmentGroup,
  places: readonly FieldPlace[],
): GroupField[] =>
  places.flatMap((place) => {
    const [, name, field, component] =
      /^(\w{3})-(\d+)(?:\.(\d+))?$/.exec(place) ?? [];
    const part = component === undefined ? undefined : Number(component);
    return group
      .filter((segment) => segment.name === name)
      .map((segment) => ({ segment, field: Number(field), component: part }));
  });

/** What the first place says that says anything; the others stay unread. */
export function firstRead<T>(
  fields: readonly GroupField[],
  read: (field: GroupField) => T | undefined,
): T | undefined {
  for (const field of fields) {
    const value = read(field);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The text of a field; undefined when it is empty or null (`""`). */
export const textIn = ({
  segment,
  field,
  component,
}: GroupField): string | undefined => segment.value(field, component);

export const valueAt = (
  group: SegmentGroup,
  place: FieldPlace,
): string | undefined => firstRead(fieldsAt(group, [place]), textIn);

/** The code of a coded element, else its text. */
export const codeOrNameAt = (
  group: SegmentGroup,
  place: FieldPlace,
): string | undefined =>
  firstRead(
    fieldsAt(group, [place]),
    ({ segment, field }) => segment.value(field) ?? segment.value(field, 2),
  );

export const numberAt = (
  group: SegmentGroup,
  place: FieldPlace,
): string | undefined =>
  firstRead(fieldsAt(group, [place]), ({ segment, field }) =>
    orderNumber(segment, field),
  );
