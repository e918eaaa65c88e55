import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  BlobNotFoundError,
  BlobStoreUnavailableError,
  isBlobRef,
  parseBlobRef,
} from './blob-store.ts';
import type { SealedStorage } from './encrypted-blob-store.ts';
import type { S3Bucket } from './s3-bucket.ts';

/** 10,000 parts are the most that S3 takes, which allows blobs of 80 GB. */
const PART_SIZE_BYTES = 8 * 1024 * 1024;
/**
 * Parts of one blob sent at the same time. An upload needs this many parts of
 * memory, and one more.
 */
const PARTS_AT_A_TIME = 2;
/** The first read of a range brings the header and the size of the blob. */
const HEAD_BYTES = 512;

/**
 * How long the server may take to begin a response, with the SDK's repetitions,
 * and to complete a short one.
 */
const ANSWER_TIMEOUT_MS = 10_000;
/** An upload of which the server takes nothing for this long is given up. */
const STALLED_AFTER_MS = 30_000;

/** For tests, which do not want to wait. */
export interface S3Timeouts {
  answerMs?: number;
  stalledAfterMs?: number;
}

interface ListedObject {
  key: string;
  writtenAt: Date;
  sizeBytes: number;
}

/**
 * Blobs are objects with the names that they have as files: `<prefix>/<kind>/<2
 * hex digits>/<32 hex digits>`.
 */
