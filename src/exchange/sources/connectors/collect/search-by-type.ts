import type { SourceType } from '../../../../contract/primitives.ts';
import type { SourceContext } from '../capabilities.ts';
import { ChangesNotHonoured, type Reported } from '../connector.ts';
import { failureOfStatus, type SourceErrorResponse } from '../http/failures.ts';
import { readError, type SourceRequest } from '../http/source-http.ts';
import { fetchedBundle, namesOf } from './bundle-page.ts';
import { documentSearches } from './documents.ts';
import { missingReads } from './medications.ts';
import { emptyPart, type FetchedPart, type Plan, type StepOf } from './plan.ts';
import {
  neededTypesOf,
  patientParameterOf,
  refersToMedication,
  searchedTypesOf,
} from './resource-types.ts';

/**
 * The steps for a source without $everything: one search per type that its
 * CapabilityStatement lists, and for the types without which a record says
 * little, whether it lists them or not. When it lists none of these, all of our
 * types are tried; but a server that calls itself a document responder of IHE
 * MHD keeps them in its documents.
 */
export async function searchSteps(
  context: SourceContext,
  patientId: string,
): Promise<StepOf<'search'>[]> {
  const { searchParameters, documentSearch } =
    await context.capabilities.read();
  const types = searchedTypesOf(context.config.source);
  const needed = neededTypesOf(context.config.source);
  const isThin =
    searchParameters === undefined ||
    !needed.some((type) => searchParameters.has(type));
  const isOfDocumentsOnly =
    documentSearch &&
    !needed.some(
      (type) => type !== 'DocumentReference' && searchParameters?.has(type),
    );
  const asked =
    isOfDocumentsOnly && searchParameters !== undefined
      ? types.filter((type) => searchParameters.has(type))
      : types.filter(
          (type) =>
            isThin || searchParameters.has(type) || needed.includes(type),
        );
  return asked.flatMap((type): StepOf<'search'>[] => {
    const parameter = parameterFor(type, searchParameters?.get(type));
    const value = parameter === '_id' ? patientId : `Patient/${patientId}`;
    if (type === 'DocumentReference' && documentSearch)
      return documentSearches(parameter, value);
    return [{ kind: 'search', type, parameter, value }];
  });
}

function parameterFor(
  type: string,
  offered: ReadonlySet<string> | undefined,
): string {
  const usual = patientParameterOf(type);
  const hasOnlySubject =
    offered !== undefined && !offered.has(usual) && offered.has('subject');
  return hasOnlySubject && usual === 'patient' ? 'subject' : usual;
}

/**
 * Searches by POST, otherwise by GET (the URL then contains an opaque id, as
 * `Patient/{id}` does). A type that the source cannot search either way, or
 * that we may not see, yields no entries.
 */
export async function fetchSearch(
  context: SourceContext,
  step: StepOf<'search'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const { config, http } = context;
  const label = `${step.type}/_search`;
  let lastError: SourceErrorResponse | undefined;
  for (const request of searchRequests(context, step)) {
    const response = await http.send({
      ...request,
      label,
      keepsBeginning: step.count === 1,
      signal,
    });
    if (response.status === 200) {
      const json = await http.readJson(response, label);
      const trail = {
        searchedType: step.type,
        count: step.count,
        origin: step,
        counted: [],
      };
      const fetched = fetchedBundle(context, label, json, trail);
      const missing =
        step.parameter === '_id' && step.since === undefined
          ? missingReads(step, fetched.entries)
          : [];
      return {
        ...fetched,
        next: [...fetched.next, ...missing],
        isAnsweredSearch: true,
      };
    }
    const error = await readError(response);
    const failure = failureOfStatus(config.source, label, error);
    // A server may permit one type and forbid another, and may forbid only the
    // POST.
    const isForbidden = failure.kind === 'denied' && error.status === 403;
    if (!isForbidden && !isUnsupportedSearch(error.status)) throw failure;
    if (lastError?.status !== 403) lastError = error;
  }
  // A server that says that it lists documents must not seem to have none.
  if (step.status === 'current' && lastError !== undefined)
    throw failureOfStatus(config.source, label, lastError);
  // Without the time it may serve this search.
  const isForbidden = lastError?.status === 403;
  if (step.since !== undefined && !isForbidden)
    throw new ChangesNotHonoured(step.type);
  return {
    ...emptyPart(),
    isAnsweredSearch: false,
    [isForbidden ? 'forbidden' : 'refused']: [step.type],
  };
}

/**
 * What the record lacks because the source forbids a search or does not serve
 * one that every query needs, and which others it does not serve.
 */
export function refusedTypes(
  source: SourceType,
  { refused = [], forbidden = [] }: Plan,
): Reported {
  const types = [...new Set(refused)];
  const isNeeded = (type: string) => neededTypesOf(source).includes(type);
  const said = (words: string, of: readonly string[]) =>
    of.length === 0 ? [] : [`${words} ${namesOf(of)}`];
  return {
    gaps: [
      ...said('the source could not be asked for', types.filter(isNeeded)),
      ...said('the source forbids us (403) to search for', [
        ...new Set(forbidden),
      ]),
    ],
    warnings: said(
      'the source has no search for',
      types.filter((type) => !isNeeded(type)),
    ),
  };
}

const changedSince = (since: string | undefined): Record<string, string> =>
  since === undefined ? {} : { _lastUpdated: `gt${since}` };

/**
 * Whether a status says that the server does not serve a search, at least not
 * in this form.
 */
export const isUnsupportedSearch = (status: number): boolean =>
  [400, 404, 405, 415, 422, 501].includes(status);

/** The search as POST and as GET, in the order in which they are tried. */
export function searchRequests(
  { config }: SourceContext,
  {
    type,
    parameter,
    value,
    status,
    since,
    count = config.pageSize,
  }: StepOf<'search'>,
  further: Record<string, string> = {},
): Array<Pick<SourceRequest, 'method' | 'url' | 'headers' | 'body'>> {
  const parameters = {
    [parameter]: value,
    ...further,
    ...(status === undefined ? {} : { status }),
    ...changedSince(since),
    _count: String(count),
  };
  const form = new URLSearchParams(parameters);
  if (refersToMedication(type) && further._summary === undefined)
    form.set('_include', `${type}:medication`);
  const getUrl = new URL(type, config.baseUrl);
  getUrl.search = new URLSearchParams(parameters).toString();
  // Some servers repeat an earlier result for a while.
  const headers = { 'cache-control': 'no-cache' };
  return [
    {
      method: 'POST',
      headers,
      url: new URL(`${type}/_search`, config.baseUrl),
      body: {
        text: form.toString(),
        contentType: 'application/x-www-form-urlencoded',
      },
    },
    { method: 'GET', headers, url: getUrl },
  ];
}
