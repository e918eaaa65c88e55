import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { idSchema } from '../../../../contract/primitives.ts';
import { FairQueue } from '../../../../lib/lanes.ts';
import { fhirJson } from '../../../../lib/written-decimals.ts';
import { NotFoundError } from '../../../platform/errors.ts';
import { callerOf } from '../../../platform/http/caller.ts';
import { FHIR_JSON } from '../bundles.ts';
import {
  checkSearch,
  type FhirDeps,
  pairsOf,
  requireScope,
} from '../requests.ts';
import { requirePatient } from '../search-routes.ts';
import { ipsProfile } from './ips-claims.ts';
import { ipsDocument, SUMMARY_TYPES } from './ips-document.ts';

const WITHOUT_EFFECT = ['_format', '_pretty'];
/** The profiles that `profile` may ask for, with or without their version. */
const PROFILES = ['Bundle', 'Composition']
  .map(ipsProfile)
  .flatMap((url) => [url, url.split('|')[0]]);

/**
 * Summaries in the making: a gateway makes each in one piece on its only thread,
 * and an account has its own one after the other. As many wait as requests may.
 */
const SUMMARIES = {
  atOnce: 2,
  ofOneAtOnce: 1,
  waiting: Number.POSITIVE_INFINITY,
  ofOneWaiting: Number.POSITIVE_INFINITY,
};

/**
 * `GET` and `POST /fhir/R4/Patient/<id>/$summary`: the International Patient
 * Summary of a patient.
 */
export function addSummaryRoutes(app: FastifyInstance, deps: FhirDeps): void {
  const turns = new FairQueue(SUMMARIES);
  const summary = async (
    request: FastifyRequest<{ Params: { id: string } }>,
    reply: FastifyReply,
  ) => {
    const known = idSchema.safeParse(request.params.id.toLowerCase());
    if (!known.success) throw new NotFoundError('Patient');
    for (const type of SUMMARY_TYPES) requireScope(request, type);
    const { id: accountId } = callerOf(request).account;
    const patientId = known.data;
    await requirePatient(deps, accountId, patientId);
    const pairs = pairsOf(request);
    const asked = pairs.filter(([name]) => name === 'profile');
    checkSearch(request, {
      faults: asked
        .filter(([, value]) => !PROFILES.includes(value))
        .map(([parameter]) => ({
          parameter,
          message: `is not served here; the only one is ${ipsProfile('Bundle')}`,
        })),
      ignored: pairs
        .map(([name]) => name)
        .filter((name) => ![...WITHOUT_EFFECT, 'profile'].includes(name)),
    });
    await deps.records.merge(accountId, patientId);
    const document = await turns.run(accountId, async () => {
      const made = await ipsDocument(deps.store, {
        accountId,
        patientId,
        base: deps.base,
      });
      // Others first, before the next one is made in one piece.
      await setImmediate();
      return fhirJson(made);
    });
    await deps.audit.write(request, [patientId]);
    return reply
      .type(FHIR_JSON)
      .header('cache-control', 'no-store')
      .send(document);
  };
  const path = `${deps.path}/Patient/:id/$summary`;
  const options = {
    schema: { hide: true },
    config: { operation: 'fhirSummary', scope: 'read' as const },
  };
  app.get(path, { ...options, exposeHeadRoute: false }, summary);
  app.post(path, options, summary);
}
