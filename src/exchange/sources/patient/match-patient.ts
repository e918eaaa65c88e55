import type { Demographics } from '../../patients/rules/demographics.ts';
import { agreesWithPerson, describesPerson } from '../../patients/rules/patient-matching.ts';
import { type Bundle, bundleOf, resolveLink } from '../answer/bundle.ts';
import { isMissingOperation, type Support } from '../capabilities.ts';
import { SourceFailure } from '../connector.ts';
import { badAnswer, failureOfStatus, isRecord } from '../http/failures.ts';
import { FHIR_JSON, type JsonAnswer, readError } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { linkedPatients } from './linked-patients.ts';
import { type ReadPatient, readPatient } from './patient-shape.ts';
import { IDENTIFYING_PARAMETERS, matchParameters, searchForm } from './person-query.ts';

const MATCH = 'Patient/$match';
const SEARCH = 'Patient/_search';
const CANDIDATES_MAX = 20;
const SEARCH_PAGE_SIZE = 100;
const SEARCH_PAGES_MAX = 10;
/** From here on a `search.score` says "this is the one". */
const SCORE_CERTAIN = 0.9;

/**
 * The ids under which the source knows this person; none when it does not know them. A person may have several
 * records there, found together or linked to each other; all of them are trusted only after our own matching.
 *
 * Others in an answer are ignored as long as the source does not claim them to be our person. `$match` claims
 * so unless it grades them lower: when all it claims is somebody of another name, birth date or gender, the answer
 * is bad, for nobody could tell what such a source would send next. Somebody who agrees in these but shares no
 * address, phone or identifier stays unproven: the source then does not know our person. A search claims nothing:
 * namesakes, or everybody where a server ignores the parameters, likewise mean "unknown".
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
  const answer = await http.send({
    method: 'POST',
    url: new URL(MATCH, config.baseUrl),
    label: MATCH,
    body: { text: JSON.stringify(matchParameters(person, CANDIDATES_MAX)), contentType: FHIR_JSON },
    signal,
  });
  if (answer.status !== 200) {
    const error = await readError(answer);
    if (!isMissingOperation(error, support)) throw failureOfStatus(config.source, MATCH, error);
    capabilities.noteMissing('match');
    return undefined;
  }
  const json = await http.readJson(answer, MATCH);
  const patients = patientsOf(bundleOf(config.source, MATCH, json));
  const isFound = patients.some((patient) => describesPerson(person, patient));
  if (!isFound && claimedPatients(json).some((patient) => !agreesWithPerson(person, patient))) {
    throw badAnswer(config.source, `answered ${MATCH} with another patient`);
  }
  return patients;
}

/** The Patients that the source claims to be the one asked about. */
function claimedPatients({ json }: JsonAnswer): ReadPatient[] {
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
  let question: ReturnType<typeof post> | { method: 'GET'; url: URL } = post(
    searchForm(person, SEARCH_PAGE_SIZE).toString(),
  );
  for (let page = 1; page <= SEARCH_PAGES_MAX; page += 1) {
    const answer = await http.send({ ...question, label: SEARCH, signal });
    if (answer.status !== 200) {
      if (page > 1 || ![404, 405, 501].includes(answer.status)) throw await http.failureOf(answer, SEARCH);
      await answer.discard();
      throw new SourceFailure('refused', `${config.source} supports neither ${MATCH} nor POST ${SEARCH}`, {
        httpStatus: answer.status,
      });
    }
    const json = await http.readJson(answer, SEARCH);
    const bundle = bundleOf(config.source, SEARCH, json);
    found.push(...patientsOf(bundle));
    if (bundle.next === undefined) return found;
    const url = resolveLink(bundle.next, json.url, config.baseUrl);
    if (url === undefined) throw badAnswer(config.source, `gave ${SEARCH} a next link that is no address`);
    // A link that repeats our question would put the person's name into an address: asked as a form again.
    const isIdentifying = IDENTIFYING_PARAMETERS.some((name) => url.searchParams.has(name));
    question = isIdentifying ? post(url.searchParams.toString()) : { method: 'GET', url };
  }
  if (found.some((patient) => describesPerson(person, patient))) return found;
  throw badAnswer(
    config.source,
    `answered ${SEARCH} with more patients than one name and birth date can have`,
  );
}

function patientsOf(bundle: Bundle): ReadPatient[] {
  return bundle.entries.flatMap(({ resource }) => readPatient(resource) ?? []);
}
