import { X509Certificate } from 'node:crypto';
import type { SourceTls } from '../source-settings.ts';

/** Days before its end at which a certificate is to be replaced. */
const RENEW_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/** Until when our client certificate is valid; undefined without one. */
export interface OwnCertificate {
  /** YYYY-MM-DD */
  until: string;
  /** That it has ended, or ends soon, in words. */
  fault: string | undefined;
}

export function ownCertificate(
  { cert }: SourceTls,
  nowMs: number,
): OwnCertificate | undefined {
  if (cert === undefined) return undefined;
  const endsMs = Date.parse(new X509Certificate(cert).validTo);
  const days = Math.floor((endsMs - nowMs) / DAY_MS);
  const until = new Date(endsMs).toISOString().slice(0, 10);
  const fault =
    days < RENEW_DAYS
      ? `our client certificate ${days < 0 ? 'ended' : 'ends'} on ${until}: replace it (npm run admin -- connections rotate)`
      : undefined;
  return { until, fault };
}
