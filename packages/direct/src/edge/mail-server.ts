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
