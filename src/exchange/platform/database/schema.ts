/**
 * The types of all tables in `migrations/`, for Kysely. Empty here: each room adds the tables it owns in its `tables.ts`, so that
 * the platform knows none of them.
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging
export interface Database {}
