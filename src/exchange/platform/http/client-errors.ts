import type { Socket } from 'node:net';
import { v7 as uuidv7 } from 'uuid';
import { ExchangeError } from '../errors.ts';
import { errorAnswer, PROBLEM_JSON } from './errors.ts';

/** What Node's own parser refuses, before there is a request, is answered as everything else is. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const { status, body } = errorAnswer(refusalOf(error.code), uuidv7());
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

function refusalOf(code: string | undefined): ExchangeError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ExchangeError(431, 'The headers are larger than this service accepts');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ExchangeError(408, 'The request did not come in time');
    default:
      return new ExchangeError(400, 'This is not a valid HTTP request');
  }
}
