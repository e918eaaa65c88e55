import { LRUCache } from 'lru-cache';
import { v7 as uuidv7 } from 'uuid';
import type { DocumentFormat } from '../../../contract/documents.ts';
import {
  createFairThreads,
  type JobThreadLimits,
} from '../../../lib/job-thread.ts';
import { type FairQueueLimits, QueueFullError } from '../../../lib/lanes.ts';
import { BlobNotFoundError } from '../../../shared/blobs/blob-store.ts';
import {
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
  OverloadError,
} from '../../platform/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { deleting, removalRecovery } from '../../platform/recovery/recovery.ts';
import {
  deleteOldRenditions,
  findRendition,
  insertRendition,
  type StoredDocument,
} from './document-store.ts';
import type { Rendering } from './render.ts';
import type { RenderJob } from './render-thread.ts';

/**
 * Size limit for conversion, in bytes; the same as for collecting files from
 * sources.
 */
export const CONVERTED_BYTES_MAX = 20_000_000;

export const RENDITION_TYPES: Readonly<Record<DocumentFormat, string>> = {
  html: 'text/html; charset=utf-8',
  pdf: 'application/pdf',
};

/**
 * Failures are cached, because the same renderer would fail again. They expire
 * after an hour, because a thread may also have been ended by a temporary
 * overload.
 */
const FAILURES = { ttl: 60 * 60_000, max: 10_000 };
const BUSY_RETRY_SECONDS = 5;

/** Creates and stores renditions: documents converted to html or pdf. */
export type DocumentRenditions = ReturnType<typeof createDocumentRenditions>;

export function createDocumentRenditions({
  store,
  blobs,
  renderer = createDocumentRenderer(),
}: Pick<Platform, 'store' | 'blobs'> & { renderer?: DocumentRenderer }) {
  const failures = new LRUCache<
    string,
    Exclude<Rendering, { kind: 'rendered' }>
  >(FAILURES);
  const underWay = new Map<string, Promise<string>>();

  return {
    /**
     * Returns the id of a rendition, created now or in the last hours. A failed
     * conversion is not repeated for an hour.
     *
     * @throws InvalidRequestError (400) when the document is not XML
     * @throws ExchangeError 422, with the reason, when it cannot be converted
     * @throws OverloadError (503) when too many documents are being converted
     */
    async render(
      accountId: string,
      document: StoredDocument,
      format: DocumentFormat,
    ): Promise<string> {
      if (!mayBeXml(document.contentType)) throw notXml(document.contentType);
      const known = await store.asAccount(accountId, (tx) =>
        findRendition(tx, document.id, format),
      );
      if (known !== undefined) return known.id;
      const key = `${accountId}/${document.id}/${format}`;
      const rendition =
        underWay.get(key) ??
        make(key, accountId, document, format).finally(() =>
          underWay.delete(key),
        );
      underWay.set(key, rendition);
      return rendition;
    },
    /** Deletes old renditions. */
    recovery: deleting(
      removalRecovery('old renditions of documents', (limit) =>
        store.asSystem((tx) => deleteOldRenditions(tx, limit)),
      ),
    ),
    close: () => renderer.close(),
  };

  async function make(
    key: string,
    accountId: string,
    document: StoredDocument,
    format: DocumentFormat,
  ): Promise<string> {
    const rendered = await convert(key, accountId, document, format);
    const { ref: blobRef, sizeBytes } = await blobs.put(
      'document',
      rendered,
      RENDITION_TYPES[format],
    );
    const rendition = { id: uuidv7(), format, sizeBytes, blobRef };
    try {
      const isKept = await store.asAccount(accountId, (tx) =>
        insertRendition(tx, document.id, rendition),
      );
      if (!isKept) throw new NotFoundError('Document');
    } catch (error) {
      await blobs.delete(blobRef);
      throw error;
    }
    return rendition.id;
  }

  async function convert(
    key: string,
    accountId: string,
    document: StoredDocument,
    format: DocumentFormat,
  ): Promise<Uint8Array> {
    if (document.sizeBytes > CONVERTED_BYTES_MAX) {
      const size = Math.round(document.sizeBytes / 1_000_000);
      const max = Math.round(CONVERTED_BYTES_MAX / 1_000_000);
      throw unconvertible(`it has ${size} MB; at most ${max} MB are converted`);
    }
    const rendering =
      failures.get(key) ??
      (await renderer.render(
        accountId,
        () => orGone(blobs.read(document.blobRef)),
        format,
      ));
    if (rendering.kind === 'rendered') return rendering.bytes;
    if (rendering.kind === 'busy')
      throw new OverloadError(
        'gateway',
        'Too many documents are being converted; try again in a few seconds',
        BUSY_RETRY_SECONDS,
      );
    failures.set(key, rendering);
    throw rendering.kind === 'not-xml'
      ? notXml(document.contentType)
      : unconvertible(rendering.reason);
  }
}

/** The content of a document's blob. @throws NotFoundError when it is gone */
export const orGone = <T>(content: Promise<T>): Promise<T> =>
  content.catch((error: unknown) => {
    throw error instanceof BlobNotFoundError
      ? new NotFoundError('Document')
      : error;
  });

/**
 * Sources label C-CDA documents with various content types; if the type leaves
 * it open, the bytes decide.
 */
const mayBeXml = (contentType: string): boolean =>
  /xml/i.test(contentType) ||
  /^(?:application\/octet-stream|text\/plain)\b/i.test(contentType);

const notXml = (contentType: string) =>
  new InvalidRequestError([
    {
      path: 'conversionType',
      message: `is for XML/CDA files only, and this file is ${contentType}; omit it to get the original file`,
    },
  ]);

const unconvertible = (reason: string) =>
  new ExchangeError(
    422,
    `This document cannot be converted: ${reason}. Omit conversionType to get the original file`,
    { code: 'not-convertible' },
  );

export interface RenderLimits extends JobThreadLimits {
  queue: FairQueueLimits;
}

/**
 * Two threads, at most one per account: a slow document delays only its own
 * account.
 */
const LIMITS: RenderLimits = {
  heapMb: 384,
  timeoutMs: 30_000,
  idleMs: 60_000,
  queue: { atOnce: 2, ofOneAtOnce: 1, waiting: 64, ofOneWaiting: 8 },
};

/**
 * Renders documents as html or pdf, a few at a time, taking accounts in turn.
 */
type DocumentRenderer = ReturnType<typeof createDocumentRenderer>;

/**
 * Creates a renderer that works in threads with limited heap and time (decision
 * 33): the gateway keeps responding meanwhile, and a malicious document fails
 * with a reason without harming the process.
 */
export function createDocumentRenderer(limits: RenderLimits = LIMITS) {
  const threads = createFairThreads<RenderJob, Rendering>(
    new URL('./render-thread.ts', import.meta.url),
    limits,
    limits.queue,
  );
  return {
    /**
     * Renders a document; `busy` when too many are waiting, of this account or
     * in total, or the machine left it no time. `read` is called when its turn
     * comes. Throws only the errors of `read`, whatever the content.
     */
    async render(
      accountId: string,
      read: () => Promise<Uint8Array>,
      format: DocumentFormat,
    ): Promise<Rendering | { kind: 'busy' }> {
      try {
        const end = await threads.run(accountId, async () => ({
          bytes: await read(),
          format,
        }));
        if (end.kind === 'answered') return end.answer;
        return end.isStarved
          ? { kind: 'busy' }
          : { kind: 'refused', reason: end.reason };
      } catch (error) {
        if (error instanceof QueueFullError) return { kind: 'busy' };
        throw error;
      }
    },
    close: () => threads.close(),
  };
}
