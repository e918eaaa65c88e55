import { fetchedBundle } from './bundle-page.ts';
import { failureOfStatus } from './failures.ts';
import type { Fetched } from './fetched.ts';
import { FHIR_JSON, readError, type SourceRequest } from './http.ts';
import type { Step, StepOf } from './plan.ts';
import { includesOf, patientParameterOf, resourceTypesOf } from './resource-types.ts';
import type { SourceContext } from './source-context.ts';

/** For a source without $everything: one search for each type and patient, cut to what its statement lists. */
export async function searchSteps(
  { config, capabilities }: SourceContext,
  patientIds: string[],
): Promise<Step[]> {
  const { searchParameters } = await capabilities.read();
  const types = resourceTypesOf(config.source).clinical;
  const offered = searchParameters === undefined ? types : types.filter((type) => searchParameters.has(type));
  return (offered.length === 0 ? types : offered).flatMap((type) =>
    patientIds.map((patientId): StepOf<'search'> => {
      const parameter = parameterFor(type, searchParameters?.get(type));
      return { kind: 'search', type, parameter, patientId };
    }),
  );
}

function parameterFor(type: string, offered: ReadonlySet<string> | undefined): string {
  const usual = patientParameterOf(type);
  const hasOnlySubject = offered !== undefined && !offered.has(usual) && offered.has('subject');
  return hasOnlySubject && usual === 'patient' ? 'subject' : usual;
}

/**
 * Searches by POST with the resources referred to, then without those, then by GET (the address then holds an
 * opaque id, no more than `Patient/{id}` does). A type that the source cannot search that way is left out.
 */
export async function fetchSearch(
  context: SourceContext,
  step: StepOf<'search'>,
  signal: AbortSignal,
): Promise<Fetched> {
  const { config, http } = context;
  const label = `${step.type}/_search`;
  for (const question of variants(context, step)) {
    const answer = await http.send({ ...question, label, signal });
    if (answer.status === 200) {
      const json = await http.readJson(answer, label);
      return { ...fetchedBundle(context, label, json), isAnsweredSearch: true };
    }
    const error = await readError(answer);
    if (![400, 404, 405, 415, 422, 501].includes(error.status))
      throw failureOfStatus(config.source, label, error);
  }
  const nothing = Buffer.alloc(0);
  return {
    entries: [],
    raw: { bytes: nothing, contentType: FHIR_JSON },
    rawWithout: () => nothing,
    next: [],
    isAnsweredSearch: false,
  };
}

function variants(
  { config }: SourceContext,
  { type, parameter, patientId }: StepOf<'search'>,
): Array<Pick<SourceRequest, 'method' | 'url' | 'body'>> {
  const value = parameter === '_id' ? patientId : `Patient/${patientId}`;
  const plain = new URLSearchParams({ [parameter]: value, _count: String(config.pageSize) });
  const including = new URLSearchParams(plain);
  for (const include of includesOf(type)) including.append('_include', include);
  const forms = including.has('_include') ? [including, plain] : [plain];
  const getUrl = new URL(type, config.baseUrl);
  getUrl.search = plain.toString();
  return [
    ...forms.map((form) => ({
      method: 'POST' as const,
      url: new URL(`${type}/_search`, config.baseUrl),
      body: { text: form.toString(), contentType: 'application/x-www-form-urlencoded' },
    })),
    { method: 'GET', url: getUrl },
  ];
}
