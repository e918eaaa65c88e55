import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/** jsonb: an object when read, its JSON text when written (so that a list is not taken for a PostgreSQL array). */
export type Json<T extends object | null> = JSONColumnType<T>;
export type NullableJson<T extends object> = ColumnType<T | null, string | null | undefined, string | null>;
export type DefaultJson<T extends object> = ColumnType<T, string | undefined, string>;
export type Instant = Generated<Date>;
