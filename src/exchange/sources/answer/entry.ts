/** A resource as it stands in an answer, with the address its Bundle gives it. */
export interface Entry {
  resource: unknown;
  fullUrl?: string;
}
