import { z } from 'zod';
import type { SourceType } from '../../../../contract/primitives.ts';
import type { SourceContext } from '../capabilities.ts';
import {
  type JobHandle,
  SourceFailure,
  StoredByAnotherBuild,
} from '../connector.ts';
import {
  badResponse,
  failureOfRest,
  failureOfStatus,
  foreignOrigin,
  isRecord,
  issueCodeOf,
  type SourceErrorResponse,
} from '../http/failures.ts';
import { readSourceJson } from '../http/http-response.ts';
import {
  describeType,
  FHIR_MEDIA_TYPE,
  type JsonResponse,
  readError,
} from '../http/source-http.ts';
import { addressOf, isAllowedUrl } from '../source-config.ts';
import { fetchedBundle } from './bundle-page.ts';
import {
  type FetchedPart,
  newPlan,
  type Plan,
  type StepOf,
  stepsSchema,
  versionSchema,
} from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';

const JOB_STATUS = 'the status of its job';

const jobSchema = z.object({
  version: versionSchema,
  /** Set when the jobs were asked for changes since this instant. */
  since: z.iso.datetime().optional(),
  patientIds: z.array(z.string()).min(1),
  /** One job per record that the source holds about the person. */
  jobs: z.array(z.object({ url: z.url(), isDone: z.boolean() })).min(1),
  /**
   * Steps for records that the source serves without a job; they run once all
   * jobs are done.
   */
  steps: stepsSchema,
});

export type SourceJob = z.infer<typeof jobSchema>;

/**
 * @throws StoredByAnotherBuild when the stored handle does not have this
 *   connector's shape
 */
export function jobOfHandle(handle: JobHandle): SourceJob {
  const job = jobSchema.safeParse(handle);
  if (!job.success) throw new StoredByAnotherBuild('job');
  return job.data;
}

type JobState =
  /**
   * `changed` is the job to store; undefined when nothing has changed since the
   * last poll.
   */
  | { kind: 'pending'; changed?: SourceJob; retryAfterMs?: number }
  /**
   * `responses` holds the responses just received, by status URL, so that none
   * is fetched twice.
   */
  | { kind: 'ready'; plan: Plan; responses: Map<string, JsonResponse> };

/** Polls each unfinished job. The result is `ready` once all jobs are done. */
export async function pollJob(
  context: SourceContext,
  job: SourceJob,
  signal: AbortSignal,
): Promise<JobState> {
  const responses = new Map<string, JsonResponse>();
  const delaysMs: number[] = [];
  const jobs = [];
  for (const part of job.jobs) {
    const state = part.isDone
      ? undefined
      : await askStatus(context, part.url, signal);
    if (state?.retryAfterMs !== undefined) delaysMs.push(state.retryAfterMs);
    if (state?.response !== undefined) responses.set(part.url, state.response);
    jobs.push({
      url: part.url,
      isDone: part.isDone || state?.response !== undefined,
    });
  }
  if (jobs.every(({ isDone }) => isDone)) {
    const steps = [
      ...jobs.map(({ url }) => ({ kind: 'job' as const, url })),
      ...job.steps,
    ];
    return {
      kind: 'ready',
      plan: newPlan(job.patientIds, steps, job.since),
      responses,
    };
  }
  const retryAfterMs =
    delaysMs.length === 0 ? undefined : Math.max(...delaysMs);
  return {
    kind: 'pending',
    ...(responses.size > 0 ? { changed: { ...job, jobs } } : {}),
    retryAfterMs,
  };
}

/**
 * Returns the job's response when it is done, otherwise the delay that the
 * source asked for.
 */
async function askStatus(
  { config, http }: SourceContext,
  url: string,
  signal: AbortSignal,
): Promise<{ response?: JsonResponse; retryAfterMs?: number }> {
  const response = await http.send({
    method: 'GET',
    url: new URL(url),
    label: JOB_STATUS,
    accept: FHIR_MEDIA_TYPE,
    signal,
  });
  if (response.status === 200)
    return { response: await http.readJson(response, JOB_STATUS) };
  const { retryAfterMs } = response;
  if (response.status === 202 || isAskedToWait(response.status, retryAfterMs)) {
    await response.discard();
    return { retryAfterMs };
  }
  throw jobFailure(config.source, await readError(response));
}

