/** A server by which a provider of Direct (HISP) takes or hands over mail. */
export interface MailServer {
  host: string;
  port: number;

  /**
   * `tls` from the first byte on; `starttls` encrypts before the login, or
   * fails; `none` is for a server on the same machine.
   */
  security: 'tls' | 'starttls' | 'none';

  login?: { user: string; password: string } | undefined;

  /** PEM of the authorities that may vouch for it; default: the public ones. */
  ca?: string | undefined;
}

/**
 * A server that does not do its work now. Its text holds nothing of a message,
 * and nothing that the server wrote but its codes.
 */
export class MailServerError extends Error {
  override readonly name = 'MailServerError';
}

/** Options of `node:tls` for a server. */
export const tlsOfServer = ({ ca }: MailServer) => ({
  minVersion: 'TLSv1.2' as const,
  ...(ca === undefined ? {} : { ca }),
});

const NOT_VOUCHED_FOR =
  'no authority that is trusted for it vouches for its certificate';
const CERTIFICATE_FAULTS: ReadonlyMap<string, string> = new Map([
  ['CERT_UNTRUSTED', NOT_VOUCHED_FOR],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', NOT_VOUCHED_FOR],
  ['INVALID_CA', NOT_VOUCHED_FOR],
  ['SELF_SIGNED_CERT_IN_CHAIN', NOT_VOUCHED_FOR],
  ['UNABLE_TO_GET_ISSUER_CERT', NOT_VOUCHED_FOR],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', NOT_VOUCHED_FOR],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', NOT_VOUCHED_FOR],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is of another server'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet'],
]);

/**
 * The code of a failed connection, for an operator: with words for what
 * `node:tls` says of the server's certificate.
 */
export function faultInWords(code: string): string {
  const words = CERTIFICATE_FAULTS.get(code);

  return words === undefined ? code : `${words}: ${code}`;
}
