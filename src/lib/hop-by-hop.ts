import type { IncomingHttpHeaders } from 'node:http';

/**
 * Headers that belong to one connection, not to the message (RFC 9110, 7.6.1).
 */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** The headers that a proxy forwards. */
export const withoutHops = (
  headers: IncomingHttpHeaders,
): IncomingHttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)),
  );
