import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type {
  BulkCreateStatusResponse,
  BulkPatientCreate,
  BulkUpload,
} from '../../src/contract/bulk-create.ts';
import { callGateway, type StackAccess, type StackAccount } from './stack.ts';

/*
 * A bulk create as its caller makes one, through the public interface only.
 * Whatever gets no answer, or one that says "later", is asked again, as a
 * careful caller does.
 */

type Gateway = Pick<StackAccess, 'connection'>;

const RETRY_EVERY_MS = 200;

/** E5. */
export async function startBulkCreate(
  gateway: Gateway,
  account: StackAccount,
  options: { dryRun?: boolean } = {},
): Promise<BulkPatientCreate> {
  const path = `patient/bulk?facilityId=${account.facilityId}&dryRun=${options.dryRun === true}`;
  const answer = await callGateway(gateway.connection, account, 'POST', path);
  if (answer.status !== 200)
    throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** `PUT {uploadUrl}`, streamed from the disk. */
export async function putCsv(
  account: StackAccount,
  uploadUrl: string,
  csvFile: string,
): Promise<BulkUpload> {
  const answer = await request(uploadUrl, {
    method: 'PUT',
    headers: {
      'x-api-key': account.apiKey,
      'content-type': 'text/csv',
      'content-length': String((await stat(csvFile)).size),
    },
    body: createReadStream(csvFile),
  });
  const body = (await answer.body.json()) as BulkUpload;
  if (answer.statusCode !== 200)
    throw new Error(`PUT: ${answer.statusCode} ${JSON.stringify(body)}`);
  return body;
}

/**
 * Asks for the status until `wanted` says so. @throws when that takes longer
 * than `timeoutMs`
 */
export async function untilStatus(
  gateway: Gateway,
  account: StackAccount,
  requestId: string,
  wanted: (status: BulkCreateStatusResponse) => boolean,
  options: { timeoutMs: number; everyMs?: number },
): Promise<BulkCreateStatusResponse> {
  const deadlineAt = Date.now() + options.timeoutMs;
  let last: unknown;
  while (Date.now() < deadlineAt) {
    const answer = await callGateway(
      gateway.connection,
      account,
      'GET',
      `patient/bulk/${requestId}`,
    ).catch(() => undefined);
    last = answer?.body ?? last;
    if (answer?.status === 200 && wanted(answer.body)) return answer.body;
    await sleep(options.everyMs ?? RETRY_EVERY_MS);
  }
  throw new Error(
    `not within ${options.timeoutMs} ms: ${JSON.stringify(last)}`,
  );
}

export const hasEnded = ({ status }: BulkCreateStatusResponse): boolean =>
  status === 'completed' || status === 'failed' || status === 'expired';

/** The result CSV of a completed bulk create into a file. */
export async function downloadResult(
  { result, reason }: Pick<BulkCreateStatusResponse, 'result' | 'reason'>,
  file: string,
): Promise<void> {
  if (result === undefined) throw new Error(`there is no result: ${reason}`);
  const answer = await request(result);
  if (answer.statusCode !== 200)
    throw new Error(`the link to the result answered ${answer.statusCode}`);
  await pipeline(answer.body, createWriteStream(file));
}
