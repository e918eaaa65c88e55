import type {
  Address,
  ContactPoint,
  HumanName,
  Identifier,
  Parameters,
  Patient,
} from 'fhir/r4.js';
import {
  agreesWithPerson,
  describesAnother,
  describesPerson,
} from '#person-matching';
import type {
  Demographics,
  Gender,
  PersonalIdentifier,
} from '../../../people/patients/rules/demographics.ts';
import {
  isMissingOperation,
  type SourceContext,
  type Support,
} from '../capabilities.ts';
import { bundleOf } from '../collect/bundle-page.ts';
import { patientIdOf } from '../collect/subjects.ts';
import { type SoughtPerson, SourceFailure } from '../connector.ts';
import { failureOfStatus, isRecord } from '../http/failures.ts';
import {
  FHIR_MEDIA_TYPE,
  type JsonResponse,
  readError,
} from '../http/source-http.ts';
import {
  type Chosen,
  chooseCandidates,
  type ReadPatient,
  type SourceCandidate,
  sharedWith,
  sourcePatient,
} from './choose-candidates.ts';
import { searchForPerson } from './search-person.ts';

const MATCH = 'Patient/$match';
const CANDIDATES_MAX = 20;
/** From this `search.score` on, the source claims a certain match. */
const SCORE_CERTAIN = 0.9;

/** The person's Patients at a source. */
export interface FoundPatients {
  /** Empty when the source does not know the person. */
  patientIds: string[];
  /** For the timeline: that `$match` failed, and why. */
  notice?: string;
}

/**
 * Finds the person's Patients at the source. There may be several, found
 * together or linked to each other. Each is trusted only if our own matching
 * accepts it.
 *
 * Other Patients in a response are ignored unless the source claims that they
 * are our person. A `$match` result is a claim unless it is graded lower than
 * certain. If no result is our person and one that is claimed has another name,
 * birth date or gender, nothing is collected, and the source is not asked again
 * by itself: it would give the same answer, and somebody has to look at which
 * description is wrong. A Patient that agrees in these but shares no address,
 * phone or identifier is not proven to be our person, so the source counts as
 * not knowing the person.
 *
 * A source without `$match`, or whose `$match` fails or finds no patient, is
 * searched. A search claims nothing: namesakes, or all patients of a server
 * that ignores the parameters, mean "unknown" as well.
 */
export async function findSourcePatients(
  context: SourceContext,
  person: SoughtPerson,
  signal: AbortSignal,
): Promise<FoundPatients> {
  const { match } = (await context.capabilities.read()).operations;
  const answer =
    match === 'missing'
      ? undefined
      : await askMatch(context, person, match, signal);
  if (answer instanceof SourceFailure) {
    const found = await searchAfter(answer, context, person, signal);
    const notice = `${answer.message}; the patient was searched for instead`;
    return withLinks(context, person, found, signal, notice);
  }
  const matched: Chosen =
    answer === undefined
      ? { accepted: [], held: [] }
      : await trustedPatients(context, person, answer);
  if (matched.accepted.length > 0 || matched.isAmbiguous)
    return withLinks(context, person, matched, signal);
  const searched = await searchForPerson(
    context,
    person,
    answer !== undefined,
    signal,
  );
  return withLinks(context, person, searched, signal, matched.heldBack);
}

/**
 * The accepted Patients and those they link to, and what the timeline says
 * about others.
 */
async function withLinks(
  context: SourceContext,
  person: SoughtPerson,
  { accepted, heldBack }: Chosen,
  signal: AbortSignal,
  before?: string,
): Promise<FoundPatients> {
  const notices = [before, heldBack === before ? undefined : heldBack].filter(
    (each) => each !== undefined,
  );
  const patientIds = await linkedPatients(context, person, accepted, signal);
  return notices.length === 0
    ? { patientIds }
    : { patientIds, notice: notices.join('. ') };
}

/**
 * The response to `$match`; undefined when the source does not have it, a
 * failure after which searching makes sense.
 */
