import type { FastifyInstance } from 'fastify';
import type { OperationOutcomeIssue, Patient } from 'fhir/r4.js';
import { type RawBuilder, sql } from 'kysely';
import {
  comparePersons,
  contradictedIdentifiers,
  gradeMatch,
  type PersonTraits,
  QUALITY_SCORES,
  traitsOfPatient,
  traitsOfPerson,
} from '#person-matching';
import { isJson, type Json, objectsOf, textOf } from '#record-summary/fhir';
import { splitNames } from '../../../contract/primitives.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import {
  expressionOf,
  findNamesakes,
  findPatient,
  hasExternalId,
} from '../../people/patients/patient-store.ts';
import type {
  Demographics,
  Gender,
} from '../../people/patients/rules/demographics.ts';
import { identityKeys } from '../../people/patients/rules/identity-keys.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import {
  changedWhen,
  comparedWith,
} from '../../records/reading/record-search-store.ts';
import {
  type DateCondition,
  parseDateCondition,
} from '../../records/rules/search.ts';
import { readDescription } from '../../sources/connectors/patient/choose-candidates.ts';
import { FHIR_JSON, searchEntry, searchsetOf } from './bundles.ts';
import { type FhirDeps, requireScope } from './requests.ts';
import {
  notSupported,
  type PairOutcome,
  readCommonPair,
  readPairs,
  type SearchFault,
  type SearchPair,
  type SearchRequest,
  valuesOf,
} from './rules/search-request.ts';
import { readServed } from './search-record.ts';

const EXTERNAL = 'urn:medical-exchange:external-id';
const SSN = 'http://hl7.org/fhir/sid/us-ssn';
const LICENSE = 'urn:medical-exchange:drivers-license';

/**
 * Ids of up to `count` of the account's patients whose demographics match, in
 * order, after `after`.
 */
export async function searchPatients(
  tx: AccountTx,
  criteria: PatientCriteria,
  after: string | undefined,
): Promise<string[]> {
  let query = matching(tx, criteria)
    .select('id')
    .orderBy('id')
    .limit(criteria.count);
  if (after !== undefined) query = query.where('id', '>', after);
  const rows = await query.execute();
  return rows.map((row) => row.id);
}

export async function countPatients(
  tx: AccountTx,
  criteria: PatientCriteria,
): Promise<number> {
  const { total } = await matching(tx, criteria)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(total);
}

function matching(
  tx: AccountTx,
  {
    ids,
    identifiers,
    names,
    birthDates,
    genders,
    lastUpdated,
  }: PatientCriteria,
) {
  let query = tx.db
    .selectFrom('patient')
    .where('account_id', '=', tx.accountId);
  const where = (condition: RawBuilder<unknown>) => {
    query = query.where(sql<boolean>`(${condition})`);
  };
  if (ids !== undefined) where(sql`id = any(${[...ids]}::uuid[])`);
  for (const { of, how, texts } of names)
    where(either(texts.map((text) => named(of, how, text))));
  for (const alternatives of identifiers) where(identifiedByOne(alternatives));
  for (const alternatives of genders)
    where(
      sql`gender = any(${alternatives.map((each) => GENDERS[each] ?? each)}::text[])`,
    );
  for (const conditions of birthDates) where(either(conditions.map(bornWhen)));
  for (const conditions of lastUpdated)
    where(
      either(conditions.map((condition) => changedWhen(UPDATED_AT, condition))),
    );
  return query;
}

/** When the demographics changed, or the sources' Patients. */
const UPDATED_AT = sql`greatest(date_trunc('milliseconds', updated_at),
  (select changed_at from record_resource r where r.patient_id = patient.id and r.resource_id = patient.id))`;

const either = (
  conditions: readonly RawBuilder<unknown>[],
): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`false` : sql.join(conditions, sql` or `);

type NameCriterion = PatientCriteria['names'][number];

/**
 * Every word of the text must match one of the names; exactly, the whole text.
 */
