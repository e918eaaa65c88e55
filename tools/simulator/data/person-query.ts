import type { Patient } from 'fhir/r4.js';

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

export function queryOfPatient(patient: Patient): PersonQuery {
  const names = patient.name ?? [];
  return {
    families: names.flatMap((name) => name.family ?? []),
    givens: names.flatMap((name) => name.given ?? []),
    birthDate: patient.birthDate,
    gender: patient.gender,
    zips: (patient.address ?? []).flatMap((address) => address.postalCode ?? []),
    identifiers: (patient.identifier ?? []).flatMap(({ system, value }) =>
      value ? [system ? `${system}|${value}` : value] : [],
    ),
  };
}

/** Reads the parameters of a `Patient` search; unknown ones are ignored, as FHIR allows. */
export function queryOfSearch(params: URLSearchParams): PersonQuery {
  const list = (name: string) =>
    params.getAll(name).flatMap((value) => value.split(/[,\s]+/).filter(Boolean));
  return {
    families: list('family'),
    givens: list('given'),
    birthDate: params.get('birthdate')?.replace(/^eq/, ''),
    gender: params.get('gender') ?? undefined,
    zips: list('address-postalcode'),
    identifiers: list('identifier'),
  };
}

export interface Agreement {
  /** Weighted share of the criteria that match, 0 to 1. */
  score: number;
  /** Whether all criteria match. */
  complete: boolean;
}

/** Compares a Patient with the criteria. Without criteria every Patient matches, with score 0. */
export function agreement(query: PersonQuery, patient: Patient): Agreement {
  const known = queryOfPatient(patient);
  const zip = (value: string) => value.slice(0, 5);
  const criteria: [weight: number, asked: boolean, agrees: boolean][] = [
    [30, query.families.length > 0, anyStartsWith(query.families, known.families)],
    [20, query.givens.length > 0, anyStartsWith(query.givens, known.givens)],
    [30, query.birthDate !== undefined, query.birthDate === known.birthDate],
    [5, query.gender !== undefined, query.gender === known.gender],
    [15, query.zips.length > 0, query.zips.some((asked) => known.zips.map(zip).includes(zip(asked)))],
  ];
  // Identifiers of systems that this source does not use do not count against a match.
  const identifierAgrees = query.identifiers.some((asked) =>
    known.identifiers.some((own) => own === asked || own.endsWith(`|${asked}`)),
  );
  const onlyIdentifiers = criteria.every(([, asked]) => !asked) && query.identifiers.length > 0;
  if (onlyIdentifiers) return { score: identifierAgrees ? 1 : 0, complete: identifierAgrees };

  const asked = criteria.filter(([, isAsked]) => isAsked);
  const total = asked.reduce((sum, [weight]) => sum + weight, 0);
  const agreed = asked.reduce((sum, [weight, , agrees]) => sum + (agrees ? weight : 0), 0);
  return { score: total === 0 ? 0 : agreed / total, complete: agreed === total };
}

function anyStartsWith(asked: readonly string[], known: readonly string[]): boolean {
  return asked.some((prefix) => known.some((name) => fold(name).startsWith(fold(prefix))));
}

/** Without case and accents. */
function fold(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
