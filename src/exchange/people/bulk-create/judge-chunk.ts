import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { compareIdentifiers } from '#person-matching';
import type { RowError } from '../../../shared/bulk-csv/row.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import {
  findCohorts,
  holdCohorts,
  type NamedCohort,
} from '../cohorts/cohort-store.ts';
import { findFacilityIds } from '../facilities/facility-store.ts';
import type { StoredPatient } from '../patients/patient-store.ts';
import type { PersonalIdentifier } from '../patients/rules/demographics.ts';
import {
  type ListSizes,
  mergedContent,
  newContent,
  overfullList,
  type PatientContent,
  sizesOf,
} from '../patients/rules/patient-content.ts';
import { isSameJson } from '../patients/rules/patient-normalisation.ts';
import type { OpenChunk } from './chunk-store.ts';
import {
  claimNewKeys,
  findExternalIdHolders,
  findKeyHolders,
  findTrialIdentifiers,
  findTrialKeyHolders,
  insertKeys,
  type KeyHolder,
  type ReadMode,
  readImportedPatients,
  releaseKeys,
} from './patient-store.ts';
import type {
  PreparedChunk,
  PreparedPerson,
  PreparedRow,
} from './prepare-chunk.ts';
import {
  type FoldedPerson,
  foldRows,
  type KnownPerson,
  type RowOutcome,
} from './rules/bulk-fold.ts';

/** The parts of a request that apply to each of its chunks. */
export interface BulkJob {
  requestId: string;
  /** Facility of the rows that name none. */
  facilityId: string;
  dryRun: boolean;
  /**
   * Whether the chunk before had only new patients, as the next one then
   * probably has.
   */
  expectsNew?: boolean;
}

/** A row without errors, whose person is therefore matched. */
export interface MatchedRow extends PreparedRow {
  person: PreparedPerson;
}

export interface JudgedChunk extends OpenChunk {
  lines: PreparedRow[];
  /** The rows without errors, and the outcome of each, in the same order. */
  matched: MatchedRow[];
  outcomes: RowOutcome[];
  persons: FoldedPerson[];
  /**
   * The `persons` who are already patients of the account; locked by this
   * transaction unless it is a dry run.
   */
  patients: Map<string, StoredPatient>;
  /**
   * Dry run only: for each of `persons` who is not a patient, the row that
   * would have created it.
   */
  trialRows: Map<string, number>;
  /** Patients who have the external ids of rows that create another one. */
  externalIdHolders: ReadonlyMap<string, readonly string[]>;
}

/**
 * Decides the outcome of each row, and locks the affected patients, identity
 * keys and cohorts until the transaction ends. The order of the locks is that
 * of save-patient.ts: known patients, keys of new patients, cohorts. A dry run
 * takes no locks. Throws OvertakenError when another transaction was faster.
 */
export async function judgeChunk(
  tx: AccountTx,
  job: BulkJob,
  chunk: PreparedChunk,
): Promise<JudgedChunk> {
  if (job.dryRun) return (await judge(tx, job, chunk, 'read')).judged;
  const newcomers = job.expectsNew
    ? await judgeAsNew(tx, job, chunk)
    : undefined;
  if (newcomers !== undefined) return newcomers;
  let { judged, references } = await judge(tx, job, chunk, 'lock');
  if (!(await claimNewKeys(tx, claimsOf(judged)))) {
    // Another transaction took some keys first and has committed; the others
    // stay blocked for everyone else. Judge again, but without waiting for a
    // patient's lock: waiting for patients while blocking keys could deadlock.
    await releaseKeys(tx, claimsOf(judged));
    ({ judged, references } = await judge(tx, job, chunk, 'lock-nowait'));
    if (!(await claimNewKeys(tx, claimsOf(judged))))
      throw new OvertakenError(
        'an identity key was taken by another transaction meanwhile',
      );
  }
  await references.holdCohorts();
  job.expectsNew = judged.patients.size === 0;
  return judged;
}

/**
 * Judges the rows as if no patient held any of their keys, and inserts all
 * keys, which saves looking them up. Returns undefined, having inserted none,
 * when a patient holds one of them.
 */
async function judgeAsNew(
  tx: AccountTx,
  job: BulkJob,
  chunk: PreparedChunk,
): Promise<JudgedChunk | undefined> {
  const { judged, references } = await judge(tx, job, chunk, 'assume-new');
  // The keys of a refused row are not inserted, so it would remain unknown
  // whether a patient holds them.
  const hasAll = judged.outcomes.every(
    ({ kind }) => kind === 'created' || kind === 'updated',
  );
  if (!hasAll || !(await insertKeys(tx, claimsOf(judged)))) return undefined;
  await references.holdCohorts();
  return judged;
}

