import type { X509Certificate } from 'node:crypto';
import {
  DirectError,
  isTrusted,
  readCertificates,
  readTrustBundle,
  type TrustBundle,
} from '#direct';
import type { TrustBundleRefreshed } from '../../../../../contract/trust-bundle-workflow.ts';
import type { Store } from '../../../../platform/database/database.ts';
import {
  OriginUnreadable,
  openOrigin,
} from '../../../../sources/directory/read-origin.ts';
import {
  findBundle,
  type LoadedBundle,
  noteFault,
  noteLoaded,
  type RefusedAnchor,
  type StoredBundle,
} from './bundle-store.ts';

const BYTES_MAX = 5_000_000;
const REFUSED_SHOWN = 50;
const MEDIA_TYPES =
  'application/pkcs7-mime, application/x-pkcs7-certificates, */*';

/**
 * Reads a trust bundle from its origin, and takes its anchors in place of those
 * before. What cannot be read, or is not right, changes nothing but the note of
 * it. May run twice.
 *
 * @returns undefined for a bundle that was deleted
 * @throws OriginUnreadable
 */
export async function refreshBundle(
  store: Pick<Store, 'asSystem'>,
  name: string,
  signal: AbortSignal,
): Promise<TrustBundleRefreshed | undefined> {
  const bundle = await store.asSystem((tx) => findBundle(tx, name));
  if (bundle === undefined) return undefined;
  try {
    const read = await readTrustBundle(await bytesOf(bundle, signal));
    const loaded = anchorsIn(bundle, read);
    await store.asSystem((tx) => noteLoaded(tx, bundle, loaded));
    return loaded.counts;
  } catch (error) {
    const fault = asUnreadable(error);
    await store.asSystem((tx) => noteFault(tx, bundle, fault.message));
    throw fault;
  }
}

async function bytesOf(
  { origin }: StoredBundle,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of openOrigin(
    { address: origin },
    MEDIA_TYPES,
    signal,
  )) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > BYTES_MAX)
      throw notRight(`it has more than ${BYTES_MAX} bytes`);
  }
  return Buffer.concat(chunks);
}

/**
 * A bundle without a valid certificate is a damaged one: it would take every
 * partner away at once. @throws OriginUnreadable
 */
function anchorsIn(
  { anchors: before, signedBy }: StoredBundle,
  read: TrustBundle,
): LoadedBundle {
  const now = new Date();
  if (signedBy !== null && !isSignedBy(readCertificates(signedBy), read, now))
    throw notRight('it is not signed by whom --signed-by names');

  const anchors = new Map<string, X509Certificate>();
  const refused: RefusedAnchor[] = Array.from(
    { length: read.unreadable },
    () => ({ subject: null, reason: 'cannot be read' }),
  );
  for (const certificate of read.certificates) {
    const { fingerprint256, subject } = certificate;
    const reason = anchors.has(fingerprint256)
      ? 'is there twice'
      : problemAt(certificate, now);
    if (reason === undefined) anchors.set(fingerprint256, certificate);
    else refused.push({ subject: subject.replaceAll('\n', ', '), reason });
  }
  if (anchors.size === 0)
    throw notRight('it has no certificate that is valid now');

  const old = new Set(
    readCertificates(before ?? '').map(({ fingerprint256 }) => fingerprint256),
  );
  const kept = [...anchors.keys()].filter((each) => old.has(each)).length;
  return {
    anchors: [...anchors.values()].join(''),
    counts: {
      read: read.certificates.length + read.unreadable,
      anchors: anchors.size,
      added: anchors.size - kept,
      removed: old.size - kept,
      refused: refused.length,
    },
    refused: refused.slice(0, REFUSED_SHOWN),
  };
}

const isSignedBy = (
  wanted: X509Certificate[],
  { signers, signerCertificates }: TrustBundle,
  now: Date,
): boolean =>
  signers.length > 0 &&
  signers.every((each) => isTrusted(each, signerCertificates, wanted, now));

function problemAt(
  { validFromDate, validToDate }: X509Certificate,
  now: Date,
): string | undefined {
  if (validToDate < now) return `ended on ${dayOf(validToDate)}`;
  return validFromDate > now ? `begins on ${dayOf(validFromDate)}` : undefined;
}

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

const notRight = (what: string): OriginUnreadable =>
  new OriginUnreadable(what, { mayPass: false });

function asUnreadable(error: unknown): OriginUnreadable {
  if (error instanceof OriginUnreadable) return error;
  if (error instanceof DirectError)
    return notRight(FAULTS.get(error.code) ?? NO_BUNDLE);
  throw error;
}

const NO_BUNDLE = 'it is no trust bundle (PKCS #7)';
const FAULTS: ReadonlyMap<DirectError['code'], string> = new Map([
  ['signature', 'its signature does not fit its content'],
  ['algorithm', 'it is signed with something weaker than SHA-256'],
]);