/**
 * FHIR Bulk Data: the source asks us to poll less often. The job itself has not
 * failed.
 */
function isAskedToWait(
  status: number,
  retryAfterMs: number | undefined,
): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

/**
 * The failure for an error response from a status URL. A 5xx with an
 * OperationOutcome means that the job failed; a 5xx without one comes from a
 * proxy or the network, so polling continues.
 */
function jobFailure(
  source: SourceContext['config']['source'],
  error: SourceErrorResponse,
): SourceFailure {
  const failure = failureOfStatus(source, JOB_STATUS, error);
  const { status, issueCode } = error;
  const isAccess = status === 401 || status === 403;
  const isNetwork =
    status === 408 || (status >= 500 && error.isOutcome !== true);
  if (isAccess || isNetwork || status < 400) return failure;
  const reason =
    status === 404 || status === 410
      ? 'no longer knows the job it accepted'
      : 'failed the job it accepted';
  const code = issueCode === undefined ? '' : `, ${issueCode}`;
  return new SourceFailure(
    'job-failed',
    `${source} ${reason} (${status}${code})`,
    { httpStatus: status },
  );
}

/**
 * Sends DELETE to each status URL. A source that no longer knows the job, or
 * does not support cancellation, is not an error.
 */
export async function cancelJob(
  { config, http }: SourceContext,
  job: SourceJob,
  signal: AbortSignal,
): Promise<void> {
  for (const { url } of job.jobs) {
    const label = 'the cancellation of its job';
    const response = await http.send({
      method: 'DELETE',
      url: new URL(url),
      label,
      signal,
    });
    const isFine =
      response.status < 300 ||
      [404, 405, 409, 410, 501].includes(response.status);
    if (!isFine)
      throw failureOfStatus(config.source, label, await readError(response));
    await response.discard();
  }
}

const JOB_RESULT = 'its job';

/** Manifest of NDJSON files (FHIR bulk data, "Response - Complete Status"). */
const fileSchema = z.object({ type: z.string().optional(), url: z.string() });
const manifestSchema = z.object({
  requiresAccessToken: z.boolean().optional(),
  output: z.array(fileSchema),
  error: z.array(fileSchema).optional(),
  /** Bundles of entries `DELETE Type/id`. */
  deleted: z.array(fileSchema).optional(),
});

/**
 * Reads the result of a finished job: a Bundle, a Bundle inside a batch
 * response, or a manifest of files.
 */
