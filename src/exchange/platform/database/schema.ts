import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/**
 * The types of all tables in `migrations/`, for Kysely. Empty here: each room
 * adds the tables it owns in its `tables.ts`, so that the platform knows none
 * of them.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging
export interface Database {}

/**
 * A jsonb column: read as an object, written as JSON text (pg would convert an
 * array to a PostgreSQL array).
 */
export type JsonColumn<T extends object | null> = JSONColumnType<T>;
/** A nullable jsonb column. */
export type NullableJsonColumn<T extends object> = ColumnType<
  T | null,
  string | null | undefined,
  string | null
>;
/** A jsonb column with a default. */
export type DefaultJsonColumn<T extends object> = ColumnType<
  T,
  string | undefined,
  string
>;
/** A timestamptz column with a default. */
export type Instant = Generated<Date>;
