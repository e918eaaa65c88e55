import type { Demographics } from '../../patients/rules/demographics.ts';
import { agreesWithPerson, describesPerson } from '../../patients/rules/patient-matching.ts';
import { isMissingOperation, type Support } from '../capabilities.ts';
import { bundleOf } from '../collect/bundle.ts';
import { badResponse, failureOfStatus, isRecord } from '../http/failures.ts';
import { FHIR_JSON, type JsonResponse, readError } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { linkedPatients } from './linked-patients.ts';
import { matchParameters } from './match-parameters.ts';
import { type ReadPatient, readPatient, readPatients } from './patient-shape.ts';
import { searchForPerson } from './search-person.ts';

const MATCH = 'Patient/$match';
const CANDIDATES_MAX = 20;
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
 *
 * A source without `$match`, or whose `$match` finds no patient, is searched. A search claims nothing: namesakes, or all patients
 * of a server that ignores the parameters, mean "unknown" as well.
 */
export async function findPatientIds(
  context: SourceContext,
  person: Demographics,
  signal: AbortSignal,
): Promise<string[]> {
  const { match } = (await context.capabilities.read()).operations;
  const matched = match === 'missing' ? undefined : await askMatch(context, person, match, signal);
  const trusted = (matched ?? []).filter((patient) => describesPerson(person, patient));
  const found =
    trusted.length > 0 ? trusted : await searchForPerson(context, person, matched !== undefined, signal);
  return linkedPatients(context, person, found, signal);
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
  const patients = readPatients(bundleOf(config.source, MATCH, json));
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
