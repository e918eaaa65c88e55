/**
 * A table that is looked up by text of a document. It has its own members only:
 * every other object also has `constructor`, `toString` and their like.
 */
export const cdaTable = <T extends object>(table: T): T =>
  Object.assign(Object.create(null), table);
