import type { Json } from './json.ts';

/** A delivery of a group, with all that folding needs. */
export interface Member {
  source: string;
  /** File name of the document that contained it. */
  fileName: string;
  /** Whether it was converted from a C-CDA document. */
  isConverted?: boolean;
  content: Json;
}
