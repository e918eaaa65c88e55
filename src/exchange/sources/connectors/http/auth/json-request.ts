import { type Dispatcher, request } from 'undici';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import { isRecord } from '../failures.ts';
import { HttpExchange } from '../http-response.ts';
import { readSourceJson } from '../source-json.ts';

const BYTES_MAX = 500_000;

/** Sends a request without a token to a server of the source, and reads a JSON object. Throws only SourceFailure. */
export async function requestJson(
  config: ResolvedSourceConfig,
  dispatcher: Dispatcher,
  { url, label, body }: { url: URL; label: string; body?: unknown },
): Promise<{ status: number; json: Record<string, unknown> }> {
  const exchange = new HttpExchange(config, { label, signal: new AbortController().signal });
  try {
    const raw = await request(url, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      headersTimeout: config.requestTimeoutSeconds * 1_000,
      bodyTimeout: config.requestTimeoutSeconds * 1_000,
      signal: exchange.signal,
    });
    const response = exchange.responded(raw, url, undefined);
    const read = readSourceJson(await response.bytes(BYTES_MAX));
    return { status: response.status, json: read.isRead && isRecord(read.json) ? read.json : {} };
  } catch (error) {
    throw exchange.failed(error);
  }
}
