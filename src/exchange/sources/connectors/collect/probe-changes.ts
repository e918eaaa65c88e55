import { queryOf } from '../../../../lib/query-of.ts';
import type { ChangesQuestion } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_JSON, type JsonResponse } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { bundleOf } from './bundle.ts';
import { askEverything } from './everything.ts';
import { isClinical, lastUpdatedMs, typeOf } from './only-changes.ts';
import type { StepOf } from './plan.ts';
import type { ResponseEntry } from './response-entry.ts';
import { isUnsupportedSearch, searchRequests } from './search-by-type.ts';

type Known = ChangesQuestion['newest'][number];

/** Nothing is stored later than this. */
const FUTURE_MS = 365 * 24 * 60 * 60_000;
/** More than the rounding of a server that stores times in seconds. */
const JUST_BEFORE_MS = 2_000;
/** A clock that is further off could hide more than the overlap of two queries covers. */
const SKEW_MAX_MS = 12 * 60 * 60_000;
const PROBED_COUNT = 50;

/**
 * Whether a server honours a time in this search: it finds a resource that it stored just after the time, does not find it
 * with a time in the future, and repeats the parameter in the link to itself.
 */
export async function honoursInSearch(
  context: SourceContext,
  known: Known,
  search: StepOf<'search'>,
  signal: AbortSignal,
): Promise<boolean> {
  const idsAfter = async (afterMs: number): Promise<unknown[] | undefined> => {
    const step = { ...search, since: new Date(afterMs).toISOString() };
    const entries = await answerTo(context, step, known.id, signal);
    return entries
      ?.filter((entry) => typeOf(entry) === known.resourceType)
      .map(({ resource }) => (isRecord(resource) ? resource.id : undefined));
  };
  if ((await idsAfter(context.now() + FUTURE_MS))?.length !== 0) return false;
  const found = await idsAfter(Date.parse(known.lastUpdated) - JUST_BEFORE_MS);
  return found?.length === 1 && found[0] === known.id;
}

async function answerTo(
  context: SourceContext,
  step: StepOf<'search'>,
  id: string,
  signal: AbortSignal,
): Promise<ResponseEntry[] | undefined> {
  const { config, http } = context;
  const label = `${step.type}/_search`;
  for (const request of searchRequests(context, step, { _id: id })) {
    const response = await http.send({ ...request, label, accept: FHIR_JSON, signal });
    if (response.status === 200) {
      const json = await http.readJson(response, label);
      return canBeTrusted(context, json, '_lastUpdated')
        ? bundleOf(config.source, label, json).entries
        : undefined;
    }
    if (!isUnsupportedSearch(response.status)) throw await http.failureOf(response, label);
    await response.discard();
  }
  return undefined;
}

/**
 * The same for `$everything`, of which only resources about the patient count: it may always return the Patient, and what
 * others refer to. `missing`: the server does not have the operation.
 */
export async function honoursInEverything(
  context: SourceContext,
  known: Known,
  patientId: string,
  signal: AbortSignal,
): Promise<boolean | 'missing'> {
  const after = async (afterMs: number): Promise<ResponseEntry[] | 'missing' | undefined> => {
    const options = { async: false, count: PROBED_COUNT, since: new Date(afterMs).toISOString() };
    const result = await askEverything(context, patientId, options, signal);
    if (result.kind === 'missing') return 'missing';
    if (result.kind === 'accepted') await drop(context, result.statusUrl, signal);
    if (result.kind !== 'page' || !canBeTrusted(context, result.response, '_since')) return undefined;
    const { entries } = bundleOf(context.config.source, 'Patient/$everything', result.response);
    return entries.filter((entry) => isClinical(context, entry));
  };
  const later = await after(context.now() + FUTURE_MS);
  if (later === 'missing') return 'missing';
  if (later?.length !== 0) return false;
  const afterMs = Date.parse(known.lastUpdated) - JUST_BEFORE_MS;
  const found = await after(afterMs);
  return Array.isArray(found) && found.length > 0 && found.every((entry) => lastUpdatedMs(entry) >= afterMs);
}

/** Cancels a job that was not asked for; a courtesy to the source. */
async function drop({ http }: SourceContext, statusUrl: string, signal: AbortSignal): Promise<void> {
  const url = new URL(statusUrl);
  await http
    .send({ method: 'DELETE', url, label: 'the cancellation of its job', signal })
    .then((response) => response.discard())
    .catch(() => undefined);
}

/** Whether the link to itself, if it has parameters, has this one, and the server's clock is not far off. */
function canBeTrusted({ now }: SourceContext, { json, date }: JsonResponse, parameter: string): boolean {
  const skewMs = date === undefined ? 0 : Math.abs(Date.parse(date) - now());
  const links: unknown[] = Array.isArray(json.link) ? json.link : [];
  const self = links.find((link) => isRecord(link) && link.relation === 'self');
  const url = isRecord(self) && typeof self.url === 'string' ? self.url : '';
  const query = new URLSearchParams(queryOf(url));
  return !(skewMs > SKEW_MAX_MS) && (query.size === 0 || query.has(parameter));
}
