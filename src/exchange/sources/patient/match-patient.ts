import type { Demographics } from '../../patients/rules/demographics.ts';
import { agreesWithPerson, describesPerson } from '../../patients/rules/patient-matching.ts';
import { isMissingOperation, type Support } from '../capabilities.ts';
import { type Bundle, bundleOf, resolveLink } from '../collect/bundle.ts';
import { SourceFailure } from '../connector.ts';
import { badResponse, failureOfStatus, isRecord } from '../http/failures.ts';
import { FHIR_JSON, type JsonResponse, readError } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { linkedPatients } from './linked-patients.ts';
import { type ReadPatient, readPatient } from './patient-shape.ts';
import { IDENTIFYING_PARAMETERS, matchParameters, searchForm } from './person-query.ts';

const MATCH = 'Patient/$match';
const SEARCH = 'Patient/_search';
const CANDIDATES_MAX = 20;
const SEARCH_PAGE_SIZE = 100;
const SEARCH_PAGES_MAX = 10;
/** From this `search.score` on, the source claims a certain match. */
const SCORE_CERTAIN = 0.9;

/**
 * The person's Patient ids at the source; empty when the source does not know the person. There may be several, found
 * together or linked to each other. Each is trusted only if our own matching accepts it.
 *
 * Other Patients in a response are ignored unless the source claims that they are our person. A `$match` result is a claim
 * unless it is graded lower than certain. If no result is our person and one that is claimed has another name, birth date
 * or gender, the response is bad: such a source might send another person's records. A Patient that agrees in these but
 * shares no address, phone or identifier is not proven to be our person, so the source counts as not knowing the person.
 * A search claims nothing: namesakes, or all patients of a server that ignores the parameters, mean "unknown" as well.
 */
export async function findPatientIds(
  context: SourceContext,
  person: Demographics,
  signal: AbortSignal,
): Promise<string[]> {
  const { match } = (await context.capabilities.read()).operations;
  const matched = match === 'missing' ? undefined : await askMatch(context, person, match, signal);
  const found = matched ?? (await search(context, person, signal));
  const trusted = found.filter((patient) => describesPerson(person, patient));
  return linkedPatients(context, person, trusted, signal);
}

/** Undefined when the source has no `$match`. */
async function askMatch(
  { config, http, capabilities }: SourceContext,
  person: Demographics,
  support: Support,
  signal: AbortSignal,
): Promise<ReadPatient[] | undefined> {
  const response = await http.send({
    method: 'POST',
    url: new URL(MATCH, config.baseUrl),
    label: MATCH,
    body: { text: JSON.stringify(matchParameters(person, CANDIDATES_MAX)), contentType: FHIR_JSON },
    signal,
  });
  if (response.status !== 200) {
    const error = await readError(response);
    if (!isMissingOperation(error, support)) throw failureOfStatus(config.source, MATCH, error);
    capabilities.noteMissing('match');
    return undefined;
  }
  const json = await http.readJson(response, MATCH);
  const patients = patientsOf(bundleOf(config.source, MATCH, json));
  const isFound = patients.some((patient) => describesPerson(person, patient));
  if (!isFound && claimedPatients(json).some((patient) => !agreesWithPerson(person, patient))) {
    throw badResponse(config.source, `answered ${MATCH} with another patient`);
  }
  return patients;
}

/** The Patients that the source claims to be the requested person. */
function claimedPatients({ json }: JsonResponse): ReadPatient[] {
  const entries: unknown[] = Array.isArray(json.entry) ? json.entry : [];
  return entries.flatMap((entry) => {
    return isRecord(entry) && isClaim(entry.search) ? (readPatient(entry.resource) ?? []) : [];
  });
}

function isClaim(search: unknown): boolean {
  if (!isRecord(search)) return true;
  if (search.mode !== undefined && search.mode !== 'match') return false;
  const extensions: unknown[] = Array.isArray(search.extension) ? search.extension : [];
  const grade = extensions.find(
    (extension) => isRecord(extension) && String(extension.url).endsWith('/match-grade'),
  );
  if (isRecord(grade)) return grade.valueCode === 'certain';
  return typeof search.score !== 'number' || search.score >= SCORE_CERTAIN;
}

async function search(
  { config, http }: SourceContext,
  person: Demographics,
  signal: AbortSignal,
): Promise<ReadPatient[]> {
  const found: ReadPatient[] = [];
  const post = (form: string) => ({
    method: 'POST' as const,
    url: new URL(SEARCH, config.baseUrl),
    body: { text: form, contentType: 'application/x-www-form-urlencoded' },
  });
  let request: ReturnType<typeof post> | { method: 'GET'; url: URL } = post(
    searchForm(person, SEARCH_PAGE_SIZE).toString(),
  );
  for (let page = 1; page <= SEARCH_PAGES_MAX; page += 1) {
    const response = await http.send({ ...request, label: SEARCH, signal });
    if (response.status !== 200) {
      if (page > 1 || ![404, 405, 501].includes(response.status))
        throw await http.failureOf(response, SEARCH);
      await response.discard();
      throw new SourceFailure('refused', `${config.source} supports neither ${MATCH} nor POST ${SEARCH}`, {
        httpStatus: response.status,
      });
    }
    const json = await http.readJson(response, SEARCH);
    const bundle = bundleOf(config.source, SEARCH, json);
    found.push(...patientsOf(bundle));
    if (bundle.next === undefined) return found;
    const url = resolveLink(bundle.next, json.url, config.baseUrl);
    if (url === undefined)
      throw badResponse(config.source, `answered ${SEARCH} with a next link that is not a valid URL`);
    // A link that repeats our parameters would put the person's name into a URL, so they are sent as a form again.
    const isIdentifying = IDENTIFYING_PARAMETERS.some((name) => url.searchParams.has(name));
    request = isIdentifying ? post(url.searchParams.toString()) : { method: 'GET', url };
  }
  if (found.some((patient) => describesPerson(person, patient))) return found;
  throw badResponse(
    config.source,
    `answered ${SEARCH} with more patients than can share one name and birth date`,
  );
}

function patientsOf(bundle: Bundle): ReadPatient[] {
  return bundle.entries.flatMap(({ resource }) => readPatient(resource) ?? []);
}
