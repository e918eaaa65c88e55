import type { Selectable } from 'kysely';
import type { Database } from './schema.ts';

type Column<Name extends string> = Name extends `${infer Head}${infer Rest}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Column<Rest>}`
  : Name;
type Member<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Member<Rest>>}`
  : Name;

const columnOf = cached((name) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);
const memberOf = cached((name) =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
);

/**
 * The members of an object as columns: `patientId` is `patient_id`. A member
 * that is undefined gets the column's default.
 */
export const columnsOf = <T extends object>(value: T) =>
  renamed(value, columnOf) as {
    [Name in keyof T & string as Column<Name>]: T[Name];
  };

/** The columns of a row as members: `patient_id` is `patientId`. */
export const membersOf = <T extends object>(row: T) =>
  renamed(row, memberOf) as {
    [Name in keyof T & string as Member<Name>]: T[Name];
  };

/** A row of a table, as `membersOf` gives it. */
export type Members<Table extends keyof Database> = ReturnType<
  typeof membersOf<Selectable<Database[Table]>>
>;

/** The columns of a row as members, without those that are null. */
export const presentOf = <T extends object>(row: T) =>
  renamed(
    Object.fromEntries(
      Object.entries(row).filter(([, value]) => value !== null),
    ),
    memberOf,
  ) as {
    [Name in keyof T & string as Member<Name>]: null extends T[Name]
      ? Exclude<T[Name], null> | undefined
      : T[Name];
  };

const renamed = (value: object, nameOf: (name: string) => string): object =>
  Object.fromEntries(
    Object.entries(value).map(([name, part]) => [nameOf(name), part]),
  );

function cached(rename: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const renamedTo = known.get(name) ?? rename(name);
    known.set(name, renamedTo);
    return renamedTo;
  };
}
