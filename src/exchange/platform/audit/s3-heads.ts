import {
  GetObjectCommand,
  GetObjectLockConfigurationCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { ConfigError } from '../../../config.ts';
import {
  openS3Bucket,
  type S3Bucket,
} from '../../../shared/blobs/s3-bucket.ts';
import type { S3Login } from '../../../shared/blobs/s3-login.ts';
import type { SignedAuditHead } from './chain.ts';
import { type AuditHeads, parseHead, unreadableHead } from './heads.ts';

/**
 * Later times give names that come first in a listing, so that the newest head
 * is found at once.
 */
const LATEST_MS = 9_999_999_999_999;
const ACCOUNT_FOLDER = /([0-9a-f-]{36})\/$/;

/**
 * Heads in an S3 bucket with object lock: each sealing adds an object that
 * nobody can change or delete before its time. What can still be added says
 * nothing false: a delete marker hides no version from us, a second version of
 * a name and a head under a name that is not its own count as unreadable, and
 * an older head has an older name.
 */
export async function openS3Heads(
  url: URL,
  login?: S3Login,
): Promise<AuditHeads> {
  const at = await openS3Bucket(url, 'AUDIT_HEADS', login);
  const { client, bucket, prefix } = at;
  await requireLock(at);
  const folderOf = (accountId: string) => `${prefix}${accountId}/`;
  const headName = ({
    accountId,
    sealedAt,
    gone,
    signature,
  }: SignedAuditHead) => {
    const inverse = String(
      LATEST_MS - Date.parse(gone?.at ?? sealedAt),
    ).padStart(13, '0');
    return `${folderOf(accountId)}${inverse}-${signature.slice(0, 32)}.json`;
  };
  return {
    async read(accountId) {
      const newest = await newestVersion(at, folderOf(accountId));
      if (newest === undefined) return undefined;
      if (newest.isReplaced) return unreadableHead(accountId);
      const { name, versionId } = newest;
      const object = new GetObjectCommand({
        Bucket: bucket,
        Key: name,
        VersionId: versionId,
      });
      const { Body: body } = await client.send(object);
      const head = parseHead(
        (await body?.transformToString()) ?? '',
        accountId,
      );
      return headName(head) === name ? head : unreadableHead(accountId);
    },
    async write(head) {
      const content = {
        Body: `${JSON.stringify(head)}\n`,
        ContentType: 'application/json',
      };
      const object = {
        Bucket: bucket,
        Key: headName(head),
        ...content,
        IfNoneMatch: '*',
      };
      await client
        .send(new PutObjectCommand(object))
        .catch((error: unknown) => {
          // An earlier try succeeded, and its response was lost: the signature
          // is part of the name.
          if (
            !(
              error instanceof S3ServiceException &&
              error.name === 'PreconditionFailed'
            )
          )
            throw error;
        });
    },
    async accounts() {
      const ids: string[] = [];
      for await (const { CommonPrefixes: folders = [] } of pages(
        at,
        prefix,
        '/',
      ))
        ids.push(
          ...folders.flatMap(
            ({ Prefix: folder = '' }) => ACCOUNT_FOLDER.exec(folder)?.[1] ?? [],
          ),
        );
      return ids;
    },
  };
}

/** Throws ConfigError unless whatever is written into the bucket is locked. */
async function requireLock({ client, bucket }: S3Bucket): Promise<void> {
  const { ObjectLockConfiguration: lock } = await client
    .send(new GetObjectLockConfigurationCommand({ Bucket: bucket }))
    .catch((error: unknown) => {
      if (
        error instanceof S3ServiceException &&
        error.name === 'ObjectLockConfigurationNotFoundError'
      )
        return { ObjectLockConfiguration: undefined };
      throw error;
    });
  if (
    lock?.ObjectLockEnabled !== 'Enabled' ||
    lock.Rule?.DefaultRetention?.Mode !== 'COMPLIANCE'
  )
    throw new ConfigError(
      `AUDIT_HEADS: the bucket "${bucket}" needs object lock with a default retention in compliance mode; without it, heads could be deleted`,
    );
}

async function newestVersion(
  at: S3Bucket,
  folder: string,
): Promise<
  { name: string; versionId: string; isReplaced: boolean } | undefined
> {
  const found: { name: string; versionId: string }[] = [];
  for await (const { Versions: versions = [] } of pages(at, folder)) {
    for (const { Key: name, VersionId: versionId } of versions)
      if (name !== undefined && versionId !== undefined)
        found.push({ name, versionId });
    if (found.length > 1) break;
  }
  const [newest, next] = found;
  return newest && { ...newest, isReplaced: next?.name === newest.name };
}

/** Versions and delete markers below a prefix, by name. */
async function* pages(
  { client, bucket }: S3Bucket,
  prefix: string,
  delimiter?: string,
) {
  let position: { KeyMarker?: string; VersionIdMarker?: string } = {};
  for (;;) {
    const request = {
      Bucket: bucket,
      Prefix: prefix,
      Delimiter: delimiter,
      ...position,
    };
    const page = await client.send(new ListObjectVersionsCommand(request));
    yield page;
    if (page.IsTruncated !== true) return;
    position = {
      KeyMarker: page.NextKeyMarker,
      VersionIdMarker: page.NextVersionIdMarker,
    };
  }
}
