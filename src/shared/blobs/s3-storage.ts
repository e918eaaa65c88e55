import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { BlobNotFoundError, isBlobRef, parseBlobRef } from './blob-store.ts';
import type { S3Bucket } from './s3-bucket.ts';
import type { SealedStorage } from './sealed-storage.ts';

/** 10,000 parts are the most that S3 takes, which allows blobs of 80 GB. */
const PART_SIZE_BYTES = 8 * 1024 * 1024;
/** Parts of one blob sent at the same time. An upload needs this many parts of memory, and one more. */
const PARTS_AT_A_TIME = 2;
/** The first read of a range brings the header and the size of the blob. */
const HEAD_BYTES = 512;

interface ListedObject {
  key: string;
  writtenAt: Date;
  sizeBytes: number;
}

/** Blobs are objects with the names that they have as files: `<prefix>/<kind>/<2 hex digits>/<32 hex digits>`. */
export function s3Storage({ client, bucket, prefix }: S3Bucket): SealedStorage {
  const keyOf = (ref: string) => {
    const { kind, name } = parseBlobRef(ref);
    return `${prefix}${kind}/${name.slice(0, 2)}/${name}`;
  };
  const getObject = async (ref: string, range?: string) => {
    const request = new GetObjectCommand({ Bucket: bucket, Key: keyOf(ref), Range: range });
    const answer = await client.send(request).catch((error: unknown) => {
      throw isCalled(error, 'NoSuchKey') ? new BlobNotFoundError(ref) : error;
    });
    if (!(answer.Body instanceof Readable)) throw new Error('The S3 server answered without content');
    return { content: answer.Body, range: answer.ContentRange };
  };
  return {
    async write(ref, sealed) {
      const body = Readable.from(sealed, { objectMode: false });
      try {
        // If-None-Match: a name that is taken, which chance cannot explain, must not replace the content of another blob.
        const params = { Bucket: bucket, Key: keyOf(ref), Body: body, IfNoneMatch: '*' };
        await new Upload({ client, params, partSize: PART_SIZE_BYTES, queueSize: PARTS_AT_A_TIME }).done();
      } finally {
        body.destroy();
      }
    },
    read: async (ref) => (await getObject(ref)).content,
    async withSource(ref, use) {
      const readAt = async (start: number, size: number) => {
        try {
          const { content, range } = await getObject(ref, `bytes=${start}-${start + size - 1}`);
          return { bytes: await wholeOf(content), sizeBytes: Number(range?.split('/')[1]) };
        } catch (error) {
          if (isCalled(error, 'InvalidRange')) return { bytes: Buffer.alloc(0), sizeBytes: 0 };
          throw error;
        }
      };
      const head = await readAt(0, HEAD_BYTES);
      if (!Number.isInteger(head.sizeBytes)) throw new Error('The S3 server does not support ranges');
      const read = async (start: number, size: number) =>
        start + size <= head.bytes.length || head.bytes.length === head.sizeBytes
          ? head.bytes.subarray(start, start + size)
          : (await readAt(start, size)).bytes;
      return use({ sizeBytes: head.sizeBytes, read });
    },
    async delete(ref) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(ref) }));
    },
    async deleteWrittenBefore(kind, before) {
      let deleted = 0;
      for await (const page of pages(`${kind}/`)) {
        const old = page.flatMap(({ key, writtenAt }) => (writtenAt < before ? [{ Key: key }] : []));
        if (old.length === 0) continue;
        const request = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: old, Quiet: true } });
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
    let next: string | undefined;
    do {
      const request = { Bucket: bucket, Prefix: `${prefix}${below}`, ContinuationToken: next };
      const page = await client.send(new ListObjectsV2Command(request));
      yield (page.Contents ?? []).flatMap(({ Key: key, LastModified: writtenAt, Size: sizeBytes }) =>
        key === undefined || writtenAt === undefined || sizeBytes === undefined
          ? []
          : [{ key, writtenAt, sizeBytes }],
      );
      next = page.NextContinuationToken;
    } while (next !== undefined);
  }
}

async function wholeOf(content: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

const isCalled = (error: unknown, name: string): boolean =>
  error instanceof S3ServiceException && error.name === name;
