/**
 * What became of the items of one load. `read` is the sum of `added`,
 * `changed`, `unchanged`, `repeated`, `parts`, `ignored` and `refused`.
 */
export interface LoadCounts {
  read: number;
  added: number;
  changed: number;
  unchanged: number;
  /** Entries whose id an earlier item of the same load had. */
  repeated: number;
  /** Endpoints and locations that are resources of their own. */
  parts: number;
  /** Resources of other types. */
  ignored: number;
  refused: number;
  /** Entries of which something was read otherwise than written. */
  remarked: number;
  /** Entries that are no longer in the directory. */
  removed: number;
}

export const NOTHING_LOADED: LoadCounts = {
  read: 0,
  added: 0,
  changed: 0,
  unchanged: 0,
  repeated: 0,
  parts: 0,
  ignored: 0,
  refused: 0,
  remarked: 0,
  removed: 0,
};