async function askMatch(
  { config, http, capabilities }: SourceContext,
  person: Demographics,
  support: Support,
  signal: AbortSignal,
): Promise<JsonResponse | SourceFailure | undefined> {
  try {
    const response = await http.send({
      method: 'POST',
      url: new URL(MATCH, config.baseUrl),
      label: MATCH,
      body: {
        text: JSON.stringify(matchParameters(person, CANDIDATES_MAX)),
        contentType: FHIR_MEDIA_TYPE,
      },
      signal,
    });
    if (response.status === 200) {
      const json = await http.readJson(response, MATCH);
      bundleOf(config.source, MATCH, json);
      return json;
    }
    const error = await readError(response);
    if (!isMissingOperation(error, support))
      throw failureOfStatus(config.source, MATCH, error);
    capabilities.noteMissing('match');
    return undefined;
  } catch (error) {
    if (
      error instanceof SourceFailure &&
      !signal.aborted &&
      isOfMatchAlone(error)
    )
      return error;
    throw error;
  }
}

/**
 * A limit, or credentials that are not accepted, would fail a search as well. A
 * 403 may be about this operation, unless the source says that it is about the
 * patient (such as a missing consent): then nothing else is tried.
 */
const isOfMatchAlone = ({
  kind,
  options: { httpStatus },
}: SourceFailure): boolean => {
  if (kind === 'denied') return httpStatus === 403;
  return kind !== 'rate-limited' && !(kind === 'refused' && httpStatus === 403);
};

/**
 * Searches for the person because `$match` failed. A failure of `$match` that
 * may pass leaves the person unknown only until the next attempt: servers find
 * people by `$match` whom their searches miss.
 */
async function searchAfter(
  failure: SourceFailure,
  context: SourceContext,
  person: SoughtPerson,
  signal: AbortSignal,
): Promise<Chosen> {
  const found = await searchForPerson(context, person, false, signal).catch(
    (error: unknown) => {
      // A limit, or credentials that are refused, say more than what `$match`
      // answered.
      const saysMore =
        !(error instanceof SourceFailure) ||
        !isOfMatchAlone(error) ||
        error.kind === 'denied';
      throw saysMore ? error : failure;
    },
  );
  const mayPass = failure.kind === 'transport' || failure.kind === 'bad-answer';
  if (found.accepted.length > 0 || !mayPass) return found;
  throw new SourceFailure(
    'bad-answer',
    `${failure.message}, and its searches do not find the patient`,
  );
}

/**
 * @throws SourceFailure `refused` when the source grades a different person as
 *   a certain match
 */
async function trustedPatients(
  { config }: SourceContext,
  person: SoughtPerson,
  answer: JsonResponse,
): Promise<Chosen> {
  bundleOf(config.source, MATCH, answer);
  const candidates = candidatesOf(answer);
  const shared = await sharedWith(
    person,
    candidates.map(({ patient }) => patient),
  );
  const chosen = chooseCandidates(person, candidates, shared);
  await person.review?.note(chosen.held);
  const isOther = ({ patient, isClaimed }: SourceCandidate) =>
    isClaimed &&
    !person.review?.decided.has(patient.id) &&
    describesAnother(person, patient);
  const isOurs = ({ patient }: SourceCandidate) =>
    describesPerson(person, patient);
  if (
    chosen.accepted.length === 0 &&
    !candidates.some(isOurs) &&
    candidates.some(isOther)
  ) {
    const remedy =
      'nothing was collected; compare our description of the patient with the source, then query it again';
    throw new SourceFailure(
      'refused',
      `${config.source} answered ${MATCH} with another patient as a certain match: ${remedy}`,
    );
  }
  return chosen;
}

/**
 * The Patients in a response, and whether the source claims that they are the
 * requested person.
 */
function candidatesOf({ json }: JsonResponse): SourceCandidate[] {
  const entries: unknown[] = Array.isArray(json.entry) ? json.entry : [];
  return entries.flatMap((entry) => {
    const patient = isRecord(entry) ? sourcePatient(entry.resource) : undefined;
    return patient === undefined || !isRecord(entry)
      ? []
      : [{ patient, isClaimed: isClaim(entry.search) }];
  });
}

function isClaim(search: unknown): boolean {
  if (!isRecord(search)) return true;
  if (search.mode !== undefined && search.mode !== 'match') return false;
  const extensions: unknown[] = Array.isArray(search.extension)
    ? search.extension
    : [];
  const grade = extensions.find(
    (extension) =>
      isRecord(extension) && String(extension.url).endsWith('/match-grade'),
  );
  if (isRecord(grade)) return grade.valueCode === 'certain';
  return typeof search.score !== 'number' || search.score >= SCORE_CERTAIN;
}

const GENDER: Record<Gender, NonNullable<Patient['gender']>> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: 'unknown',
};

/**
 * The body of `Patient/$match`: all demographics we have, for the source's own
 * matching.
 */
