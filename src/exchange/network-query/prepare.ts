import { v7 as uuidv7 } from 'uuid';
import type { NetworkQueryRequest, RequestedSource, SourceError } from '../../contract/network-query.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx } from '../store/database.ts';
import { countUse } from '../store/limits.ts';
import { insertQuery } from '../store/network-queries.ts';
import type { AccountSettings } from '../store/schema.ts';
import { tell } from '../store/timeline.ts';
import { callbackHash, callbackToken } from './callback-token.ts';

/** Network queries per source and minute, unless the account has its own (interface-decisions.md, Limits). */
const QUERIES_PER_MINUTE = 120;

export interface PrepareInput {
  account: { settings: AccountSettings };
  patient: { id: string; hieOptOut: boolean };
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  origin: 'interactive' | 'monitoring' | 'bulk';
}

/**
 * Writes a query and the first attempt of each source that can start, as part of the caller's transaction.
 * A source that cannot start becomes an entry of `errors`; the query is then that of the others (E2, rule 2).
 */
export async function prepareQuery(
  tx: AccountTx,
  input: PrepareInput,
  callbackKey: string,
): Promise<{ requestId: string; run: 0 | undefined }> {
  const requestId = uuidv7();
  const refused = input.request.sources.flatMap(({ source }) => refusal(source, input) ?? []);
  const allowed = input.request.sources.filter(
    ({ source }) => !refused.some((error) => error.source === source),
  );
  const limited = await overLimit(tx, input.account.settings, allowed);
  const startErrors = [...refused, ...limited];
  const starting = allowed.filter(({ source }) => !limited.some((error) => error.source === source));

  await insertQuery(tx, {
    id: requestId,
    patientId: input.patient.id,
    purposeOfUse: input.purposeOfUse,
    origin: input.origin,
    metadata: input.request.metadata ?? null,
    requested: input.request.sources,
    startErrors,
    starting: starting.map(({ source }) => ({
      source,
      callbackHash: callbackHash(callbackToken(callbackKey, requestId, source, 1)),
    })),
  });
  await tell(
    tx,
    requestId,
    {
      kind: 'query-accepted',
      message: `Query accepted for ${input.request.sources.map(({ source }) => source).join(', ')}`,
    },
    ...startErrors.map((error) => ({
      source: error.source,
      kind: 'source-not-started',
      message: error.message,
    })),
  );
  return { requestId, run: starting.length > 0 ? 0 : undefined };
}

/** Why a source may not be asked about this patient for this account, if it may not. */
export function refusal(
  source: SourceType,
  input: Pick<PrepareInput, 'account'> & { patient: Pick<PrepareInput['patient'], 'hieOptOut'> },
): SourceError | undefined {
  if (input.account.settings.sources?.[source]?.enabled !== true) {
    return sourceError(source, 400, `Access to the ${source} source is not enabled for this account`);
  }
  if (source === 'hie' && input.patient.hieOptOut) {
    return sourceError(source, 400, 'The patient has opted out of hie queries');
  }
  return undefined;
}

async function overLimit(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<SourceError[]> {
  const limit = settings.limits?.networkQueriesPerMinute ?? QUERIES_PER_MINUTE;
  const uses = await countUse(
    tx,
    sources.map(({ source }) => limitName(source)),
  );
  return sources.flatMap(({ source }) => {
    const use = uses.find((entry) => entry.name === limitName(source));
    if (use === undefined || use.used <= limit) return [];
    const seconds = Math.ceil(use.resetMs / 1000);
    return [
      sourceError(
        source,
        429,
        `Rate limit of ${limit} ${source} queries per minute exceeded; try again in ${seconds} s`,
      ),
    ];
  });
}

const limitName = (source: SourceType): string => `network-query/${source}`;

function sourceError(source: SourceType, httpStatus: number, message: string): SourceError {
  return { source, httpStatus, message, timestamp: new Date().toISOString() };
}
