import type { FastifyInstance } from 'fastify';
import type { Patient } from 'fhir/r4.js';
import { splitNames } from '../../../contract/primitives.ts';
import { findByIdentityKeys, findPatient, findPatients } from '../../people/patients/patient-store.ts';
import { comparePersons, contradictedIdentifiers } from '../../people/patients/rules/compare-persons.ts';
import type { Demographics, Gender } from '../../people/patients/rules/demographics.ts';
import { identityKeys } from '../../people/patients/rules/identity-keys.ts';
import { gradeMatch, QUALITY_SCORES } from '../../people/patients/rules/match-score.ts';
import { traitsOf, traitsOfPatient } from '../../people/patients/rules/person-traits.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { isJson, type Json, objectsOf, textOf } from '../../records/rules/json.ts';
import { readDescription } from '../../sources/connectors/patient/choose-candidates.ts';
import { entryOf, FHIR_JSON, searchset } from './bundles.ts';
import { type FhirDeps, requireScope } from './requests.ts';
import { readServed } from './search-record.ts';

/** The rule says yes or no, so each match is certain; the score says how much agrees. */
const CERTAIN: Json = {
  url: 'http://hl7.org/fhir/StructureDefinition/match-grade',
  valueCode: 'certain',
};

/** `POST /fhir/R4/Patient/$match`, by the rule of "Match patient": same names, date of birth, gender and a zip in common. */
export function addMatchRoute(app: FastifyInstance, deps: FhirDeps): void {
  app.post(
    '/fhir/R4/Patient/$match',
    { schema: { hide: true }, config: { operation: 'fhirMatch', scope: 'read' }, bodyLimit: BODY_BYTES_MAX },
    async (request, reply) => {
      requireScope(request, 'Patient');
      const { persons, missing } = matchInput(request.body);
      if (missing.length > 0)
        throw new InvalidRequestError(
          missing.map((what) => ({ path: 'Patient', message: `a match needs ${what}` })),
        );
      const { id: accountId } = callerOf(request).account;
      const keys = persons.flatMap((person) => identityKeys(deps.idHmacKey, accountId, person));
      const described = traitsOfPatient(
        readDescription(patientIn(request.body)) ?? { resourceType: 'Patient' },
      );
      const patientId = await deps.store.asAccount(accountId, async (tx) => {
        const holders = await findPatients(tx, await findByIdentityKeys(tx, keys));
        return holders.find((holder) => contradictedIdentifiers(traitsOf(holder), described).length === 0)
          ?.id;
      });
      if (patientId !== undefined) await deps.records.merge(accountId, patientId);
      const { matches, score } =
        patientId === undefined
          ? { matches: [], score: 0 }
          : await deps.store.asAccount(accountId, async (tx) => ({
              matches: await readServed(tx, patientId, [{ resourceType: 'Patient', id: patientId }]),
              score: scoreOf(await findPatient(tx, patientId), readDescription(patientIn(request.body))),
            }));
      await deps.audit.write(request, patientId === undefined ? [] : [patientId]);
      const search = { mode: 'match', score, extension: [CERTAIN] } as const;
      const entries = matches.map(({ json }) =>
        entryOf(deps.base, json, { ...search, extension: [...search.extension] }),
      );
      const links = [{ relation: 'self', url: `${deps.base}/Patient/$match` }] as const;
      const bundle = searchset({ links, total: entries.length }, entries, []);
      return reply.type(FHIR_JSON).header('cache-control', 'no-store').send(JSON.stringify(bundle));
    },
  );
}

/** The score of a match by identity keys, which prove names, date of birth, gender and a zip. (docs/matching.md) */
function scoreOf(ours: Demographics | undefined, theirs: Patient | undefined): number {
  const proven = QUALITY_SCORES['very-good'];
  if (ours === undefined || theirs === undefined) return proven;
  return Math.max(proven, gradeMatch(comparePersons(traitsOf(ours), traitsOfPatient(theirs))).score);
}

const BODY_BYTES_MAX = 64 * 1024;

export type MatchPerson = Pick<Demographics, 'firstNames' | 'lastNames' | 'dob' | 'gender' | 'addresses'>;

const GENDERS: Readonly<Record<string, Gender>> = { male: 'M', female: 'F', other: 'O', unknown: 'U' };

/**
 * The persons that the Patient in the Parameters of `$match` may be, one for each of its names; and what is missing for our
 * rule, which needs first and last name, date of birth, gender and a zip.
 */
function matchInput(parameters: unknown): { persons: MatchPerson[]; missing: string[] } {
  const patient = patientIn(parameters);
  if (patient === undefined) return { persons: [], missing: ['a parameter "resource" with a Patient'] };
  const dob = textOf(patient.birthDate);
  const gender = GENDERS[textOf(patient.gender) ?? ''];
  const zips = objectsOf(patient.address).flatMap(({ postalCode }) =>
    /^\d{5}(-?\d{4})?$/.test(textOf(postalCode) ?? '') ? [String(postalCode)] : [],
  );
  const names = objectsOf(patient.name)
    .map(({ family, given }) => ({
      lastNames: splitNames(textOf(family) ?? ''),
      firstNames: (Array.isArray(given) ? (given as unknown[]) : []).flatMap((each) =>
        splitNames(textOf(each) ?? ''),
      ),
    }))
    .filter(({ firstNames, lastNames }) => firstNames.length > 0 && lastNames.length > 0)
    .slice(0, NAMES_MAX);
  const missing = [
    names.length === 0 && 'name with family and given',
    !/^\d{4}-\d{2}-\d{2}$/.test(dob ?? '') && 'birthDate (a full date)',
    gender === undefined && 'gender',
    zips.length === 0 && 'address.postalCode (5 digits, or ZIP+4)',
  ].filter((each) => each !== false);
  if (missing.length > 0 || dob === undefined || gender === undefined) return { persons: [], missing };
  const addresses = zips
    .slice(0, ZIPS_MAX)
    .map((zip) => ({ addressLine1: '', city: '', state: '', zip, country: 'USA' }));
  return { persons: names.map((name) => ({ ...name, dob, gender, addresses })), missing: [] };
}

const NAMES_MAX = 10;
const ZIPS_MAX = 20;

/** Accepts Parameters, or the Patient itself. */
function patientIn(body: unknown): Json | undefined {
  if (!isJson(body)) return undefined;
  if (body.resourceType === 'Patient') return body;
  const resource = objectsOf(body.parameter).find(({ name }) => name === 'resource')?.resource;
  return isJson(resource) && resource.resourceType === 'Patient' ? resource : undefined;
}
