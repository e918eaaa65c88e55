import { constants, createHash, X509Certificate } from 'node:crypto';
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  type SecureContextOptions,
} from 'node:tls';
import type { SourceType } from '../../../../contract/primitives.ts';
import { SourceFailure } from '../connector.ts';
import type { SourceTls } from '../source-settings.ts';

/**
 * The TLS options of connections. Certificates are always verified, whatever
 * NODE_TLS_REJECT_UNAUTHORIZED says: a private authority replaces the public
 * ones, and a pin comes in addition to the verification.
 *
 * @param isLegacy for a gateway that knows nothing better: old renegotiation,
 *   and keys that are weak today; certificates are verified all the same
 */
export function tlsOptions(
  { ca, cert, key, pins }: SourceTls,
  isLegacy = false,
): ConnectionOptions {
  return {
    rejectUnauthorized: true,
    ...readOnce({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert, key }),
      ...(isLegacy ? LEGACY_TLS : {}),
    }),
    ...(pins === undefined || pins.length === 0
      ? {}
      : {
          checkServerIdentity: (host, certificate) =>
            checkServerIdentity(host, certificate) ??
            pinFault(certificate, pins),
        }),
  };
}

/**
 * Certificates that are read once for all connections. Reading them for each
 * takes 0.4 ms of CPU and 50 kB with a bundle of ten certificates, and 2.7 ms
 * with one of a hundred.
 */
function readOnce(options: SecureContextOptions): ConnectionOptions {
  try {
    return { secureContext: createSecureContext(options) };
  } catch {
    // Each connection reports what is wrong with them.
    return options;
  }
}

const LEGACY_TLS = {
  minVersion: 'TLSv1.2',
  ciphers: 'DEFAULT@SECLEVEL=0',
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
} as const satisfies SecureContextOptions;

/**
 * The pin of a certificate: SHA-256 of its public key in base64, as `curl
 * --pinnedpubkey` takes it.
 */
export function pinOf(raw: Buffer): string {
  const spki = new X509Certificate(raw).publicKey.export({
    type: 'spki',
    format: 'der',
  });
  return `sha256/${createHash('sha256').update(spki).digest('base64')}`;
}

function pinFault(
  { raw }: PeerCertificate,
  pins: readonly string[],
): Error | undefined {
  if (pins.includes(pinOf(raw))) return undefined;
  return Object.assign(new Error('The key of the certificate is not pinned'), {
    code: 'CERT_NOT_PINNED',
  });
}

const UNTRUSTED =
  /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CRL_|HOSTNAME_MISMATCH$)/;
const REFUSED_BY_SERVER =
  /^ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE|ACCESS_DENIED)/;

/**
 * With TLS 1.3 a server may refuse our certificate only after the handshake,
 * and some then drop the connection.
 */
const DROPPED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

function ownCertificateFault(
  { cert }: SourceTls,
  nowMs: number,
): string | undefined {
  if (cert === undefined) return undefined;
  try {
    const { validFrom, validTo } = new X509Certificate(cert);
    if (Date.parse(validTo) < nowMs)
      return `expired on ${new Date(validTo).toISOString().slice(0, 10)}`;
    return Date.parse(validFrom) > nowMs
      ? `is valid only from ${new Date(validFrom).toISOString().slice(0, 10)} on`
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The failure for a TLS handshake that will not succeed however often it is
 * repeated; undefined for other errors.
 */
export function tlsFailure(
  { source, tls }: { source: SourceType; tls: SourceTls },
  label: string,
  error: unknown,
  nowMs = Date.now(),
): SourceFailure | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !/^[A-Z0-9_]+$/.test(code)) return undefined;
  if (UNTRUSTED.test(code))
    return new SourceFailure(
      'denied',
      `${source} is not trusted: its certificate is not valid (${code})`,
      {
        cause: error,
      },
    );
  const isRefused = REFUSED_BY_SERVER.test(code);
  const fault =
    isRefused || DROPPED.has(code)
      ? ownCertificateFault(tls, nowMs)
      : undefined;
  if (fault !== undefined)
    return new SourceFailure(
      'denied',
      `${source} refuses our client certificate, which ${fault}: replace it`,
      {
        cause: error,
      },
    );
  if (!isRefused) return undefined;
  return new SourceFailure(
    'denied',
    `${source} refused our certificate during ${label} (${code})`,
    {
      cause: error,
    },
  );
}
