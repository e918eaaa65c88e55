import type { FastifyInstance } from 'fastify';
import type { OperationOutcomeIssue, Patient } from 'fhir/r4.js';
import { type RawBuilder, sql } from 'kysely';
import {
  comparePersons,
  gradeMatch,
  QUALITY_SCORES,
  traitsOfPatient,
  traitsOfPerson,
} from '#person-matching';
import { isJson, type Json, objectsOf } from '#record-summary/fhir';
import {
  expressionOf,
  findPatient,
} from '../../people/patients/patient-store.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
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
import {
  GENDERS_OF_FHIR,
  identifyPatient,
  type NeededTrait,
} from './identify-patient.ts';
import {
  anyCondition,
  type IdentifierCriterion,
  identifiedByOne,
} from './patient-identifiers.ts';
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
    where(anyCondition(texts.map((text) => named(of, how, text))));
  for (const alternatives of identifiers) where(identifiedByOne(alternatives));
  for (const alternatives of genders)
    where(
      sql`gender = any(${alternatives.map((each) => GENDERS_OF_FHIR[each] ?? each)}::text[])`,
    );
  for (const conditions of birthDates)
    where(anyCondition(conditions.map(bornWhen)));
  for (const conditions of lastUpdated)
    where(
      anyCondition(
        conditions.map((condition) => changedWhen(UPDATED_AT, condition)),
      ),
    );
  return query;
}

/** When the demographics changed, or the sources' Patients. */
const UPDATED_AT = sql`greatest(date_trunc('milliseconds', updated_at),
  (select changed_at from record_resource r where r.patient_id = patient.id and r.resource_id = patient.id))`;

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
  identifiers: IdentifierCriterion[][];
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

function identifierOf(text: string): IdentifierCriterion {
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
      const { id: accountId } = callerOf(request).account;
      const described = patientIn(request.body);
      if (described === undefined)
        throw notMatchable(['a parameter "resource" with a Patient']);
      const identified = await identifyPatient(deps, accountId, described);
      if ('missing' in identified)
        throw notMatchable(identified.missing.map((trait) => NEEDED[trait]));
      const { holders } = identified;
      const theirs = readDescription(described);
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

const NEEDED: Readonly<Record<NeededTrait, string>> = {
  name: 'name with family and given',
  birthDate: 'birthDate (a full date)',
  gender: 'gender',
  zip: 'address.postalCode (5 digits, or ZIP+4)',
};

const notMatchable = (needed: readonly string[]): InvalidRequestError =>
  new InvalidRequestError(
    needed.map((what) => ({
      path: 'Patient',
      message: `a match needs ${what}`,
    })),
  );

const SEVERAL: OperationOutcomeIssue = {
  severity: 'warning',
  code: 'multiple-matches',
  diagnostics:
    'Several patients fit or have one of the identifiers: none of them is a match for certain',
};

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
