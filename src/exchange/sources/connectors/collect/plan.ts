import { createHash } from 'node:crypto';
import { z } from 'zod';
import { fileOwnerOf } from '../../../records/rules/attachments.ts';
import {
  type Cursor,
  type SourcePage,
  StoredByAnotherBuild,
  type Unreachable,
} from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_MEDIA_TYPE } from '../http/source-http.ts';
import { isResourceId } from './subjects.ts';

const idSchema = z.string().refine(isResourceId);
const supportingTypeSchema = z.enum([
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Location',
  'Medication',
]);
export type SupportingType = z.infer<typeof supportingTypeSchema>;
const urlSchema = z.url({ protocol: /^https?$/ });

/** Set when only what the server stored after this instant is asked for. */
const sinceSchema = z.iso.datetime().optional();

/**
 * `_count`, while it is smaller than configured because a page exceeded the
 * size limit.
 */
const countSchema = z.number().int().positive().optional();

const documentSchema = z.object({
  /** As `fileKeyOf` names it. */
  sourceDocumentId: z
    .string()
    .refine((key) => isResourceId(fileOwnerOf(key).id)),
  contentType: z.string(),
  url: urlSchema,
  /** What the source states of the file; in hex. */
  size: z.number().optional(),
  sha1: z.string().optional(),
});
/** Builds before 0.2.0 stored the name under another one. */
const withTodaysName = (stored: unknown): unknown =>
  isRecord(stored) && typeof stored.documentReferenceId === 'string'
    ? { sourceDocumentId: stored.documentReferenceId, ...stored }
    : stored;
export type DocumentToFetch = z.infer<typeof documentSchema>;

const everythingSchema = z.object({
  kind: z.literal('everything'),
  patientId: idSchema,
  since: sinceSchema,
  count: countSchema,
});
const searchSchema = z.object({
  kind: z.literal('search'),
  type: z.string().regex(/^[A-Za-z]+$/),
  parameter: z.string(),
  value: z.string(),
  /** Set for a document search of IHE MHD. */
  status: z.enum(['current', 'superseded']).optional(),
  since: sinceSchema,
  count: countSchema,
});

/**
 * One request still to make. Steps are plain data and are stored, so that a
 * crash loses at most one page.
 */
const stepSchema = z.discriminatedUnion('kind', [
  everythingSchema,
  searchSchema,
  z.object({
    kind: z.literal('read'),
    type: z.literal('Medication'),
    id: idSchema,
  }),
  /** Resources that collected resources refer to. */
  z.object({
    kind: z.literal('supporting'),
    by: z.enum(['search', 'read']),
    type: supportingTypeSchema,
    ids: z.array(idSchema).min(1),
    since: sinceSchema,
  }),
  /**
   * A further page. `seen` holds short hashes of links already followed, to
   * detect loops: of the first ones and the last ones (`SEEN_MAX`).
   */
  z.object({
    kind: z.literal('link'),
    url: urlSchema,
    seen: z.array(z.string()),
    /** Set on the pages of a search by type. */
    searchedType: z.string().optional(),
    count: countSchema,
    /** The request whose pages these are. */
    origin: z
      .discriminatedUnion('kind', [everythingSchema, searchSchema])
      .optional(),
    /** Short hashes of its results so far, while they are counted. */
    counted: z.array(z.string()).optional(),
  }),
  /** Attachments still to fetch. */
  z.object({
    kind: z.literal('documents'),
    documents: z.array(z.preprocess(withTodaysName, documentSchema)).min(1),
  }),
  /** The status URL of a finished job; it returns a Bundle or a manifest. */
  z.object({ kind: z.literal('job'), url: urlSchema }),
  /**
   * An NDJSON file, read from `offsetBytes` (counted after decompression;
   * always the start of a line).
   */
  z.object({
    kind: z.literal('file'),
    url: urlSchema,
    withToken: z.boolean(),
    offsetBytes: z.number().int().nonnegative(),
  }),
]);

/**
 * 2: asks for changes, of which builds that know only 1 would take the answer
 * for everything.
 */
export const versionSchema = z.union([z.literal(1), z.literal(2)]);

