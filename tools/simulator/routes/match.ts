import type { BundleEntry, Parameters, Patient } from 'fhir/r4.js';
import { type Answer, ok, refusal } from '../answer.ts';
import { searchset } from '../bundle.ts';
import { agreement, type PersonQuery, queryOfPatient, queryOfSearch } from '../data/person-query.ts';
import type { Call } from '../source.ts';
import type { Route } from './route.ts';

interface Candidate {
  patient: Patient;
  sample: string;
  score: number;
  /** All requested criteria match. */
  complete: boolean;
}

const GRADES = [
  { code: 'certain', from: 0.95 },
  { code: 'probable', from: 0.8 },
  { code: 'possible', from: 0.6 },
];

export const matchRoutes: Route[] = [
  {
    method: 'POST',
    path: '/Patient/$match',
    operation: 'match',
    sample: (call) => likelySample(call, matchQuery(call)),
    answer: match,
  },
  {
    method: 'POST',
    path: '/Patient/_search',
    operation: 'match',
    sample: (call) => likelySample(call, queryOfSearch(call.params)),
    answer: search,
  },
  {
    method: 'GET',
    path: '/Patient',
    operation: 'match',
    sample: (call) => likelySample(call, queryOfSearch(call.params)),
    answer: search,
  },
];

function match(call: Call): Answer {
  if (!call.source.settings().match) return refusal(404, 'not-supported', 'Patient/$match is not supported.');
  const query = matchQuery(call);
  if (!query)
    return refusal(400, 'invalid', 'Send a Parameters resource with a Patient as the parameter "resource".');
  const parameter = (parametersOf(call)?.parameter ?? []).find(({ name }) => name === 'onlyCertainMatches');
  const found = candidates(call, query).filter(({ score }) => gradeOf(score) !== undefined);
  const wanted = parameter?.valueBoolean ? found.filter(({ score }) => gradeOf(score) === 'certain') : found;
  return bundleOf(call, applyFault(call, wanted));
}

function search(call: Call): Answer {
  const found = candidates(call, queryOfSearch(call.params));
  const id = call.params.get('_id');
  const wanted = call.source.settings().searchAnswersEverybody
    ? found
    : found.filter(({ complete, patient }) => (id ? patient.id === id : complete));
  return bundleOf(call, applyFault(call, wanted));
}

/** The sample patient that a request is most likely about, for rules and the log; undefined when none is close. */
function likelySample(call: Call, query: PersonQuery | undefined): string | undefined {
  const best = candidates(call, query)[0];
  return best && gradeOf(best.score) ? best.sample : undefined;
}

/** All patients of the source, best match first. */
function candidates(call: Call, query: PersonQuery | undefined): Candidate[] {
  if (!query) return [];
  const everybody = call.source.data
    .views()
    .map(({ patient, sample }) => ({ patient, sample, ...agreement(query, patient) }));
  return everybody.sort((a, b) => b.score - a.score);
}

function applyFault(call: Call, found: Candidate[]): Candidate[] {
  const { source } = call;
  const matchFault = call.takeMatchFault();
  const best = found[0];
  if (matchFault?.type === 'unknown-patient') return [];
  if (matchFault?.type === 'wrong-patient') {
    const other = source.data.views().find(({ sample }) => sample !== best?.sample);
    return other ? [{ patient: other.patient, sample: other.sample, score: 1, complete: true }] : [];
  }
  if (matchFault?.type === 'linked-patient' && best) {
    const id = source.data.linkedPatientId(best.sample, matchFault.link);
    const linked = id ? source.data.view(id) : undefined;
    return linked ? [{ ...best, patient: linked.patient }] : found;
  }
  return found;
}

function bundleOf(call: Call, found: readonly Candidate[]): Answer {
  const entries = found.map(({ patient, score }): BundleEntry => {
    const grade = gradeOf(score);
    return {
      fullUrl: `${call.baseUrl}/Patient/${patient.id}`,
      resource: patient,
      search: {
        mode: 'match',
        score: Math.round(score * 100) / 100,
        ...(grade ? { extension: [gradeExtension(grade)] } : {}),
      },
    };
  });
  return ok(searchset(entries));
}

function gradeOf(score: number): string | undefined {
  return GRADES.find(({ from }) => score >= from)?.code;
}

function gradeExtension(grade: string) {
  return { url: 'http://hl7.org/fhir/StructureDefinition/match-grade', valueCode: grade };
}

function matchQuery(call: Call): PersonQuery | undefined {
  const resource = parametersOf(call)?.parameter?.find(({ name }) => name === 'resource')?.resource;
  return resource?.resourceType === 'Patient' ? queryOfPatient(resource as Patient) : undefined;
}

function parametersOf(call: Call): Parameters | undefined {
  const body = call.request.body as Parameters | null | undefined;
  return body?.resourceType === 'Parameters' ? body : undefined;
}
