import { z } from 'zod';
import { SourceFailure } from '../connector.ts';
import { badResponse, foreignOrigin, isRecord, issueCodeOf } from '../http/failures.ts';
import type { JsonResponse } from '../http/source-http.ts';
import { addressOf, isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { fetchedBundle } from './bundle-page.ts';
import type { FetchedPart } from './fetched-part.ts';
import type { StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';

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

/** Reads the result of a finished job: a Bundle, a Bundle inside a batch response, or a manifest of files. */
export function fetchedJob(context: SourceContext, response: JsonResponse): FetchedPart {
  const { source } = context.config;
  if (response.json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(response.json);
    throw new SourceFailure(
      'job-failed',
      `${source} failed the job it accepted${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (response.json.resourceType === 'Bundle') return fetchedJobBundle(context, response);
  const manifest = manifestSchema.safeParse(response.json);
  if (!manifest.success)
    throw badResponse(source, 'finished its job with neither a Bundle nor a list of files');
  return fetchedManifest(context, response, manifest.data);
}

/** R5 servers wrap the result: a Bundle of type batch-response whose entry holds the requested Bundle. */
function fetchedJobBundle(context: SourceContext, response: JsonResponse): FetchedPart {
  if (response.json.type !== 'batch-response') return fetchedBundle(context, JOB_RESULT, response);
  const parts: unknown[] = Array.isArray(response.json.entry) ? response.json.entry : [];
  const fetched = parts.map((part) => {
    const entryResponse = isRecord(part) && isRecord(part.response) ? part.response : {};
    const status = /^\d{3}/.exec(String(entryResponse.status ?? '200'))?.[0] ?? '';
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
 * Turns the files of the manifest into steps. A manifest that lists only errors is a failed job. When it lists data as
 * well, the data is collected and the error files are counted.
 */
function fetchedManifest(
  { config }: SourceContext,
  response: JsonResponse,
  manifest: z.infer<typeof manifestSchema>,
): FetchedPart {
  const errorCount = manifest.error?.length ?? 0;
  if (manifest.output.length === 0 && errorCount > 0) {
    throw new SourceFailure('job-failed', `${config.source} finished its job with errors only`);
  }
  const { clinical, supporting } = resourceTypesOf(config.source);
  const wanted = manifest.output.filter(({ type }) => {
    return type === undefined || clinical.includes(type) || supporting.includes(type);
  });
  const steps = [...wanted, ...(manifest.deleted ?? [])].map(({ url }): StepOf<'file'> => {
    if (!URL.canParse(url, response.url.href))
      throw badResponse(config.source, 'listed a file without a valid address');
    const fileUrl = addressOf(config, new URL(url, response.url.href));
    if (!isAllowedUrl(config, fileUrl)) throw foreignOrigin(config, 'put a file at', fileUrl);
    return {
      kind: 'file',
      url: fileUrl.href,
      withToken: manifest.requiresAccessToken !== false,
      offsetBytes: 0,
    };
  });
  return {
    entries: [],
    raw: { bytes: response.bytes, contentType: response.contentType },
    rawWithout: () => response.bytes,
    next: steps,
    reportedErrors: errorCount,
  };
}
