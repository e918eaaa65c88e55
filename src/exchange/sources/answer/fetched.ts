import type { Unreachable } from '../connector.ts';
import type { Entry } from './entry.ts';
import type { Step } from './plan.ts';

/** One answer on the way to a page. */
export interface Fetched {
  entries: Entry[];
  raw: { bytes: Buffer; contentType: string };
  /** The same answer without some of its resources: those of other patients are kept nowhere. */
  rawWithout(strays: ReadonlySet<unknown>): Buffer;
  /** What this answer asks to fetch next, before the steps that were already planned. */
  next: Step[];
  /** Error files that a manifest lists. */
  reportedErrors?: number;
  /** A page of a search by type; some servers ignore its parameters. */
  isSearch?: boolean;
  isAnsweredSearch?: boolean;
  /** Resources that others refer to and that could not be had. */
  unreachable?: Unreachable;
}
