import { z } from 'zod';
import { SourceFailure } from '../connector.ts';
import { badAnswer, isRecord, issueCodeOf } from '../http/failures.ts';
import type { JsonAnswer } from '../http/source-http.ts';
import { isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { fetchedBundle } from './bundle-page.ts';
import type { Fetched } from './fetched.ts';
import type { StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';

const JOB_ANSWER = 'its job';

/** Manifest of NDJSON files (FHIR bulk data, "Response - Complete Status"). */
const fileSchema = z.object({ type: z.string().optional(), url: z.string() });
const manifestSchema = z.object({
  requiresAccessToken: z.boolean().optional(),
  output: z.array(fileSchema),
  error: z.array(fileSchema).optional(),
  /** Bundles of entries `DELETE Type/id`. */
  deleted: z.array(fileSchema).optional(),
});

/** What a finished job brings: a Bundle, a Bundle in a batch response, or a manifest of files. */
export function fetchedJob(context: SourceContext, answer: JsonAnswer): Fetched {
  const { source } = context.config;
  if (answer.json.resourceType === 'OperationOutcome') {
    const code = issueCodeOf(answer.json);
    throw new SourceFailure(
      'job-failed',
      `${source} failed the job it accepted${code === undefined ? '' : ` (${code})`}`,
    );
  }
  if (answer.json.resourceType === 'Bundle') return fetchedJobBundle(context, answer);
  const manifest = manifestSchema.safeParse(answer.json);
  if (!manifest.success)
    throw badAnswer(source, 'finished its job with neither a Bundle nor a list of files');
  return fetchedManifest(context, answer, manifest.data);
}

/** R5 servers wrap the answer: a Bundle of type batch-response whose entry holds the Bundle asked for. */
function fetchedJobBundle(context: SourceContext, answer: JsonAnswer): Fetched {
  if (answer.json.type !== 'batch-response') return fetchedBundle(context, JOB_ANSWER, answer);
  const parts: unknown[] = Array.isArray(answer.json.entry) ? answer.json.entry : [];
  const fetched = parts.map((part) => {
    const response = isRecord(part) && isRecord(part.response) ? part.response : {};
    const status = /^\d{3}/.exec(String(response.status ?? '200'))?.[0] ?? '';
    if (!status.startsWith('2')) {
      throw new SourceFailure(
        'job-failed',
        `${context.config.source} failed the job it accepted (${status})`,
      );
    }
    const json = isRecord(part) && isRecord(part.resource) ? part.resource : {};
    return fetchedBundle(context, JOB_ANSWER, { ...answer, json });
  });
  const outer = fetchedBundle(context, JOB_ANSWER, answer);
  return {
    ...outer,
    entries: fetched.flatMap(({ entries }) => entries),
    next: fetched.flatMap(({ next }) => next),
  };
}

/**
 * The files in the manifest become steps. A manifest that lists nothing but errors is a failed job; errors beside
 * data are counted: the data is what the source could give.
 */
function fetchedManifest(
  { config }: SourceContext,
  answer: JsonAnswer,
  manifest: z.infer<typeof manifestSchema>,
): Fetched {
  const errorCount = manifest.error?.length ?? 0;
  if (manifest.output.length === 0 && errorCount > 0) {
    throw new SourceFailure('job-failed', `${config.source} finished its job with errors only`);
  }
  const { clinical, supporting } = resourceTypesOf(config.source);
  const wanted = manifest.output.filter(({ type }) => {
    return type === undefined || clinical.includes(type) || supporting.includes(type);
  });
  const steps = [...wanted, ...(manifest.deleted ?? [])].map(({ url }): StepOf<'file'> => {
    if (!URL.canParse(url, answer.url.href))
      throw badAnswer(config.source, 'listed a file without a valid address');
    const fileUrl = new URL(url, answer.url.href);
    if (!isAllowedUrl(config, fileUrl)) {
      throw badAnswer(
        config.source,
        `put a file at ${fileUrl.origin}, which is not one of its configured origins`,
      );
    }
    return {
      kind: 'file',
      url: fileUrl.href,
      withToken: manifest.requiresAccessToken !== false,
      offsetBytes: 0,
    };
  });
  return {
    entries: [],
    raw: { bytes: answer.bytes, contentType: answer.contentType },
    rawWithout: () => answer.bytes,
    next: steps,
    reportedErrors: errorCount,
  };
}