export function fetchedJob(
  context: SourceContext,
  response: JsonResponse,
): FetchedPart {
  const { source } = context.config;
  if (response.json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(response.json);
    throw new SourceFailure(
      'job-failed',
      `${source} failed the job it accepted${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (response.json.resourceType === 'Bundle')
    return fetchedJobBundle(context, response);
  const manifest = manifestSchema.safeParse(response.json);
  if (!manifest.success)
    throw badResponse(
      source,
      'finished its job with neither a Bundle nor a list of files',
    );
  return fetchedManifest(context, response, manifest.data);
}

/**
 * R5 servers wrap the result: a Bundle of type batch-response whose entry holds
 * the requested Bundle.
 */
function fetchedJobBundle(
  context: SourceContext,
  response: JsonResponse,
): FetchedPart {
  if (response.json.type !== 'batch-response')
    return fetchedBundle(context, JOB_RESULT, response);
  const parts: unknown[] = Array.isArray(response.json.entry)
    ? response.json.entry
    : [];
  const fetched = parts.map((part) => {
    const entryResponse =
      isRecord(part) && isRecord(part.response) ? part.response : {};
    const status =
      /^\d{3}/.exec(String(entryResponse.status ?? '200'))?.[0] ?? '';
    if (!status.startsWith('2')) {
      throw new SourceFailure(
        'job-failed',
        `${context.config.source} failed the job it accepted (${status})`,
      );
    }
    const json = isRecord(part) && isRecord(part.resource) ? part.resource : {};
    return fetchedBundle(context, JOB_RESULT, { ...response, json });
  });
  const outer = fetchedBundle(context, JOB_RESULT, response);
  return {
    ...outer,
    entries: fetched.flatMap(({ entries }) => entries),
    next: fetched.flatMap(({ next }) => next),
  };
}

/**
 * Turns the files of the manifest into steps. A manifest that lists only errors
 * is a failed job. When it lists data as well, the data is collected and the
 * error files are counted.
 */
function fetchedManifest(
  { config }: SourceContext,
  response: JsonResponse,
  manifest: z.infer<typeof manifestSchema>,
): FetchedPart {
  const errorCount = manifest.error?.length ?? 0;
  if (manifest.output.length === 0 && errorCount > 0) {
    throw new SourceFailure(
      'job-failed',
      `${config.source} finished its job with errors only`,
    );
  }
  const { clinical, supporting } = resourceTypesOf(config.source);
  const wanted = manifest.output.filter(({ type }) => {
    return (
      type === undefined || clinical.includes(type) || supporting.includes(type)
    );
  });
  const steps = [...wanted, ...(manifest.deleted ?? [])].map(
    ({ url }): StepOf<'file'> => {
      if (!URL.canParse(url, response.url.href))
        throw badResponse(
          config.source,
          'listed a file without a valid address',
        );
      const fileUrl = addressOf(config, new URL(url, response.url.href));
      if (!isAllowedUrl(config, fileUrl))
        throw foreignOrigin(config, 'put a file at', fileUrl);
      return {
        kind: 'file',
        url: fileUrl.href,
        withToken: manifest.requiresAccessToken !== false,
        offsetBytes: 0,
      };
    },
  );
  return {
    entries: [],
    raw: { bytes: response.bytes, contentType: response.contentType },
    rawWithout: () => response.bytes,
    next: steps,
    reportedErrors: errorCount,
  };
}

const FILE = 'a file of its job';
const LINES_MAX = 500;
const BLANK_BYTES_MAX = 1_000_000;
const NEWLINE = 0x0a;
export const FHIR_NDJSON = 'application/fhir+ndjson';
/**
 * File stores often send octet-stream, so it is accepted; each line is checked
 * anyway.
 */
const NDJSON_TYPES = new Set([
  FHIR_NDJSON,
  'application/ndjson',
  'application/x-ndjson',
  'application/octet-stream',
  'binary/octet-stream',
]);

/**
 * Streams one NDJSON file and splits it into pages; the step after each page
 * continues after that page's last line.
 */
export async function* fetchFile(
  { config, http }: SourceContext,
  step: StepOf<'file'>,
  signal: AbortSignal,
): AsyncGenerator<FetchedPart> {
  const response = await http.send({
    method: 'GET',
    url: new URL(step.url),
    label: FILE,
    accept: FHIR_NDJSON,
    withToken: step.withToken,
    streamed: true,
    signal,
  });
  if (response.status !== 200)
    throw failureOfRest(config.source, FILE, await readError(response));
  if (!NDJSON_TYPES.has(response.mediaType)) {
    await response.discard();
    throw badResponse(
      config.source,
      `answered ${FILE} with ${describeType(response.mediaType)} instead of NDJSON`,
    );
  }
  const limits = {
    linesMax: LINES_MAX,
    bytesMax: config.pageBytesMax,
    offsetBytes: step.offsetBytes,
  };
  for await (const cut of cutLines(response.chunks(), limits)) {
    if (cut.kind === 'too-long')
      throw badResponse(
        config.source,
        `sent a line longer than ${config.pageBytesMax} bytes in ${FILE}`,
      );
    if (cut.kind === 'too-short')
      throw badResponse(
        config.source,
        `returned ${FILE} that is shorter than at the previous read`,
      );
    if (cut.kind === 'too-blank')
      throw badResponse(
        config.source,
        `sent more than ${BLANK_BYTES_MAX} bytes of blank lines in ${FILE}`,
      );
    const lines = cut.lines.map((line) => ({
      line,
      resource: resourceOf(line, config.source),
    }));
    yield {
      entries: lines.map(({ resource }) => ({ resource })),
      raw: { bytes: Buffer.concat(cut.lines), contentType: FHIR_NDJSON },
      rawWithout: (misattributed) =>
        Buffer.concat(
          lines
            .filter(({ resource }) => !misattributed.has(resource))
            .map(({ line }) => line),
        ),
      next: cut.isLast ? [] : [{ ...step, offsetBytes: cut.endBytes }],
    };
  }
}

type Cut =
  | { kind: 'lines'; lines: Buffer[]; isLast: boolean; endBytes: number }
  | { kind: 'too-long' }
  | { kind: 'too-blank' }
  | { kind: 'too-short' };

interface CutLimits {
  linesMax: number;
  bytesMax: number;
  /** Bytes of earlier pages, which are skipped. */
  offsetBytes: number;
}

/**
 * Splits a stream into groups of lines and drops blank lines. A group is
 * yielded only once another line follows it, so that the last group can be
 * marked as the last. An empty file yields one empty group.
 */
export async function* cutLines(
  parts: AsyncIterable<Buffer>,
  limits: CutLimits,
): AsyncGenerator<Cut> {
  let group: Buffer[] = [];
  let groupBytes = 0;
  let endBytes = limits.offsetBytes;
  let blankBytes = 0;
  for await (const line of linesOf(parts, limits)) {
    if (line === 'too-long') return yield { kind: 'too-long' };
    if (line === 'too-short') return yield { kind: 'too-short' };
    const isBlank = line.toString('latin1').trim() === '';
    const isFull =
      group.length >= limits.linesMax ||
      groupBytes + line.length > limits.bytesMax;
    if (!isBlank && isFull && group.length > 0) {
      yield { kind: 'lines', lines: group, isLast: false, endBytes };
      group = [];
      groupBytes = 0;
    }
    endBytes += line.length;
    if (isBlank) {
      // A few bytes of gzip can expand to endless blank lines, so they need a
      // limit of their own.
      blankBytes += line.length;
      if (blankBytes > BLANK_BYTES_MAX) return yield { kind: 'too-blank' };
      continue;
    }
    group.push(line);
    groupBytes += line.length;
  }
  yield { kind: 'lines', lines: group, isLast: true, endBytes };
}

async function* linesOf(
  parts: AsyncIterable<Buffer>,
  { offsetBytes, bytesMax }: CutLimits,
): AsyncGenerator<Buffer | 'too-long' | 'too-short'> {
  let toSkipBytes = offsetBytes;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  for await (const part of parts) {
    let start = Math.min(toSkipBytes, part.length);
    toSkipBytes -= start;
    for (
      let end = part.indexOf(NEWLINE, start);
      end >= 0;
      end = part.indexOf(NEWLINE, start)
    ) {
      const line = Buffer.concat([...tail, part.subarray(start, end + 1)]);
      if (line.length > bytesMax) return yield 'too-long';
      yield line;
      tail = [];
      tailBytes = 0;
      start = end + 1;
    }
    tail.push(part.subarray(start));
    tailBytes += part.length - start;
    if (tailBytes > bytesMax) return yield 'too-long';
  }
  if (toSkipBytes > 0) return yield 'too-short';
  if (tailBytes > 0) yield Buffer.concat(tail);
}

function resourceOf(line: Buffer, source: SourceType): Record<string, unknown> {
  const read = readSourceJson(line);
  if (!read.isRead)
    throw badResponse(source, `answered ${FILE} with a line of ${read.fault}`);
  if (!isRecord(read.json))
    throw badResponse(source, `answered ${FILE} with a line of broken JSON`);
  return read.json;
}
