/** A resource as it stands in an answer, with the address its Bundle gives it. */
export interface Entry {
  resource: unknown;
  fullUrl?: string;
  /** Of an entry that says that a resource was deleted: its address, absolute or `Type/id`. */
  deleted?: string;
}
