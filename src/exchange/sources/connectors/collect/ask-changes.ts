import { queryOf } from '../../../../lib/query-of.ts';
import type { SourceContext } from '../capabilities.ts';
import {
  ChangesNotHonoured,
  type ChangesQuestion,
  type HonouredChanges,
  SourceFailure,
} from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_MEDIA_TYPE, type JsonResponse } from '../http/source-http.ts';
import { bundleOf } from './bundle-page.ts';
import { askEverything } from './everything.ts';
import type { Plan, ResponseEntry, Step, StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import {
  isUnsupportedSearch,
  searchRequests,
  searchSteps,
} from './search-by-type.ts';
import { supportingSearches, UNSEARCHED_TYPES } from './supporting.ts';

/** How a source is asked about a person. */
export interface HowToAsk {
  /** Ask `$everything` for changes since then. */
  everythingSince?: string;
  /** Ask searches for changes since then, of these types. */
  searchesSince?: { since: string; types: ReadonlySet<string> };
  /** What has been found out about the server. */
  checked: HonouredChanges;
}

export const EVERYTHING: HowToAsk = { checked: {} };

/**
 * Decides whether a source can be asked for changes only. `$everything` is
 * preferred, as for complete answers; a source without it is searched by type.
 * What is not yet known about the server is found out with the resources that
 * the record holds.
 */
export async function howToAsk(
  context: SourceContext,
  patientIds: readonly string[],
  question: ChangesQuestion | undefined,
  signal: AbortSignal,
): Promise<HowToAsk> {
  if (question === undefined || question.honoured['*'] === false)
    return EVERYTHING;
  if (!isSame(patientIds, question.patientIds)) return EVERYTHING;
  try {
    return await decide(context, patientIds, question, signal);
  } catch (error) {
    // The server did not manage the question: ask for everything, and find out
    // the next time.
    if (error instanceof SourceFailure && !signal.aborted) return EVERYTHING;
    throw error;
  }
}

async function decide(
  context: SourceContext,
  patientIds: readonly string[],
  { since, newest, supporting, honoured }: ChangesQuestion,
  signal: AbortSignal,
): Promise<HowToAsk> {
  const [patientId = ''] = patientIds;
  // Only what this call finds out: a known result keeps its age.
  const checked: Record<string, boolean> = {};
  const inEverything = await everythingHonours();
  if (inEverything !== 'missing')
    return inEverything ? { everythingSince: since, checked } : { checked };
  const types = new Set<string>();
  const searches = await searchSteps(context, patientId);
  for (const known of newest) {
    const { resourceType: type } = known;
    const step = searches.find((search) => search.type === type) ?? byId(known);
    if (step === undefined || step.status !== undefined) continue;
    const isHonoured = honoured[type] ?? (await check(known, step));
    if (honoured[type] === undefined) checked[type] = isHonoured;
    if (isHonoured) types.add(type);
  }
  // A corrected Medication changes what its prescriptions say.
  const lacksMedications =
    !types.has('Medication') && supporting.some(isMedication);
  return types.size === 0 || lacksMedications
    ? { checked }
    : { searchesSince: { since, types }, checked };

  async function check(
    known: ChangesQuestion['newest'][number],
    step: StepOf<'search'>,
  ): Promise<boolean> {
    return (
      (await statesLastUpdated(context, step.type)) &&
      (await honoursInSearch(context, known, step, signal))
    );
  }

  async function everythingHonours(): Promise<boolean | 'missing'> {
    if ((await context.capabilities.read()).operations.everything === 'missing')
      return 'missing';
    if (honoured.everything !== undefined) return honoured.everything;
    const clinical = newest.filter((resource) =>
      isClinical(context, { resource }),
    );
    const [known] = clinical.sort(
      (a, b) => Date.parse(b.lastUpdated) - Date.parse(a.lastUpdated),
    );
    if (known === undefined) return false;
    const isHonoured = await honoursInEverything(
      context,
      known,
      patientId,
      signal,
    );
    if (isHonoured !== 'missing') checked.everything = isHonoured;
    return isHonoured;
  }
}

const isMedication = ({ resourceType }: { resourceType: string }): boolean =>
  resourceType === 'Medication';

/**
 * Whether the CapabilityStatement names the parameter for this type, or names
 * no parameters at all.
 */
async function statesLastUpdated(
  context: SourceContext,
  type: string,
): Promise<boolean> {
  const stated = (await context.capabilities.read()).searchParameters?.get(
    type,
  );
  return (
    stated === undefined || stated.size === 0 || stated.has('_lastUpdated')
  );
}

const byId = ({
  resourceType: type,
  id,
}: ChangesQuestion['newest'][number]): StepOf<'search'> | undefined =>
  UNSEARCHED_TYPES.some((supporting) => supporting === type)
    ? { kind: 'search', type, parameter: '_id', value: id }
    : undefined;

/**
 * The searches of a source for what has changed: those of a complete answer,
 * with the time where it is honoured.
 */
export async function searchStepsFor(
  context: SourceContext,
  patientId: string,
  how: HowToAsk,
  { supporting }: Pick<ChangesQuestion, 'supporting'> = { supporting: [] },
): Promise<Step[]> {
  const { searchesSince } = how;
  const searches = await searchSteps(context, patientId);
  if (searchesSince === undefined) return searches;
  const { since, types } = searchesSince;
  const sinceOf = (type: string) => (types.has(type) ? since : undefined);
  return [
    // Documents, where they are listed by status, are listed completely.
    ...searches.map((step) =>
      step.status === undefined ? { ...step, since: sinceOf(step.type) } : step,
    ),
    // They may have changed without the resources that refer to them.
    ...supportingSearches(
      supporting.filter(({ resourceType }) => types.has(resourceType)),
    ).map((step) => ({
      ...step,
      since,
    })),
  ];
}

const isSame = (ids: readonly string[], before: readonly string[]): boolean =>
  ids.length === before.length && ids.every((id) => before.includes(id));

type Known = ChangesQuestion['newest'][number];

/** Nothing is stored later than this. */
const FUTURE_MS = 365 * 24 * 60 * 60_000;
/** More than the rounding of a server that stores times in seconds. */
const JUST_BEFORE_MS = 2_000;
/**
 * A clock that is further off could hide more than the overlap of two queries
 * covers.
 */
const SKEW_MAX_MS = 12 * 60 * 60_000;
const PROBED_COUNT = 50;

/**
 * Whether a server honours a time in this search: it finds a resource that it
 * stored just after the time, does not find it with a time in the future, and
 * repeats the parameter in the link to itself.
 */
async function honoursInSearch(
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
    const response = await http.send({
      ...request,
      label,
      accept: FHIR_MEDIA_TYPE,
      signal,
    });
    if (response.status === 200) {
      const json = await http.readJson(response, label);
      return canBeTrusted(context, json, '_lastUpdated')
        ? bundleOf(config.source, label, json).entries
        : undefined;
    }
    if (!isUnsupportedSearch(response.status))
      throw await http.failureOf(response, label);
    await response.discard();
  }
  return undefined;
}

