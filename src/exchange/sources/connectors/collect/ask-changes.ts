import { type ChangesQuestion, type HonouredChanges, SourceFailure } from '../connector.ts';
import type { SourceContext } from '../source-context.ts';
import { isClinical } from './only-changes.ts';
import type { Step, StepOf } from './plan.ts';
import { honoursInEverything, honoursInSearch } from './probe-changes.ts';
import { searchSteps } from './search-by-type.ts';
import { SUPPORTING_TYPES, supportingSearches } from './supporting.ts';

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
 * Decides whether a source can be asked for changes only. `$everything` is preferred, as for complete answers; a source
 * without it is searched by type. What is not yet known about the server is found out with the resources that the record holds.
 */
export async function howToAsk(
  context: SourceContext,
  patientIds: readonly string[],
  question: ChangesQuestion | undefined,
  signal: AbortSignal,
): Promise<HowToAsk> {
  if (question === undefined || question.honoured['*'] === false) return EVERYTHING;
  if (!isSame(patientIds, question.patientIds)) return EVERYTHING;
  try {
    return await decide(context, patientIds, question, signal);
  } catch (error) {
    // The server did not manage the question: ask for everything, and find out the next time.
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
  if (inEverything !== 'missing') return inEverything ? { everythingSince: since, checked } : { checked };
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
  const lacksMedications = !types.has('Medication') && supporting.some(isMedication);
  return types.size === 0 || lacksMedications ? { checked } : { searchesSince: { since, types }, checked };

  async function check(known: ChangesQuestion['newest'][number], step: StepOf<'search'>): Promise<boolean> {
    return (
      (await statesLastUpdated(context, step.type)) && (await honoursInSearch(context, known, step, signal))
    );
  }

  async function everythingHonours(): Promise<boolean | 'missing'> {
    if ((await context.capabilities.read()).operations.everything === 'missing') return 'missing';
    if (honoured.everything !== undefined) return honoured.everything;
    const clinical = newest.filter((resource) => isClinical(context, { resource }));
    const [known] = clinical.sort((a, b) => Date.parse(b.lastUpdated) - Date.parse(a.lastUpdated));
    if (known === undefined) return false;
    const isHonoured = await honoursInEverything(context, known, patientId, signal);
    if (isHonoured !== 'missing') checked.everything = isHonoured;
    return isHonoured;
  }
}

const isMedication = ({ resourceType }: { resourceType: string }): boolean => resourceType === 'Medication';

/** Whether the CapabilityStatement names the parameter for this type, or names no parameters at all. */
async function statesLastUpdated(context: SourceContext, type: string): Promise<boolean> {
  const stated = (await context.capabilities.read()).searchParameters?.get(type);
  return stated === undefined || stated.size === 0 || stated.has('_lastUpdated');
}

const byId = ({ resourceType: type, id }: ChangesQuestion['newest'][number]): StepOf<'search'> | undefined =>
  SUPPORTING_TYPES.some((supporting) => supporting === type)
    ? { kind: 'search', type, parameter: '_id', value: id }
    : undefined;

/** The searches of a source for what has changed: those of a complete answer, with the time where it is honoured. */
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
    ...searches.map((step) => (step.status === undefined ? { ...step, since: sinceOf(step.type) } : step)),
    // They may have changed without the resources that refer to them.
    ...supportingSearches(supporting.filter(({ resourceType }) => types.has(resourceType))).map((step) => ({
      ...step,
      since,
    })),
  ];
}

const isSame = (ids: readonly string[], before: readonly string[]): boolean =>
  ids.length === before.length && ids.every((id) => before.includes(id));
