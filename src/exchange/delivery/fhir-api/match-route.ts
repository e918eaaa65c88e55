import type { FastifyInstance } from 'fastify';
import type { Patient } from 'fhir/r4.js';
import { findByIdentityKeys, findPatient, findPatients } from '../../people/patients/patient-store.ts';
import { comparePersons, contradictedIdentifiers } from '../../people/patients/rules/compare-persons.ts';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import { identityKeys } from '../../people/patients/rules/identity-keys.ts';
import { gradeMatch, QUALITY_SCORES } from '../../people/patients/rules/match-score.ts';
import { traitsOf, traitsOfPatient } from '../../people/patients/rules/person-traits.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import type { Json } from '../../records/rules/json.ts';
import { readDescription } from '../../sources/connectors/patient/patient-shape.ts';
import { entryOf, FHIR_JSON, searchset } from './bundles.ts';
import type { FhirDeps } from './deps.ts';
import { matchInput, patientIn } from './rules/match-input.ts';
import { requireScope } from './scope-check.ts';
import { readServed } from './served-resources.ts';

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
