import { IheError } from '../ihe-error.ts';

/**
 * Says what a failure of the connection means: which code of Node.js or undici
 * is which failure for whoever operates the connection.
 *
 * @param hasAnswered whether the answer had begun
 */
export function transportFailure(
  error: unknown,
  hasAnswered: boolean,
): IheError {
  const [shown, ...codes] = codesIn(error);
  if (isTimeout(error, codes, shown))
    return new IheError(
      'timeout',
      hasAnswered
        ? 'The answer did not end within the time.'
        : 'There was no answer within the time.',
    );
  const code = shown ?? 'unknown';
  if (UNTRUSTED.test(code))
    return new IheError(
      'tls',
      `The gateway's certificate is not trusted (${code}).`,
    );
  if (REFUSED.test(code))
    return new IheError(
      'tls',
      `The gateway refused our certificate or our version of TLS (${code}).`,
    );
  if (DROPPED.test(code) && !hasAnswered)
    return new IheError(
      'connect',
      `The gateway ended the connection before it answered: perhaps it refuses our certificate (${code}).`,
    );
  return hasAnswered
    ? new IheError('cut', `The connection ended within the answer (${code}).`)
    : new IheError('connect', `The gateway could not be reached (${code}).`);
}

const UNTRUSTED =
  /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CRL_|HOSTNAME_MISMATCH$)/;
const REFUSED = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/;
/**
 * With TLS 1.3 a server refuses a certificate after the handshake, and some
 * just end the connection.
 */
const DROPPED = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;
const TIMEOUT = /^(?:UND_ERR_.*TIMEOUT|ETIMEDOUT|ABORT_ERR)$/;

function isTimeout(
  error: unknown,
  codes: readonly string[],
  shown: string | undefined,
): boolean {
  const isAborted =
    error instanceof Error && /^(?:Timeout|Abort)Error$/.test(error.name);
  return (
    isAborted || [shown, ...codes].some((each) => TIMEOUT.test(each ?? ''))
  );
}

/** The codes of an error and its causes, the outermost first. */
function codesIn(error: unknown): string[] {
  const codes: string[] = [];
  let at: unknown = error;
  while (at instanceof Error) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z\d_]{1,80}$/.test(code))
      codes.push(code);
    at = at.cause;
  }
  return codes;
}