function named(
  of: NameCriterion['of'],
  how: NameCriterion['how'],
  text: string,
): RawBuilder<unknown> {
  const columns = {
    family: sql`last_names`,
    given: sql`first_names`,
    name: sql`first_names || last_names`,
  }[of];
  const condition = (word: string) => {
    if (how === 'exact') return sql`name = ${word}`;
    return sql`regexp_replace(normalize(name, nfd), '[\u0300-\u036f]', '', 'g') ~ ${`${how === 'starts' ? '(?:^|[\\s-])' : ''}${expressionOf(withoutAccents(word))}`}`;
  };
  const words =
    how === 'exact' ? [text] : text.split(/\s+/u).filter((word) => word !== '');
  return sql`(${sql.join(
    words
      .slice(0, WORDS_MAX)
      .map(
        (word) =>
          sql`exists (select from unnest(${columns}) name where ${condition(word)})`,
      ),
    sql` and `,
  )})`;
}

/** FHIR compares strings without accents. */
const withoutAccents = (word: string): string =>
  word.normalize('NFD').replaceAll(/\p{M}/gu, '');

const WORDS_MAX = 10;

/**
 * Social security numbers and licences are looked up by their index, which
 * row-level security hides from `@>` itself.
 */
function identifiedByOne(
  alternatives: PatientCriteria['identifiers'][number],
): RawBuilder<unknown> {
  const fits = either(alternatives.map(identified));
  if (
    !alternatives.every(
      ({ system = '' }) => system === SSN || system.startsWith(LICENSE),
    )
  )
    return fits;
  const values = alternatives.flatMap(({ value }) => [
    value,
    value.replaceAll('-', ''),
  ]);
  return sql`patient.id in (select patients_with_identifiers(${values}::text[])) and (${fits})`;
}

/**
 * Without a system, any of the patient's identifiers; with one, those that the
 * Patient shows under it, and additional ones.
 */
function identified({
  system,
  value,
}: {
  system?: string;
  value: string;
}): RawBuilder<unknown> {
  const personal = (type: string, text: string, state?: string) =>
    sql`personal_identifiers @> ${JSON.stringify([{ type, value: text, ...(state && { state }) }])}::jsonb`;
  const ssn = personal('ssn', value.replaceAll('-', ''));
  if (system === undefined)
    return either([
      hasExternalId(value),
      ssn,
      personal('driversLicense', value),
      sql`jsonb_path_exists(additional_identifiers, '$.*[*] ? (@ == $value)', ${JSON.stringify({ value })}::jsonb)`,
    ]);
  if (system === EXTERNAL) return hasExternalId(value);
  if (system === SSN) return ssn;
  if (system === LICENSE || system.startsWith(`${LICENSE}:`))
    return personal('driversLicense', value, system.slice(LICENSE.length + 1));
  return sql`additional_identifiers -> ${system} ? ${value}`;
}

const bornWhen = ({
  prefix,
  range: { firstDay, lastDay },
}: DateCondition): RawBuilder<unknown> =>
  comparedWith(sql`dob::text`, prefix, sql`${firstDay}`, sql`${lastDay}`);

/**
 * A search for Patients by their demographics. Inner lists are alternatives.
 */
export interface PatientCriteria
  extends Pick<
    SearchRequest,
    | 'ids'
    | 'lastUpdated'
    | 'count'
    | 'isCountOnly'
    | 'subset'
    | 'used'
    | 'ignored'
    | 'withProvenance'
  > {
  identifiers: { system?: string; value: string }[][];
  names: {
    of: 'name' | 'family' | 'given';
    how: 'starts' | 'exact' | 'contains';
    texts: string[];
  }[];
  birthDates: DateCondition[][];
  genders: string[][];
}

export const PATIENT_COUNT_DEFAULT = 20;
const PATIENT_COUNT_MAX = 50;

export function parsePatientSearch(pairs: readonly SearchPair[]): {
  request: PatientCriteria;
  faults: SearchFault[];
} {
  const request: PatientCriteria = {
    lastUpdated: [],
    count: PATIENT_COUNT_DEFAULT,
    isCountOnly: false,
    used: [],
    ignored: [],
    withProvenance: false,
    identifiers: [],
    names: [],
    birthDates: [],
    genders: [],
  };
  const { faults } = readPairs(
    request,
    pairs,
    (name, value) =>
      readCommonPair(request, name, value) ?? readPair(request, name, value),
  );
  request.count = Math.min(request.count, PATIENT_COUNT_MAX);
  return { request, faults };
}

