import {
  isMissingOperation,
  type SourceContext,
  type Support,
} from '../capabilities.ts';
import { ChangesNotHonoured } from '../connector.ts';
import {
  badResponse,
  failureOfStatus,
  foreignOrigin,
} from '../http/failures.ts';
import type { SourceResponse } from '../http/http-response.ts';
import {
  FHIR_MEDIA_TYPE,
  type JsonResponse,
  readError,
} from '../http/source-http.ts';
import { addressOf, isAllowedUrl } from '../source-config.ts';
import { resourceTypesOf } from './resource-types.ts';

const EVERYTHING = 'Patient/$everything';
/**
 * How long a source may still name the job that a cancelled request has
 * started, so that it can be cancelled.
 */
const JOB_NAMED_WITHIN_MS = 60_000;

export type EverythingResult =
  | { kind: 'page'; response: JsonResponse }
  | { kind: 'accepted'; statusUrl: string; retryAfterMs?: number }
  | { kind: 'missing' };

export interface EverythingOptions {
  /**
   * Requests a background job (FHIR asynchronous pattern); the source may still
   * respond at once.
   */
  async: boolean;
  callbackUrl?: string;
  /** `_count`; default: the configured page size. */
  count?: number;
  /** Asks for what was stored after this instant. */
  since?: string;
}

/** Requests everything that the source holds about one of its patients. */
export async function askEverything(
  context: SourceContext,
  patientId: string,
  options: EverythingOptions,
  signal: AbortSignal,
): Promise<EverythingResult> {
  const { config, http, capabilities } = context;
  const support = (await capabilities.read()).operations.everything;
  if (support === 'missing') return { kind: 'missing' };
  const send = (withTypes: boolean) =>
    http.send({
      method: 'GET',
      url: everythingUrl(context, patientId, withTypes, options),
      label: EVERYTHING,
      headers: {
        ...(options.async ? { prefer: 'respond-async' } : {}),
        ...(options.callbackUrl === undefined
          ? {}
          : { 'x-callback-url': options.callbackUrl }),
      },
      accept: FHIR_MEDIA_TYPE,
      keepsBeginning: options.count === 1,
      ...(options.async ? { abortGraceMs: JOB_NAMED_WITHIN_MS } : {}),
      signal,
    });

  const hasTypes = config.source !== 'hie';
  let response = await send(hasTypes);
  if (response.status === 400 && hasTypes) {
    // Not every server supports `_type` here. We filter the response anyway.
    await response.discard();
    response = await send(false);
  }
  if (response.status === 200)
    return {
      kind: 'page',
      response: await http.readJson(response, EVERYTHING),
    };
  if (response.status === 202) return accepted(context, response);
  // Without the time it may serve this request.
  if (
    options.since !== undefined &&
    [400, 422, 501].includes(response.status)
  ) {
    await response.discard();
    throw new ChangesNotHonoured('everything');
  }
  return missingOrThrow(context, response, support);
}

async function missingOrThrow(
  { config, capabilities }: SourceContext,
  response: SourceResponse,
  support: Support,
) {
  const error = await readError(response);
  if (!isMissingOperation(error, support))
    throw failureOfStatus(config.source, EVERYTHING, error);
  capabilities.noteMissing('everything');
  return { kind: 'missing' as const };
}

async function accepted(
  { config }: SourceContext,
  response: SourceResponse,
): Promise<EverythingResult> {
  await response.discard();
  const location =
    response.header('content-location') ?? response.header('location');
  if (location === undefined || !URL.canParse(location, response.url.href)) {
    throw badResponse(
      config.source,
      `accepted ${EVERYTHING} without a valid Content-Location for its status`,
    );
  }
  const statusUrl = addressOf(config, new URL(location, response.url.href));
  if (!isAllowedUrl(config, statusUrl)) {
    throw foreignOrigin(config, "put the job's status at", statusUrl);
  }
  return {
    kind: 'accepted',
    statusUrl: statusUrl.href,
    retryAfterMs: response.retryAfterMs,
  };
}

/**
 * `_type` limits the response to the types we keep; the HIE is asked for all
 * types.
 */
function everythingUrl(
  { config }: SourceContext,
  patientId: string,
  withTypes: boolean,
  { count = config.pageSize, since }: EverythingOptions,
): URL {
  const url = new URL(`Patient/${patientId}/$everything`, config.baseUrl);
  url.searchParams.set('_count', String(count));
  if (since !== undefined) url.searchParams.set('_since', since);
  if (withTypes) {
    const { clinical, supporting } = resourceTypesOf(config.source);
    url.searchParams.set('_type', [...clinical, ...supporting].join(','));
  }
  return url;
}