/**
 * The same for `$everything`, of which only resources about the patient count:
 * it may always return the Patient, and what others refer to. `missing`: the
 * server does not have the operation.
 */
async function honoursInEverything(
  context: SourceContext,
  known: Known,
  patientId: string,
  signal: AbortSignal,
): Promise<boolean | 'missing'> {
  const after = async (
    afterMs: number,
  ): Promise<ResponseEntry[] | 'missing' | undefined> => {
    const options = {
      async: false,
      count: PROBED_COUNT,
      since: new Date(afterMs).toISOString(),
    };
    const result = await askEverything(context, patientId, options, signal);
    if (result.kind === 'missing') return 'missing';
    if (result.kind === 'accepted')
      await drop(context, result.statusUrl, signal);
    if (
      result.kind !== 'page' ||
      !canBeTrusted(context, result.response, '_since')
    )
      return undefined;
    const { entries } = bundleOf(
      context.config.source,
      'Patient/$everything',
      result.response,
    );
    return entries.filter((entry) => isClinical(context, entry));
  };
  const later = await after(context.now() + FUTURE_MS);
  if (later === 'missing') return 'missing';
  if (later?.length !== 0) return false;
  const afterMs = Date.parse(known.lastUpdated) - JUST_BEFORE_MS;
  const found = await after(afterMs);
  return (
    Array.isArray(found) &&
    found.length > 0 &&
    found.every((entry) => lastUpdatedMs(entry) >= afterMs)
  );
}

