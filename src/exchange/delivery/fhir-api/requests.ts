import type { FastifyRequest } from 'fastify';
import { queryOf } from '../../../lib/query-of.ts';
import { typesOfScopes } from '../../access/fhir-clients/rules/fhir-scopes.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import {
  ExchangeError,
  ForbiddenError,
  InvalidRequestError,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { createReadAudit } from '../../platform/http/write.ts';
import type { RecordCompleteness } from '../../records/reading/completeness.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { PageCursors } from './bundles.ts';
import {
  pairsOfParameters,
  type SearchFault,
  type SearchPair,
} from './rules/search-request.ts';

/** What the routes of the FHIR API use. */
export interface FhirDeps extends Pick<GatewayPlatform, 'store' | 'idHmacKey'> {
  records: RecordKeeper;
  cursors: PageCursors;
  audit: ReturnType<typeof createFhirReadAudit>;
  /** Path of the FHIR API: its own, or that of the responder. */
  path: string;
  /** URL of the FHIR API, without a trailing slash. */
  base: string;
  /**
   * Networks read: what the account contributed, through a `store` that reads
   * nothing else, and Patients by $match only.
   */
  isResponder: boolean;
  /**
   * Identifies a person for $match among all patients of the account; only
   * `store` shows anything.
   */
  finder: Pick<Store, 'asAccount'>;
  /**
   * How complete the record is; undefined for networks, because that says what
   * was retrieved from others.
   */
  readStanding(
    tx: AccountTx,
    patientId: string,
  ): Promise<RecordCompleteness | undefined>;
}

/**
 * The parameters of the URL, and of a form or of Parameters in the body, in
 * order. A reference to a resource of this server by its whole URL is the same
 * as the relative one.
 *
 * @param base URL of the FHIR API, without a trailing slash
 */
export function pairsOf(request: FastifyRequest, base?: string): SearchPair[] {
  const query = queryOf(request.url);
  const form =
    request.body instanceof URLSearchParams
      ? [...request.body]
      : (pairsOfParameters(request.body) ?? []);
  return [...new URLSearchParams(query), ...form].map(([name, value]) => [
    name,
    base !== undefined && value.startsWith(`${base}/`)
      ? value.slice(base.length + 1)
      : value,
  ]);
}

/**
 * @throws InvalidRequestError for a body that is neither Parameters nor a form:
 *   it would have no effect
 */
export function requireParameters({ body }: FastifyRequest): void {
  if (
    (body ?? undefined) !== undefined &&
    !(body instanceof URLSearchParams) &&
    !pairsOfParameters(body)
  )
    throw new InvalidRequestError([
      { path: 'resourceType', message: 'of the body must be Parameters' },
    ]);
}

const JSON_OR_ANY = /json|\*\/\*|application\/\*/i;
const JSON_FORMAT = /^(?:json|application\/(?:fhir\+)?json)\s*(?:;|$)/i;

/**
 * @throws ExchangeError 406 for a request that accepts no JSON, by `_format` or
 *   else by the header Accept
 */
export async function requireJson(request: FastifyRequest): Promise<void> {
  const format = pairsOf(request)
    .find(([name]) => name === '_format')?.[1]
    .replace(' ', '+');
  const { accept } = request.headers;
  const isJson =
    format === undefined
      ? accept === undefined || JSON_OR_ANY.test(accept)
      : JSON_FORMAT.test(format);
  if (!isJson)
    throw new ExchangeError(
      406,
      'Only JSON is served here: send Accept: application/fhir+json, or _format=json',
    );
}

/**
 * Whether the header Prefer contains the preference, such as `respond-async` or
 * `handling=strict`.
 */
export const prefers = (
  { headers }: FastifyRequest,
  preference: string,
): boolean =>
  [headers.prefer ?? '']
    .flat()
    .join(',')
    .split(/[,;]/)
    .some((each) => each.replaceAll(/[\s"]/g, '').toLowerCase() === preference);

/**
 * @throws InvalidRequestError for faults, and with strict handling also for
 *   ignored parameters
 */
export function checkSearch(
  request: FastifyRequest,
  {
    faults,
    ignored,
  }: { faults: readonly SearchFault[]; ignored: readonly string[] },
): void {
  const unknown = prefers(request, 'handling=strict')
    ? ignored.map((parameter) => ({
        parameter,
        message: 'is not supported here',
      }))
    : [];
  const all = [...faults, ...unknown];
  if (all.length > 0)
    throw new InvalidRequestError(
      all.map(({ parameter, message }) => ({ path: parameter, message })),
    );
}

/**
 * The types that the caller's token permits; undefined means all, as with an
 * API key.
 */
const typesOf = (request: FastifyRequest): ReadonlySet<string> | undefined =>
  typesOfScopes(callerOf(request).fhirScopes ?? ['system/*.rs']);

export const mayRead = (request: FastifyRequest, type: string): boolean =>
  typesOf(request)?.has(type) !== false;

/** @throws ForbiddenError when the caller's token does not permit the type */
export function requireScope(request: FastifyRequest, type: string): void {
  if (mayRead(request, type)) return;
  const scopes = callerOf(request).fhirScopes ?? [];
  throw new ForbiddenError(
    `This requires the scope system/${type}.rs; your token has: ${scopes.join(' ')}`,
  );
}

/**
 * The requested types, or without any those that the caller may read; undefined
 * means all.
 *
 * @throws ForbiddenError when the caller's token does not permit one of the
 *   requested types, or none at all
 */
export function permittedTypes(
  request: FastifyRequest,
  requested: readonly string[] | undefined,
): string[] | undefined {
  for (const type of requested ?? []) requireScope(request, type);
  const types = typesOf(request);
  if (types?.size === 0) requireScope(request, '*');
  return requested === undefined ? types && [...types].sort() : [...requested];
}

/**
 * @param named the name of the operation in the audit; default: that of the
 *   route
 */
export function createFhirReadAudit(
  store: Store,
  named?: (request: FastifyRequest) => string,
) {
  const audit = createReadAudit(store);
  return {
    /**
     * Writes an entry for each patient whose data the response contains, before
     * it is sent; without one, a single entry.
     */
    async write(
      request: FastifyRequest,
      patientIds: readonly string[],
      targetId?: string,
    ): Promise<void> {
      const { account, actor } = callerOf(request);
      const operation =
        named?.(request) ?? request.routeOptions.config.operation ?? 'unknown';
      const record = {
        accountId: account.id,
        actor,
        operation,
        outcome: '200',
        remoteAddress: request.ip,
      };
      const patients =
        patientIds.length === 0 ? [undefined] : [...new Set(patientIds)];
      await Promise.all(
        patients.map((patientId) =>
          audit.run({ ...record, patientId, targetId }),
        ),
      );
    },
  };
}
