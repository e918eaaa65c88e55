import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canonicalJson } from '#record-summary/fhir';
import type { AccountTx } from '../../platform/database/database.ts';
import { ExchangeError } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import { requireUnchanged } from '../../records/reading/record-store.ts';
import { requireScope } from '../fhir-api/requests.ts';
import { findBase } from './export-store.ts';
import {
  type ExportRouteDeps,
  KICK_OFF,
  kickOff,
  type WantedExport,
} from './routes.ts';
import { OWN_TYPES } from './rules/view-run.ts';
import { createDefinitionReader } from './views/definition-reader.ts';
import { READY_VIEWS } from './views/ready-views.ts';
import { readViewRequest, type ViewRequest } from './views/view-plan.ts';

const schema = { hide: true };
const VIEWS_PATH = `${FHIR_PATH}/ViewDefinition`;

/**
 * SQL on FHIR v2: the ready-made ViewDefinitions, and `$viewdefinition-export`,
 * whose runs are exports (routes.ts).
 */
export function addViewRoutes(
  app: FastifyInstance,
  deps: ExportRouteDeps,
): void {
  const config = { operation: 'fhirReadView', scope: 'read' } as const;
  app.get(
    VIEWS_PATH,
    { schema, config, exposeHeadRoute: false },
    async (_, reply) => {
      const entry = [...READY_VIEWS].map(([id, resource]) => ({
        fullUrl: `${deps.publicBaseUrl}${VIEWS_PATH}/${id}`,
        resource,
      }));
      const bundle = {
        resourceType: 'Bundle',
        type: 'searchset',
        total: entry.length,
        entry,
      };
      return reply.type('application/fhir+json').send(JSON.stringify(bundle));
    },
  );
  const reader = createDefinitionReader();
  app.addHook('onClose', () => reader.close());
  app.post(
    `${VIEWS_PATH}/$viewdefinition-export`,
    { schema, config: KICK_OFF },
    kickOff(deps, async (request) => {
      const { account } = callerOf(request);
      const wanted = await readViewRequest(request.body, (definitions) =>
        reader.read(account.id, definitions),
      );
      const { plan, cohortId } = wanted;
      const types = [
        ...new Set(plan.views.map(({ resource }) => resource)),
      ].sort();
      // What our own tables say of sources needs the scope of the resources
      // that tell of origins.
      for (const type of types)
        requireScope(request, OWN_TYPES.includes(type) ? 'Provenance' : type);
      const key = viewRequestKey(request, wanted);
      return async (tx): Promise<WantedExport> => {
        const base = await baseOf(tx, wanted, key);
        const view = { plan, key, baseId: base?.id };
        return { cohortId, types, typeFilters: {}, since: base?.since, view };
      };
    }),
  );
}

/** The same for runs of the same caller, cohort, form and definitions. */
const viewRequestKey = (
  request: FastifyRequest,
  { plan: { isDeidentified, views }, cohortId }: ViewRequest,
): string =>
  hash(
    'sha256',
    canonicalJson([
      callerOf(request).actor,
      cohortId ?? null,
      isDeidentified,
      views.map(({ name, resource, definition }) => ({
        name,
        resource,
        definition,
      })),
    ]),
  );

/**
 * The run that an incremental one follows, and from when on changes count.
 * Undefined: everything is written.
 *
 * @throws ExchangeError 422 when nothing tells which patients have left since
 *   then, 410 when more is withheld by now
 */
async function baseOf(
  tx: AccountTx,
  { since, isIncremental }: ViewRequest,
  key: string,
): Promise<{ id: string; since: string } | undefined> {
  if (since === undefined && !isIncremental) return undefined;
  const base = await findBase(tx, key, since);
  if (base === undefined && since === undefined) return undefined;
  if (base === undefined)
    throw new ExchangeError(
      422,
      'No completed run of these views for these patients from that time is known, so the patients that have left since cannot be listed; run them whole, without _since',
    );
  try {
    await requireUnchanged(tx, base.created_at, { exportId: base.id });
  } catch (error) {
    // Rows that are withheld by now must go, so an incremental run is whole.
    if (since === undefined && error instanceof ExchangeError) return undefined;
    throw error;
  }
  return { id: base.id, since: since ?? base.transaction_time.toISOString() };
}