function readPair(
  request: PatientCriteria,
  name: string,
  value: string,
): PairOutcome {
  const [base, modifier] = name.split(':');
  const values = [...new Set(valuesOf(value))].filter((each) => each !== '');
  const isName = base === 'name' || base === 'family' || base === 'given';
  if (!isName && !['identifier', 'birthdate', 'gender'].includes(base ?? ''))
    return 'ignored';
  if (values.length === 0 || values.some((each) => each.endsWith('|')))
    return { fault: 'has no value' };
  if (isName) {
    if (
      modifier !== undefined &&
      modifier !== 'exact' &&
      modifier !== 'contains'
    )
      return notSupported(modifier);
    request.names.push({ of: base, how: modifier ?? 'starts', texts: values });
    return 'used';
  }
  if (modifier !== undefined) return notSupported(modifier);
  if (base === 'gender') {
    request.genders.push(
      values.map((each) => each.slice(each.indexOf('|') + 1)),
    );
    return 'used';
  }
  if (base === 'identifier') {
    request.identifiers.push(values.map(identifierOf));
    return 'used';
  }
  const conditions = values
    .map(parseDateCondition)
    .filter((condition) => condition !== undefined);
  if (
    conditions.length < values.length ||
    conditions.some(({ isDay }) => !isDay)
  )
    return { fault: 'is not a date such as 1970-05-01 or ge1970' };
  request.birthDates.push(conditions);
  return 'used';
}

function identifierOf(text: string): { system?: string; value: string } {
  const bar = text.indexOf('|');
  return bar < 0
    ? { value: text }
    : { system: text.slice(0, bar), value: text.slice(bar + 1) };
}

/**
 * The rule says yes or no, so a match is certain; the score says how much
 * agrees.
 */
const CERTAIN: Json = {
  url: 'http://hl7.org/fhir/StructureDefinition/match-grade',
  valueCode: 'certain',
};

/**
 * `POST /fhir/R4/Patient/$match`, by the rule of "Match patient": same names,
 * date of birth, gender and a zip in common.
 */
export function addMatchRoute(app: FastifyInstance, deps: FhirDeps): void {
  app.post(
    `${deps.path}/Patient/$match`,
    {
      schema: { hide: true },
      config: { operation: 'fhirMatch', scope: 'read' },
      bodyLimit: BODY_BYTES_MAX,
    },
    async (request, reply) => {
      requireScope(request, 'Patient');
      const { persons, missing } = matchInput(request.body);
      if (missing.length > 0)
        throw new InvalidRequestError(
          missing.map((what) => ({
            path: 'Patient',
            message: `a match needs ${what}`,
          })),
        );
      const { id: accountId } = callerOf(request).account;
      const keys = persons.flatMap((person) =>
        identityKeys(deps.idHmacKey, accountId, person),
      );
      const theirs = readDescription(patientIn(request.body));
      const holders = await deps.finder.asAccount(accountId, async (tx) => {
        const described = traitsOfPatient(
          theirs ?? { resourceType: 'Patient' },
        );
        const [person] = persons;
        const found = (
          person === undefined
            ? []
            : await findNamesakes(tx, deps.idHmacKey, person, keys)
        )
          .filter(
            (each) =>
              contradictedIdentifiers(traitsOfPerson(each), described)
                .length === 0,
          )
          .map(({ id }) => id);
        return found.length === 0
          ? []
          : [...new Set([...found, ...(await holdersOf(tx, described))])];
      });
      // In doubt no patient is a match.
      const [patientId] = holders.length === 1 ? holders : [];
      if (patientId !== undefined)
        await deps.records.merge(accountId, patientId);
      const { matches, score } = await deps.store.asAccount(
        accountId,
        async (tx) => {
          const person =
            patientId === undefined
              ? undefined
              : await findPatient(tx, patientId);
          const wanted =
            person === undefined
              ? []
              : [{ resourceType: 'Patient', id: person.id }];
          return {
            matches: await readServed(tx, person?.id ?? '', wanted),
            score: scoreOf(person, theirs),
          };
        },
      );
      await deps.audit.write(
        request,
        matches.map(({ id }) => id),
      );
      const entries = matches.map(({ json }) =>
        searchEntry(deps.base, json, {
          mode: 'match',
          score,
          extension: [CERTAIN],
        }),
      );
      const links = [
        { relation: 'self', url: `${deps.base}/Patient/$match` },
      ] as const;
      const issues = holders.length > 1 && !deps.isResponder ? [SEVERAL] : [];
      const bundle = searchsetOf(
        { links, total: entries.length },
        entries,
        issues,
      );
      return reply
        .type(FHIR_JSON)
        .header('cache-control', 'no-store')
        .send(JSON.stringify(bundle));
    },
  );
}