/** `assume-new`: as if no patient had any of the keys. */
async function judge(
  tx: AccountTx,
  job: BulkJob,
  chunk: PreparedChunk,
  mode: ReadMode | 'assume-new',
) {
  const known =
    mode === 'assume-new' ? noneKnown() : await findKnown(tx, job, chunk, mode);
  const references = await checkReferences(tx, job.facilityId, chunk.lines);

  const lines = chunk.lines.map((line) => {
    const errors = references.errorsOf(line);
    return errors.length === 0
      ? line
      : { ...line, errors: [...line.errors, ...errors] };
  });
  const matched = lines.filter(
    (line): line is MatchedRow =>
      line.person !== undefined && line.errors.length === 0,
  );
  const rows = matched.map(({ row, person, cohorts }) => ({
    row,
    keys: person.keys,
    wantsTreatment: cohorts.some(({ id }) =>
      references.treatmentCohorts.has(id),
    ),
  }));
  const { trialRows } = known;
  const newId = createIdSource(rows.length);
  const folded = foldRows(rows, known.persons, {
    newId: ({ row }) => {
      const id = newId();
      if (job.dryRun) trialRows.set(id, row);
      return id;
    },
    compare: createComparison(matched, known.patients, known.trialIdentifiers),
    ownKeys: (place) => matched[place]?.person.ownKeys() ?? [],
    whyFull: createRoomCheck(matched, known.patients, job.facilityId),
  });
  const created = folded.outcomes.flatMap(({ kind }, place) => {
    const externalId = matched[place]?.person.facts.externalId;
    return kind === 'created' && externalId ? [externalId] : [];
  });
  const judged: JudgedChunk = {
    ...chunk,
    ...folded,
    lines,
    matched,
    patients: known.patients,
    trialRows,
    externalIdHolders: await findExternalIdHolders(tx, job.requestId, created),
  };
  return { judged, references };
}

const noneKnown = () => ({
  persons: [],
  patients: new Map<string, StoredPatient>(),
  trialRows: new Map<string, number>(),
  trialIdentifiers: new Map<string, PersonalIdentifier[]>(),
});

/** The keys that no patient holds yet, with the person that will hold each. */
export const claimsOf = ({
  persons,
}: Pick<JudgedChunk, 'persons'>): KeyHolder[] =>
  persons.flatMap(({ id, newKeys }) =>
    newKeys.map((key) => ({ personId: id, key })),
  );

/**
 * The persons that hold these keys, oldest first; in a dry run also those that
 * earlier rows would have created.
 */
async function findKnown(
  tx: AccountTx,
  { requestId, dryRun }: BulkJob,
  chunk: PreparedChunk,
  mode: ReadMode,
) {
  // A row may be of another person than the one who holds its keys, with keys
  // of the own SSN or licence.
  const own = chunk.lines.flatMap(({ person }) => person?.ownKeys() ?? []);
  const keys = [...new Set([...chunk.keys, ...own])];
  const holders = await findKeyHolders(tx, keys);
  const trialHolders = dryRun
    ? await findTrialKeyHolders(tx, requestId, keys)
    : [];

  const keysOf = new Map<string, string[]>();
  const trialRows = new Map<string, number>();
  for (const { personId, key } of [...holders, ...trialHolders])
    keysOf.set(personId, [...(keysOf.get(personId) ?? []), key]);
  for (const { personId, firstRow } of trialHolders)
    if (firstRow !== null) trialRows.set(personId, firstRow);

  const patientIds = [...keysOf.keys()].filter((id) => !trialRows.has(id));
  const patients = await readImportedPatients(tx, patientIds, mode);
  const inTrial = [...trialRows]
    .sort(([, left], [, right]) => left - right)
    .map(([id]) => ({ id, treatmentRelationship: true }));
  const knownPersons: KnownPerson[] = [...patients, ...inTrial];
  return {
    persons: knownPersons.map((person) => ({
      person,
      keys: keysOf.get(person.id) ?? [],
    })),
    patients: new Map(patients.map((patient) => [patient.id, patient])),
    trialRows,
    trialIdentifiers: dryRun
      ? await findTrialIdentifiers(tx, requestId, [...keysOf.keys()])
      : new Map<string, PersonalIdentifier[]>(),
  };
}

/**
 * Makes up to `count` ascending UUIDv7 from one clock reading and one draw of
 * randomness.
 */
function createIdSource(count: number): () => string {
  const random = randomBytes(16 * count);
  const msecs = Date.now();
  const firstSeq = count === 0 ? 0 : random.readUInt32BE(0) >>> 1;
  let used = 0;
  return () => {
    const id = uuidv7({
      msecs,
      seq: firstSeq + used,
      random: random.subarray(16 * used, 16 * used + 16),
    });
    used += 1;
    return id;
  };
}

interface References {
  /** Cohorts of these rows that are for treatment. */
  treatmentCohorts: ReadonlySet<string>;
  /** Errors for the facility and cohort ids of a row that do not exist. */
  errorsOf(line: PreparedRow): RowError[];
  /**
   * Locks the cohorts until the transaction ends. Throws OvertakenError when
   * one was changed or deleted meanwhile.
   */
  holdCohorts(): Promise<void>;
}

/**
 * Looks up the facilities and cohorts that the rows name, without locking them.
 */
