/** The position after a page; plain JSON, opaque to callers. */
export interface ConsolidatedPlace {
  resourceType: string;
  sortDate: string;
  id: string;
}