const SEVERAL: OperationOutcomeIssue = {
  severity: 'warning',
  code: 'multiple-matches',
  diagnostics:
    'Several patients fit or have one of the identifiers: none of them is a match for certain',
};

/** Who has one of these identifiers. */
async function holdersOf(
  tx: AccountTx,
  { ssns, licences }: PersonTraits,
): Promise<string[]> {
  const identifiers = [
    ...[...ssns].map((value) => ({ system: SSN, value })),
    ...[...licences.keys()].map((value) => ({ system: LICENSE, value })),
  ];
  const rows = await tx.db
    .selectFrom('patient')
    .select('id')
    .where('account_id', '=', tx.accountId)
    .where(sql<boolean>`${identifiedByOne(identifiers)}`)
    .limit(2)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * The score of a match by identity keys, which prove names, date of birth,
 * gender and a zip. (docs/matching.md)
 */
function scoreOf(
  ours: Demographics | undefined,
  theirs: Patient | undefined,
): number {
  const proven = QUALITY_SCORES['very-good'];
  if (ours === undefined || theirs === undefined) return proven;
  return Math.max(
    proven,
    gradeMatch(comparePersons(traitsOfPerson(ours), traitsOfPatient(theirs)))
      .score,
  );
}

const BODY_BYTES_MAX = 64 * 1024;

export type MatchPerson = Pick<
  Demographics,
  'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'
>;

const GENDERS: Readonly<Record<string, Gender>> = lookupTable({
  male: 'M',
  female: 'F',
  other: 'O',
  unknown: 'U',
});

/**
 * The persons that the Patient in the Parameters of `$match` may be, one for
 * each of its names; and what is missing for our rule, which needs first and
 * last name, date of birth, gender and a zip.
 */
function matchInput(parameters: unknown): {
  persons: MatchPerson[];
  missing: string[];
} {
  const patient = patientIn(parameters);
  if (patient === undefined)
    return { persons: [], missing: ['a parameter "resource" with a Patient'] };
  const dob = textOf(patient.birthDate);
  const gender = GENDERS[textOf(patient.gender) ?? ''];
  const zips = objectsOf(patient.address).flatMap(({ postalCode }) =>
    /^\d{5}(-?\d{4})?$/.test(textOf(postalCode) ?? '')
      ? [String(postalCode)]
      : [],
  );
  const names = objectsOf(patient.name)
    .map(({ family, given }) => ({
      lastNames: splitNames(textOf(family) ?? ''),
      firstNames: (Array.isArray(given) ? (given as unknown[]) : []).flatMap(
        (each) => splitNames(textOf(each) ?? ''),
      ),
    }))
    .filter(
      ({ firstNames, lastNames }) =>
        firstNames.length > 0 && lastNames.length > 0,
    )
    .slice(0, NAMES_MAX);
  const missing = [
    names.length === 0 && 'name with family and given',
    !/^\d{4}-\d{2}-\d{2}$/.test(dob ?? '') && 'birthDate (a full date)',
    gender === undefined && 'gender',
    zips.length === 0 && 'address.postalCode (5 digits, or ZIP+4)',
  ].filter((each) => each !== false);
  if (missing.length > 0 || dob === undefined || gender === undefined)
    return { persons: [], missing };
  const addresses = zips.slice(0, ZIPS_MAX).map((zip) => ({
    addressLine1: '',
    city: '',
    state: '',
    zip,
    country: 'USA',
  }));
  return {
    persons: names.map((name) => ({ ...name, dob, gender, addresses })),
    missing: [],
  };
}

const NAMES_MAX = 10;
const ZIPS_MAX = 20;

/** Accepts Parameters, or the Patient itself. */
function patientIn(body: unknown): Json | undefined {
  if (!isJson(body)) return undefined;
  if (body.resourceType === 'Patient') return body;
  const resource = objectsOf(body.parameter).find(
    ({ name }) => name === 'resource',
  )?.resource;
  return isJson(resource) && resource.resourceType === 'Patient'
    ? resource
    : undefined;
}