const planSchema = z.object({
  version: versionSchema,
  /**
   * Set when `$everything`, or the job, was asked for changes since this
   * instant.
   */
  since: sinceSchema,
  /**
   * The person's Patient ids at the source; clinical resources must name one of
   * them to be kept.
   */
  patientIds: z.array(idSchema).min(1),
  steps: z.array(stepSchema).min(1),
  /** For builds that limit it: 0. */
  pageCount: z.number().int().nonnegative(),
  /** What the pages so far count towards `answerBytesMax`. */
  answerBytes: z.number().int().nonnegative().default(0),
  /**
   * Number of searches by type that the source answered; if it is 0 at the end,
   * the source supports none.
   */
  answeredSearchCount: z.number().int().nonnegative(),
  /** Types whose searches the source does not serve. */
  refused: z.array(z.string()).optional(),
  /** Types whose searches the source forbids us (403). */
  forbidden: z.array(z.string()).optional(),
  /**
   * Ids of the DocumentReferences received so far, while a search of documents
   * may return them again.
   */
  documents: z.array(z.string()).optional(),
  /**
   * `Type/id` of resources that search results refer to: `wanted` still to
   * fetch, `known` received or requested.
   */
  supporting: z
    .object({ wanted: z.array(z.string()), known: z.array(z.string()) })
    .default(() => ({ wanted: [], known: [] })),
});

export type Step = z.infer<typeof stepSchema>;
export type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>;
/**
 * The requests still to make for one attempt. The cursor of a page is the plan
 * after that page.
 */
export type Plan = z.infer<typeof planSchema>;

export const stepsSchema = z.array(stepSchema);

const NOTHING_REFERRED = { wanted: [], known: [] };

/**
 * @param since set when `$everything`, or the job, was asked for changes only
 */
export function newPlan(
  patientIds: string[],
  steps: Step[],
  since?: string,
): Plan {
  const asksForChanges =
    since !== undefined ||
    steps.some((step) => 'since' in step && step.since !== undefined);
  return {
    version: asksForChanges ? 2 : 1,
    since,
    patientIds,
    steps,
    pageCount: 0,
    answerBytes: 0,
    answeredSearchCount: 0,
    supporting: NOTHING_REFERRED,
  };
}

/**
 * @throws StoredByAnotherBuild when the stored cursor does not have this
 *   connector's shape
 */
export function planOfCursor(cursor: Cursor): Plan {
  const plan = planSchema.safeParse(cursor);
  if (!plan.success) throw new StoredByAnotherBuild('cursor');
  return plan.data;
}

export function hashOfLink(url: URL): string {
  return createHash('sha256').update(url.href).digest('base64url').slice(0, 12);
}

/**
 * One response of a source, or one section of an NDJSON file, before it becomes
 * a page.
 */
export interface FetchedPart {
  entries: ResponseEntry[];
  raw: { bytes: Buffer; contentType: string };
  /** The same bytes without misattributed resources, which are never stored. */
  rawWithout(misattributed: ReadonlySet<unknown>): Buffer;
  /**
   * Steps that this response adds; they run before the steps already planned.
   */
  next: Step[];
  /** Number of error files in a bulk data manifest. */
  reportedErrors?: number;
  /**
   * Whether this is a page of a search by type. Some servers ignore search
   * parameters and return other patients too.
   */
  isSearch?: boolean;
  /**
   * Whether the source answered the search; undefined when this is not a
   * search.
   */
  isAnsweredSearch?: boolean;
  /** The type of a search that the source does not serve. */
  refused?: string[];
  /** The type of a search that the source forbids us (403). */
  forbidden?: string[];
  /** Attachments that a step of its own fetched. */
  documents?: Pick<
    SourcePage,
    | 'attachments'
    | 'differingAttachments'
    | 'largeAttachment'
    | 'skippedAttachments'
    | 'skippedReasons'
  >;
  /** What did not come by the source's own sum, for display. */
  missing?: string;
  /** Resources larger than a page may be. */
  leftOut?: string[];
  /** Referenced resources that could not be fetched. */
  unreachable?: Unreachable;
}

/** How long a page gathers what is fetched one by one, such as documents. */
const GATHERED_MS_MAX = 10_000;

/**
 * Whether it is time to store what has come since `sinceMs`: of a slow source,
 * each document, each read and each empty answer. So a step that is ended, or
 * whose process is killed, repeats a single request.
 */
export const isStoringDue = (now: () => number, sinceMs: number): boolean =>
  now() - sinceMs >= GATHERED_MS_MAX;

/** A part without resources. */
export function emptyPart(next: Step[] = []): FetchedPart {
  const bytes = Buffer.alloc(0);
  return {
    entries: [],
    raw: { bytes, contentType: FHIR_MEDIA_TYPE },
    rawWithout: () => bytes,
    next,
  };
}

/** A resource as the source sent it, with the fullUrl of its Bundle entry. */
export interface ResponseEntry {
  resource: unknown;
  fullUrl?: string;
  /**
   * Set when the entry reports a deletion: the address of the deleted resource,
   * absolute or `Type/id`.
   */
  deleted?: string;
}
