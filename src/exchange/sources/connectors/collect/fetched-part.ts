import type { SourcePage, Unreachable } from '../connector.ts';
import type { Step } from './plan.ts';

/** One response of a source, or one section of an NDJSON file, before it becomes a page. */
export interface FetchedPart {
  entries: ResponseEntry[];
  raw: { bytes: Buffer; contentType: string };
  /** The same bytes without misattributed resources, which are never stored. */
  rawWithout(misattributed: ReadonlySet<unknown>): Buffer;
  /** Steps that this response adds; they run before the steps already planned. */
  next: Step[];
  /** Number of error files in a bulk data manifest. */
  reportedErrors?: number;
  /** Whether this is a page of a search by type. Some servers ignore search parameters and return other patients too. */
  isSearch?: boolean;
  /** Whether the source answered the search; undefined when this is not a search. */
  isAnsweredSearch?: boolean;
  /** The type of a search that the source does not serve. */
  refused?: string[];
  /** The type of a search that the source forbids us (403). */
  forbidden?: string[];
  /** Attachments that a step of its own fetched. */
  documents?: Pick<SourcePage, 'attachments' | 'largeAttachment' | 'skippedAttachments' | 'skippedReasons'>;
  /** Resources larger than a page may be. */
  leftOut?: string[];
  /** Referenced resources that could not be fetched. */
  unreachable?: Unreachable;
}

/** A resource as the source sent it, with the fullUrl of its Bundle entry. */
export interface ResponseEntry {
  resource: unknown;
  fullUrl?: string;
  /** Set when the entry reports a deletion: the address of the deleted resource, absolute or `Type/id`. */
  deleted?: string;
}
