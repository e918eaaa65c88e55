import type { FastifyInstance } from 'fastify';
import { findByIdentityKeys } from '../patients/patient-store.ts';
import { identityKeys } from '../patients/rules/identity-keys.ts';
import { InvalidRequestError } from '../platform/errors.ts';
import { callerOf } from '../platform/http/plugins/auth.ts';
import type { Json } from '../records/rules/json.ts';
import { entryOf, FHIR_JSON, searchset } from './bundles.ts';
import type { FhirDeps } from './deps.ts';
import { matchInput } from './rules/match-input.ts';
import { requireScope } from './scope-check.ts';
import { readServed } from './served-resources.ts';

/** Our rule says yes or no, so that each match is certain. */
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
      const [patientId] = await deps.store.asAccount(accountId, (tx) => findByIdentityKeys(tx, keys));
      if (patientId !== undefined) await deps.records.merge(accountId, patientId);
      const matches =
        patientId === undefined
          ? []
          : await deps.store.asAccount(accountId, (tx) =>
              readServed(tx, patientId, [{ resourceType: 'Patient', id: patientId }]),
            );
      await deps.audit.write(request, patientId === undefined ? [] : [patientId]);
      const search = { mode: 'match', score: 1, extension: [CERTAIN] } as const;
      const entries = matches.map(({ json }) =>
        entryOf(deps.base, json, { ...search, extension: [...search.extension] }),
      );
      const links = [{ relation: 'self', url: `${deps.base}/Patient/$match` }] as const;
      const bundle = searchset({ links, total: entries.length }, entries, []);
      return reply.type(FHIR_JSON).header('cache-control', 'no-store').send(JSON.stringify(bundle));
    },
  );
}

const BODY_BYTES_MAX = 64 * 1024;