export function s3Storage(
  { client, bucket, prefix }: S3Bucket,
  {
    answerMs = ANSWER_TIMEOUT_MS,
    stalledAfterMs = STALLED_AFTER_MS,
  }: S3Timeouts = {},
): SealedStorage {
  const objectKey = (ref: string) => {
    const { kind, name } = parseBlobRef(ref);
    return `${prefix}${kind}/${name.slice(0, 2)}/${name}`;
  };
  /**
   * Runs a short request. Throws BlobStoreUnavailableError if it takes too
   * long.
   */
  const inTime = async <T>(
    ask: (abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), answerMs);
    try {
      return await ask(late.signal);
    } catch (error) {
      throw late.signal.aborted ? new BlobStoreUnavailableError(error) : error;
    } finally {
      clearTimeout(timer);
    }
  };
  const getObject = async (
    ref: string,
    abortSignal: AbortSignal,
    range?: string,
  ) => {
    const request = new GetObjectCommand({
      Bucket: bucket,
      Key: objectKey(ref),
      Range: range,
    });
    const answer = await client
      .send(request, { abortSignal })
      .catch((error: unknown) => {
        throw isCalled(error, 'NoSuchKey') ? new BlobNotFoundError(ref) : error;
      });
    if (!(answer.Body instanceof Readable))
      throw new Error('The S3 server answered without content');
    return { content: answer.Body, range: answer.ContentRange };
  };
  return {
    async write(ref, sealed) {
      const guard = new StallGuard(stalledAfterMs);
      const body = Readable.from(guard.watch(sealed), { objectMode: false });
      try {
        // If-None-Match: a name that is taken, which chance cannot explain,
        // must not replace the content of another blob.
        const upload = new Upload({
          client,
          params: {
            Bucket: bucket,
            Key: objectKey(ref),
            Body: body,
            IfNoneMatch: '*',
          },
          partSize: PART_SIZE_BYTES,
          queueSize: PARTS_AT_A_TIME,
          abortController: guard.controller,
        });
        upload.on('httpUploadProgress', () => guard.moved());
        await upload.done();
      } catch (error) {
        // The SDK repeats a request whose answer was lost; then the name is
        // taken by the first one, with the same content.
        const isStored =
          isCalled(error, 'PreconditionFailed') && wasRepeated(error);
        if (!isStored)
          throw guard.hasAborted ? new BlobStoreUnavailableError(error) : error;
      } finally {
        guard.end();
        body.destroy();
      }
    },
    read: async (ref) =>
      (await inTime((abortSignal) => getObject(ref, abortSignal))).content,
    async withSource(ref, use) {
      const readAt = async (start: number, size: number) => {
        try {
          return await inTime(async (abortSignal) => {
            const range = `bytes=${start}-${start + size - 1}`;
            const answer = await getObject(ref, abortSignal, range);
            return {
              bytes: await buffer(answer.content),
              sizeBytes: Number(answer.range?.split('/')[1]),
            };
          });
        } catch (error) {
          if (isCalled(error, 'InvalidRange'))
            return { bytes: Buffer.alloc(0), sizeBytes: 0 };
          throw error;
        }
      };
      const head = await readAt(0, HEAD_BYTES);
      if (!Number.isInteger(head.sizeBytes))
        throw new Error('The S3 server does not support ranges');
      const read = async (start: number, size: number) =>
        start + size <= head.bytes.length ||
        head.bytes.length === head.sizeBytes
          ? head.bytes.subarray(start, start + size)
          : (await readAt(start, size)).bytes;
      return use({ sizeBytes: head.sizeBytes, read });
    },
    async delete(ref) {
      const request = new DeleteObjectCommand({
        Bucket: bucket,
        Key: objectKey(ref),
      });
      await inTime((abortSignal) => client.send(request, { abortSignal }));
    },
    async deleteWrittenBefore(kind, before) {
      let deleted = 0;
      for await (const page of pages(`${kind}/`)) {
        const old = page.flatMap(({ key, writtenAt }) =>
          writtenAt < before ? [{ Key: key }] : [],
        );
        if (old.length === 0) continue;
        const request = new DeleteObjectsCommand({
          Bucket: bucket,
          Delete: { Objects: old, Quiet: true },
        });
        const { Errors: failed = [] } = await client.send(request);
        if (failed.length > 0)
          throw new Error(
            `S3 did not delete ${failed.length} blobs: ${failed[0]?.Code ?? 'no reason given'}`,
          );
        deleted += old.length;
      }
      return deleted;
    },
    async *list(kind, digits) {
      for await (const page of pages(`${kind}/${digits}/`))
        for (const { key, writtenAt, sizeBytes } of page) {
          const ref = `${kind}/${key.slice(key.lastIndexOf('/') + 1)}`;
          if (isBlobRef(ref)) yield { ref, writtenAt, sizeBytes };
        }
    },
  };

  /** Lists at most 1,000 objects at a time. */
  async function* pages(below: string): AsyncGenerator<ListedObject[]> {
    const request = { Bucket: bucket, Prefix: `${prefix}${below}` };
    for await (const page of paginateListObjectsV2({ client }, request))
      yield (page.Contents ?? []).flatMap(
        ({ Key: key, LastModified: writtenAt, Size: sizeBytes }) =>
          key === undefined ||
          writtenAt === undefined ||
          sizeBytes === undefined
            ? []
            : [{ key, writtenAt, sizeBytes }],
      );
  }
}

const wasRepeated = (error: unknown): boolean =>
  error instanceof S3ServiceException && (error.$metadata.attempts ?? 1) > 1;

const isCalled = (error: unknown, name: string): boolean =>
  error instanceof S3ServiceException && error.name === name;

/**
 * Aborts the sending of content when the receiver takes nothing more for a time
 * although there is something to take.
 */
class StallGuard {
  readonly controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isAwaitingContent = false;

  constructor(stalledAfterMs: number) {
    this.#timer = setInterval(() => {
      if (!this.#isAwaitingContent) this.controller.abort();
    }, stalledAfterMs);
  }

  get hasAborted(): boolean {
    return this.controller.signal.aborted;
  }

  /** Something was received: the time begins anew. */
  moved(): void {
    this.#timer.refresh();
  }

  /**
   * Passes the content on. While it is slow itself, the receiver has not
   * stalled.
   */
  async *watch<T>(content: AsyncIterable<T>): AsyncGenerator<T> {
    this.#isAwaitingContent = true;
    for await (const part of content) {
      this.#isAwaitingContent = false;
      this.moved();
      yield part;
      this.#isAwaitingContent = true;
    }
    this.#isAwaitingContent = false;
    this.moved();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