function matchParameters(
  person: Demographics,
  candidatesMax: number,
): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'resource', resource: describedPatient(person) },
      { name: 'count', valueInteger: candidatesMax },
    ],
  };
}

/** Without empty lists, which FHIR does not allow. */
function describedPatient(person: Demographics): Patient {
  const described: Patient = {
    resourceType: 'Patient',
    name: namesOf(person),
    gender: GENDER[person.gender],
    birthDate: person.dob,
    address: person.addresses.map((address): Address => {
      return {
        line: [address.addressLine1, address.addressLine2 ?? ''].filter(
          (line) => line !== '',
        ),
        city: address.city,
        state: address.state,
        postalCode: address.zip,
        country: address.country,
      };
    }),
    telecom: person.contacts.flatMap(({ phone, email }): ContactPoint[] => [
      ...(phone === undefined
        ? []
        : [{ system: 'phone' as const, value: phone }]),
      ...(email === undefined
        ? []
        : [{ system: 'email' as const, value: email }]),
    ]),
    identifier: person.personalIdentifiers.map(identifierOf),
  };
  const members = Object.entries(described).filter(
    ([, value]) => !Array.isArray(value) || value.length > 0,
  );
  return Object.fromEntries(members) as unknown as Patient;
}

/**
 * Several last names may be one double name or alternatives, so both are sent.
 */
function namesOf({ firstNames, lastNames }: Demographics): HumanName[] {
  const families =
    lastNames.length > 1 ? [lastNames.join(' '), ...lastNames] : lastNames;
  return families.map((family) => ({ family, given: firstNames }));
}

const IDENTIFIER_TYPES = 'http://terminology.hl7.org/CodeSystem/v2-0203';

function identifierOf(identifier: PersonalIdentifier): Identifier {
  if (identifier.type === 'ssn') {
    return {
      system: 'http://hl7.org/fhir/sid/us-ssn',
      type: { coding: [{ system: IDENTIFIER_TYPES, code: 'SS' }] },
      value: identifier.value,
    };
  }
  const assigner = identifier.assigner ?? identifier.state;
  return {
    type: { coding: [{ system: IDENTIFIER_TYPES, code: 'DL' }] },
    value: identifier.value,
    ...(assigner === undefined ? {} : { assigner: { display: assigner } }),
  };
}

const LINK_DEPTH_MAX = 3;
const PATIENTS_MAX = 10;

/**
 * The ids of the trusted Patients and of the Patients they link to
 * (`Patient.link`: replaced-by, replaces, refer, seealso), if those agree with
 * the person. A linked Patient that no longer exists is ignored.
 */
export async function linkedPatients(
  context: SourceContext,
  person: SoughtPerson,
  trusted: ReadPatient[],
  signal: AbortSignal,
): Promise<string[]> {
  const ids = new Set(trusted.slice(0, PATIENTS_MAX).map(({ id }) => id));
  const seen = new Set(ids);
  let layer = trusted;
  for (let depth = 0; depth < LINK_DEPTH_MAX && layer.length > 0; depth += 1) {
    const linked: ReadPatient[] = [];
    for (const id of layer.flatMap((patient) => linksOf(context, patient))) {
      if (seen.has(id) || seen.size >= PATIENTS_MAX) continue;
      seen.add(id);
      const patient = await readById(context, id, signal);
      if (patient === undefined) continue;
      const shared = await sharedWith(person, [patient]);
      if (!agreesWithPerson(person, patient, shared)) continue;
      ids.add(patient.id);
      linked.push(patient);
    }
    layer = linked;
  }
  return [...ids];
}

function linksOf({ config }: SourceContext, patient: ReadPatient): string[] {
  return (patient.link ?? []).flatMap(
    ({ other }) => patientIdOf(other.reference ?? '', config) ?? [],
  );
}

async function readById(
  { config, http }: SourceContext,
  id: string,
  signal: AbortSignal,
) {
  const label = 'a linked Patient';
  const response = await http.send({
    method: 'GET',
    url: new URL(`Patient/${id}`, config.baseUrl),
    label,
    signal,
  });
  if (response.status === 404 || response.status === 410) {
    await response.discard();
    return undefined;
  }
  if (response.status !== 200) throw await http.failureOf(response, label);
  const patient = sourcePatient((await http.readJson(response, label)).json);
  // Ignored if the source returned a different Patient than requested.
  return patient?.id === id ? patient : undefined;
}
