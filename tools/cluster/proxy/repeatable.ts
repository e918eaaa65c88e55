import type { IncomingMessage } from 'node:http';

/** What is larger is streamed, and so cannot be sent a second time. */
export const REPEATABLE_BYTES_MAX = 1024 * 1024;

/** Whether a request may be sent again when its answer was lost: it reads, or its Idempotency-Key makes both sendings one. */
export function mayBeRepeated({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method === 'GET' || method === 'HEAD') return !hasBody(headers);
  const bytes = Number(headers['content-length'] ?? 0);
  return (
    headers['idempotency-key'] !== undefined &&
    headers['transfer-encoding'] === undefined &&
    bytes <= REPEATABLE_BYTES_MAX
  );
}

export const hasBody = (headers: IncomingMessage['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