async function checkReferences(
  tx: AccountTx,
  defaultFacilityId: string,
  lines: readonly PreparedRow[],
): Promise<References> {
  const facilityIds = new Set([
    defaultFacilityId,
    ...lines.flatMap(({ facility }) => facility?.id ?? []),
  ]);
  const knownFacilities = await findFacilityIds(tx, [...facilityIds]);
  const cohortIds = [
    ...new Set(lines.flatMap(({ cohorts }) => cohorts.map(({ id }) => id))),
  ];
  const cohorts = await findCohorts(tx, cohortIds);
  const knownCohorts = new Set(cohorts.map(({ id }) => id));
  const treatment = cohorts.filter(
    ({ purposeOfUse }) => purposeOfUse === 'treatment',
  );
  return {
    treatmentCohorts: new Set(treatment.map(({ id }) => id)),
    errorsOf(line) {
      const { column, id } = line.facility ?? {
        column: 'facilityId',
        id: defaultFacilityId,
      };
      const noFacility = knownFacilities.has(id)
        ? []
        : [{ column, message: `there is no facility ${id}` }];
      const noCohorts = line.cohorts.filter(
        (cohort) => !knownCohorts.has(cohort.id),
      );
      return [
        ...noFacility,
        ...noCohorts.map((cohort) => ({
          column: cohort.column,
          message: `there is no cohort ${cohort.id}`,
        })),
      ];
    },
    async holdCohorts() {
      const held = await holdCohorts(tx, cohortIds);
      if (!isSameJson(held.map(purposeOf), cohorts.map(purposeOf)))
        throw new OvertakenError(
          'a cohort of these rows was changed meanwhile',
        );
    },
  };
}

const purposeOf = ({ id, purposeOfUse }: NamedCohort) => ({ id, purposeOfUse });

/** The part of a row that goes into its patient. */
type ContentRow = Pick<PreparedRow, 'facility'> & { person: PreparedPerson };

/**
 * The patient's content after these rows, merged in file order; undefined
 * without a patient and rows.
 */
export function contentAfter(
  patient: PatientContent | undefined,
  rows: readonly ContentRow[],
  defaultFacilityId: string,
): PatientContent | undefined {
  let content = patient;
  for (const { person, facility } of rows) {
    const facilityId = facility?.id ?? defaultFacilityId;
    content =
      content === undefined
        ? newContent(person.given, person.facts, [facilityId])
        : mergedContent(content, person.given, person.facts, facilityId);
  }
  return content;
}

/**
 * Makes a comparison of the SSNs and licences of a row with those that the
 * patient and the rows that are taken for the person so far have; in a dry run
 * also those of earlier chunks.
 */
function createComparison(
  rows: readonly ContentRow[],
  patients: ReadonlyMap<string, PatientContent>,
  trial: ReadonlyMap<string, readonly PersonalIdentifier[]>,
) {
  return (person: { id: string; rows: readonly number[] }, place: number) => {
    const given = rows[place]?.person.given;
    if (given === undefined || given.personalIdentifiers.length === 0)
      return 'unknown';
    const known = [
      ...(patients.get(person.id)?.personalIdentifiers ?? []),
      ...(trial.get(person.id) ?? []),
      ...person.rows.flatMap(
        (before) => rows[before]?.person.given.personalIdentifiers ?? [],
      ),
    ];
    return compareIdentifiers({ personalIdentifiers: known }, given);
  };
}

/**
 * Makes a check that returns why a row no longer fits its person (a list would
 * exceed its limit), given the rows that the person already has; undefined when
 * it fits. Adding up the sizes usually proves that it fits; only otherwise are
 * the rows merged. A dry run does not know what earlier chunks would have added
 * to a person who is not yet a patient.
 */
function createRoomCheck(
  rows: readonly ContentRow[],
  patients: ReadonlyMap<string, PatientContent>,
  defaultFacilityId: string,
) {
  /** Upper bounds of the lengths of each person's lists so far. */
  const sizes = new Map<string, ListSizes>();
  return (
    person: { id: string; rows: readonly number[] },
    place: number,
  ): string | undefined => {
    const row = rows[place];
    if (row === undefined) return undefined;
    const patient = patients.get(person.id);
    const most = addedSizes(sizes.get(person.id) ?? sizesOf(patient), row);
    if (overfullList(person.id, sizesOf(undefined), most) === undefined) {
      sizes.set(person.id, most);
      return undefined;
    }
    const taken = person.rows.flatMap((before) => rows[before] ?? []);
    const content = contentAfter(patient, taken, defaultFacilityId);
    const before = sizesOf(content);
    const after = sizesOf(contentAfter(content, [row], defaultFacilityId));
    const overfull = overfullList(person.id, before, after);
    sizes.set(person.id, overfull === undefined ? after : before);
    return overfull?.message;
  };
}

const addedSizes = (
  sizes: ListSizes,
  { person: { given } }: ContentRow,
): ListSizes => ({
  addresses: sizes.addresses + given.addresses.length,
  contacts: sizes.contacts + given.contacts.length,
  personalIdentifiers:
    sizes.personalIdentifiers + given.personalIdentifiers.length,
  // A file has no column for them.
  additionalIdentifiers: sizes.additionalIdentifiers,
  formerExternalIds: sizes.formerExternalIds + 1,
  facilityIds: sizes.facilityIds + 1,
});
