import type { Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { ExchangeError } from '../errors.ts';
import { PROBLEM_JSON, toErrorResponse } from './errors.ts';

/** Sends an error response for a request that Node's HTTP parser rejects, in the same form as all other errors. */
export function respondToClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const { status, body } = toErrorResponse(errorOf(error.code), uuidv7());
  const text = JSON.stringify(body);
  socket.end(
    [
      `HTTP/1.1 ${status} ${body.title}`,
      `content-type: ${PROBLEM_JSON}`,
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
      '',
      text,
    ].join('\r\n'),
    () => socket.destroy(),
  );
}

function errorOf(code: string | undefined): ExchangeError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ExchangeError(431, 'The request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ExchangeError(408, 'The request was not received in time');
    default:
      return new ExchangeError(400, 'The request is not valid HTTP');
  }
}
