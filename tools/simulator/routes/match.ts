import type { BundleEntry, Parameters, Patient } from 'fhir/r4.js';
import {
  okResponse,
  refusalResponse,
  type SimulatedResponse,
  searchsetBundle,
} from '../response.ts';
import type { SourceCall } from '../source.ts';
import type { Route } from './route.ts';

/** A patient of the source, and how well the question describes them. */
export interface Candidate {
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

const SEARCH: Omit<Route, 'method' | 'path'> = {
  operation: 'match',
  sample: (call) => likelySample(call, queryOfSearch(call.params)),
  answer: search,
};

export const matchRoutes: Route[] = [
  {
    method: 'POST',
    path: '/Patient/$match',
    operation: 'match',
    sample: (call) => likelySample(call, matchQuery(call)),
    answer: match,
  },
  { ...SEARCH, method: 'POST', path: '/Patient/_search' },
  { ...SEARCH, method: 'GET', path: '/Patient' },
];

/**
 * The patients that a source gives out for a question, best match first, with
 * the fault of a match applied.
 */
export function givenOut(call: SourceCall, query: PersonQuery): Candidate[] {
  const found = candidates(call, query).filter(
    ({ score }) => gradeOf(score) !== undefined,
  );
  return applyFault(call, found);
}

function match(call: SourceCall): SimulatedResponse {
  if (!call.source.settings().match)
    return refusalResponse(
      404,
      'not-supported',
      'Patient/$match is not supported.',
    );
  const query = matchQuery(call);
  if (!query)
    return refusalResponse(
      400,
      'invalid',
      'Send a Parameters resource with a Patient as the parameter "resource".',
    );
  const parameter = (parametersOf(call)?.parameter ?? []).find(
    ({ name }) => name === 'onlyCertainMatches',
  );
  const found = candidates(call, query).filter(
    ({ score }) => gradeOf(score) !== undefined,
  );
  const wanted = parameter?.valueBoolean
    ? found.filter(({ score }) => gradeOf(score) === 'certain')
    : found;
  return bundleOf(call, applyFault(call, wanted));
}

function search(call: SourceCall): SimulatedResponse {
  const found = candidates(call, queryOfSearch(call.params));
  const id = call.params.get('_id');
  const wanted = call.source.settings().searchAnswersEverybody
    ? found
    : found.filter(({ complete, patient }) =>
        id ? patient.id === id : complete,
      );
  return bundleOf(call, applyFault(call, wanted));
}

/**
 * The sample patient that a request is most likely about, for rules and the
 * log; undefined when none is close.
 */
export function likelySample(
  call: SourceCall,
  query: PersonQuery | undefined,
): string | undefined {
  const best = candidates(call, query)[0];
  return best && gradeOf(best.score) ? best.sample : undefined;
}

/** All patients of the source, best match first. */
function candidates(
  call: SourceCall,
  query: PersonQuery | undefined,
): Candidate[] {
  if (!query) return [];
  const everybody = call.source.data.views().map(({ patient, sample }) => ({
    patient,
    sample,
    ...agreement(query, patient),
  }));
  return everybody.sort((a, b) => b.score - a.score);
}

function applyFault(call: SourceCall, found: Candidate[]): Candidate[] {
  const { source } = call;
  const matchFault = call.takeMatchFault();
  const best = found[0];
  if (matchFault?.type === 'unknown-patient') return [];
  if (matchFault?.type === 'wrong-patient') {
    const other = source.data
      .views()
      .find(({ sample }) => sample !== best?.sample);
    return other
      ? [
          {
            patient: other.patient,
            sample: other.sample,
            score: 1,
            complete: true,
          },
        ]
      : [];
  }
  if (matchFault?.type === 'linked-patient' && best) {
    const id = source.data.linkedPatientId(best.sample, matchFault.link);
    const linked = id ? source.data.view(id) : undefined;
    return linked ? [{ ...best, patient: linked.patient }] : found;
  }
  return found;
}

function bundleOf(
  call: SourceCall,
  found: readonly Candidate[],
): SimulatedResponse {
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
  return okResponse(searchsetBundle(entries));
}

const gradeOf = (score: number): string | undefined =>
  GRADES.find(({ from }) => score >= from)?.code;

const gradeExtension = (grade: string) => ({
  url: 'http://hl7.org/fhir/StructureDefinition/match-grade',
  valueCode: grade,
});

function matchQuery(call: SourceCall): PersonQuery | undefined {
  const resource = parametersOf(call)?.parameter?.find(
    ({ name }) => name === 'resource',
  )?.resource;
  return resource?.resourceType === 'Patient'
    ? queryOfPatient(resource as Patient)
    : undefined;
}

function parametersOf(call: SourceCall): Parameters | undefined {
  const body = call.request.body as Parameters | null | undefined;
  return body?.resourceType === 'Parameters' ? body : undefined;
}

/** Search criteria for a patient; an empty list means no criterion. */
export interface PersonQuery {
  families: string[];
  givens: string[];
  birthDate?: string;
  gender?: string;
  /** Compared by their first five digits. */
  zips: string[];
  /** `system|value`, or the value alone. */
  identifiers: string[];
}

function queryOfPatient(patient: Patient): PersonQuery {
  const names = patient.name ?? [];
  return {
    families: names.flatMap((name) => name.family ?? []),
    givens: names.flatMap((name) => name.given ?? []),
    birthDate: patient.birthDate,
    gender: patient.gender,
    zips: (patient.address ?? []).flatMap(
      (address) => address.postalCode ?? [],
    ),
    identifiers: (patient.identifier ?? []).flatMap(({ system, value }) =>
      value ? [system ? `${system}|${value}` : value] : [],
    ),
  };
}

/**
 * Reads the parameters of a `Patient` search; unknown ones are ignored, as FHIR
 * allows.
 */
function queryOfSearch(params: URLSearchParams): PersonQuery {
  const list = (name: string) =>
    params
      .getAll(name)
      .flatMap((value) => value.split(/[,\s]+/).filter(Boolean));
  return {
    families: list('family'),
    givens: list('given'),
    birthDate: params.get('birthdate')?.replace(/^eq/, ''),
    gender: params.get('gender') ?? undefined,
    zips: list('address-postalcode'),
    identifiers: list('identifier'),
  };
}

/**
 * Compares a Patient with the criteria: the weighted share of them that match,
 * 0 to 1, and whether all do. Without criteria every Patient matches, with
 * score 0.
 */
function agreement(query: PersonQuery, patient: Patient) {
  const known = queryOfPatient(patient);
  const zip = (value: string) => value.slice(0, 5);
  const criteria: [weight: number, asked: boolean, agrees: boolean][] = [
    [
      30,
      query.families.length > 0,
      anyStartsWith(query.families, known.families),
    ],
    [20, query.givens.length > 0, anyStartsWith(query.givens, known.givens)],
    [30, query.birthDate !== undefined, query.birthDate === known.birthDate],
    [5, query.gender !== undefined, query.gender === known.gender],
    [
      15,
      query.zips.length > 0,
      query.zips.some((asked) => known.zips.map(zip).includes(zip(asked))),
    ],
  ];
  // Identifiers of systems that this source does not use do not count against a
  // match.
  const identifierAgrees = query.identifiers.some((asked) =>
    known.identifiers.some((own) => own === asked || own.endsWith(`|${asked}`)),
  );
  const onlyIdentifiers =
    criteria.every(([, asked]) => !asked) && query.identifiers.length > 0;
  if (onlyIdentifiers)
    return { score: identifierAgrees ? 1 : 0, complete: identifierAgrees };

  const asked = criteria.filter(([, isAsked]) => isAsked);
  const total = asked.reduce((sum, [weight]) => sum + weight, 0);
  const agreed = asked.reduce(
    (sum, [weight, , agrees]) => sum + (agrees ? weight : 0),
    0,
  );
  return {
    score: total === 0 ? 0 : agreed / total,
    complete: agreed === total,
  };
}

const anyStartsWith = (
  asked: readonly string[],
  known: readonly string[],
): boolean =>
  asked.some((prefix) =>
    known.some((name) => fold(name).startsWith(fold(prefix))),
  );

/** Without case and accents. */
const fold = (name: string): string =>
  name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
