/** A resource as the source sent it, with the fullUrl of its Bundle entry. */
export interface ResponseEntry {
  resource: unknown;
  fullUrl?: string;
  /** Set when the entry reports a deletion: the address of the deleted resource, absolute or `Type/id`. */
  deleted?: string;
}