/** Cancels a job that was not asked for; a courtesy to the source. */
async function drop(
  { http }: SourceContext,
  statusUrl: string,
  signal: AbortSignal,
): Promise<void> {
  const url = new URL(statusUrl);
  await http
    .send({
      method: 'DELETE',
      url,
      label: 'the cancellation of its job',
      signal,
    })
    .then((response) => response.discard())
    .catch(() => undefined);
}

/**
 * Whether the link to itself, if it has parameters, has this one, and the
 * server's clock is not far off.
 */
function canBeTrusted(
  { now }: SourceContext,
  { json, date }: JsonResponse,
  parameter: string,
): boolean {
  const skewMs = date === undefined ? 0 : Math.abs(Date.parse(date) - now());
  const links: unknown[] = Array.isArray(json.link) ? json.link : [];
  const self = links.find((link) => isRecord(link) && link.relation === 'self');
  const url = isRecord(self) && typeof self.url === 'string' ? self.url : '';
  const query = new URLSearchParams(queryOf(url));
  return !(skewMs > SKEW_MAX_MS) && (query.size === 0 || query.has(parameter));
}

/**
 * Servers that store times in seconds return resources of the second in which
 * the asked time lies.
 */
const ROUNDING_MS = 2_000;

/**
 * Throws ChangesNotHonoured when the response to a request for changes contains
 * something older, or something without a time. `$everything` may always return
 * the Patient and what other resources refer to, a search what it includes.
 */
export function ensureOnlyChanges(
  context: SourceContext,
  plan: Plan,
  step: Step,
  entries: readonly ResponseEntry[],
): void {
  const request = requestOf(plan, step);
  if (request?.since === undefined) return;
  const sinceMs = Date.parse(request.since) - ROUNDING_MS;
  const counts = (entry: ResponseEntry) =>
    request.type === undefined
      ? isClinical(context, entry)
      : typeOf(entry) === request.type;
  // Also false for a resource without a time.
  const isChange = (entry: ResponseEntry) => lastUpdatedMs(entry) >= sinceMs;
  if (entries.some((entry) => counts(entry) && !isChange(entry)))
    throw new ChangesNotHonoured(request.type ?? 'everything');
}

/**
 * What a step's response answers: a search for a type, or `$everything` when it
 * has no type.
 */
function requestOf(
  plan: Plan,
  step: Step,
): { since?: string; type?: string } | undefined {
  const request = step.kind === 'link' ? (step.origin ?? step) : step;
  switch (request.kind) {
    case 'search':
    case 'supporting':
      return { since: request.since, type: request.type };
    case 'everything':
      return { since: request.since };
    case 'job':
    case 'file':
    case 'link':
      return { since: plan.since };
    case 'read':
    case 'documents':
      return undefined;
  }
}

/** Whether an entry is about the patient, other than the Patient itself. */
function isClinical({ config }: SourceContext, entry: ResponseEntry): boolean {
  const type = typeOf(entry);
  return (
    type !== undefined &&
    type !== 'Patient' &&
    resourceTypesOf(config.source).clinical.includes(type)
  );
}

/** NaN for a resource without a time. */
function lastUpdatedMs({ resource }: ResponseEntry): number {
  const meta = isRecord(resource) ? resource.meta : undefined;
  return isRecord(meta) && typeof meta.lastUpdated === 'string'
    ? Date.parse(meta.lastUpdated)
    : Number.NaN;
}

const typeOf = ({ resource }: ResponseEntry): string | undefined =>
  isRecord(resource) && typeof resource.resourceType === 'string'
    ? resource.resourceType
    : undefined;
