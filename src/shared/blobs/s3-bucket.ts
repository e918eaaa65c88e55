import {
  HeadBucketCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { ConfigError } from '../../config.ts';
import type { S3Login } from './s3-login.ts';

export interface S3Bucket {
  client: S3Client;
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A connection on which nothing moves for this long is cut. */
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Opens `s3://bucket/prefix`. `?endpoint=https://host` names another S3 server,
 * which is addressed by path. Throws ConfigError if the bucket is not there or
 * refuses us.
 */
export async function openS3Bucket(
  url: URL,
  variable: string,
  login?: S3Login,
): Promise<S3Bucket> {
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  const isKnown = [...url.searchParams.keys()].every(
    (name) => name === 'endpoint' || name === 'compress',
  );
  if (
    !isKnown ||
    (endpoint !== undefined && !/^https?:\/\/[^/?#@]+\/?$/.test(endpoint))
  )
    throw new ConfigError(
      `${variable}: expected s3://bucket/prefix or s3://bucket/prefix?endpoint=https://host`,
    );
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(
      `${variable}: credentials do not belong into the address; the AWS SDK finds them`,
    );
  const folder = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(login !== undefined && { region: login.region, credentials: login }),
    // Blobs are authenticated by their encryption, so the SDK need not verify
    // answers too.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: IDLE_TIMEOUT_MS,
    },
  });
  await client
    .send(new HeadBucketCommand({ Bucket: url.host }))
    .catch((error: unknown) => {
      throw unusable(error, url.host, variable);
    });
  return {
    client,
    bucket: url.host,
    prefix: folder === '' ? '' : `${folder}/`,
  };
}

function unusable(error: unknown, bucket: string, variable: string): Error {
  const status =
    error instanceof S3ServiceException
      ? error.$metadata.httpStatusCode
      : undefined;
  if (status === 404)
    return new ConfigError(`${variable}: there is no bucket "${bucket}"`);
  if (status === 403)
    return new ConfigError(
      `${variable}: no access to the bucket "${bucket}" (s3:ListBucket)`,
    );
  const reason =
    error instanceof Error ? error.message || error.name : 'unknown error';
  return new Error(
    `${variable}: the bucket "${bucket}" cannot be reached: ${reason}`,
    { cause: error },
  );
}
