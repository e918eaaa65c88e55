import { isMissingOperation, type Support } from '../capabilities.ts';
import { badAnswer, failureOfStatus } from '../http/failures.ts';
import type { Answer } from '../http/http-answer.ts';
import { FHIR_JSON, type JsonAnswer, readError } from '../http/source-http.ts';
import { isAllowedUrl } from '../source-config.ts';
import type { SourceContext } from '../source-context.ts';
import { resourceTypesOf } from './resource-types.ts';

const EVERYTHING = 'Patient/$everything';

export type EverythingAnswer =
  | { kind: 'page'; answer: JsonAnswer }
  | { kind: 'accepted'; statusUrl: string; retryAfterMs?: number }
  | { kind: 'missing' };

export interface EverythingOptions {
  /** Asks for a background job (FHIR asynchronous pattern); the source may answer at once all the same. */
  async: boolean;
  callbackUrl?: string;
}

/** Asks for all that the source has about one of its patients. */
export async function askEverything(
  context: SourceContext,
  patientId: string,
  options: EverythingOptions,
  signal: AbortSignal,
): Promise<EverythingAnswer> {
  const { config, http, capabilities } = context;
  const support = (await capabilities.read()).operations.everything;
  if (support === 'missing') return { kind: 'missing' };
  const send = (withTypes: boolean) =>
    http.send({
      method: 'GET',
      url: everythingUrl(context, patientId, withTypes),
      label: EVERYTHING,
      headers: {
        ...(options.async ? { prefer: 'respond-async' } : {}),
        ...(options.callbackUrl === undefined ? {} : { 'x-callback-url': options.callbackUrl }),
      },
      accept: FHIR_JSON,
      signal,
    });

  const hasTypes = config.source !== 'hie';
  let answer = await send(hasTypes);
  if (answer.status === 400 && hasTypes) {
    // Not every server knows `_type` here. We filter anyway.
    await answer.discard();
    answer = await send(false);
  }
  if (answer.status === 200) return { kind: 'page', answer: await http.readJson(answer, EVERYTHING) };
  if (answer.status === 202) return accepted(context, answer);
  return missingOrThrow(context, answer, support);
}

async function missingOrThrow({ config, capabilities }: SourceContext, answer: Answer, support: Support) {
  const error = await readError(answer);
  if (!isMissingOperation(error, support)) throw failureOfStatus(config.source, EVERYTHING, error);
  capabilities.noteMissing('everything');
  return { kind: 'missing' as const };
}

async function accepted({ config }: SourceContext, answer: Answer): Promise<EverythingAnswer> {
  await answer.discard();
  const location = answer.header('content-location') ?? answer.header('location');
  if (location === undefined || !URL.canParse(location, answer.url.href)) {
    throw badAnswer(config.source, `accepted ${EVERYTHING} without saying where to ask for its state`);
  }
  const statusUrl = new URL(location, answer.url.href);
  if (!isAllowedUrl(config, statusUrl)) {
    throw badAnswer(
      config.source,
      `put the job's state at ${statusUrl.origin}, which is not one of its configured origins`,
    );
  }
  return { kind: 'accepted', statusUrl: statusUrl.href, retryAfterMs: answer.retryAfterMs };
}

/** `_type` cuts what a source would send in vain; the HIE is asked for all. */
function everythingUrl({ config }: SourceContext, patientId: string, withTypes: boolean): URL {
  const url = new URL(`Patient/${patientId}/$everything`, config.baseUrl);
  url.searchParams.set('_count', String(config.pageSize));
  if (withTypes) {
    const { clinical, supporting } = resourceTypesOf(config.source);
    url.searchParams.set('_type', [...clinical, ...supporting].join(','));
  }
  return url;
}
