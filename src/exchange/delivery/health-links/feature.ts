import { sql } from 'kysely';
import { renderSVG } from 'uqr';
import { v7 as uuidv7 } from 'uuid';
import {
  HEALTH_LINK_ATTEMPTS,
  type HealthLink,
} from '../../../contract/health-links.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { ConflictError, orNotFound } from '../../platform/errors.ts';
import type {
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { created, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { Platform } from '../../platform/platform.ts';
import { deleting, removalRecovery } from '../../platform/recovery/recovery.ts';
import { addStaticPage } from '../embed/page-routes.ts';
import {
  healthLinkKey,
  newSecret,
  sha256,
  shlinkOf,
  storedPasscode,
  VIEWER_PATH,
} from './health-link.ts';
import { addOpeningRoutes, type OpeningDeps } from './opening-routes.ts';

/**
 * SMART Health Links to a patient's International Patient Summary
 * (docs/health-links.md).
 */
export const healthLinksFeature = {
  open({ store }: Pick<Platform, 'store'>): OpenFeature {
    // As long as disclosures are accounted for (45 CFR 164.528).
    const remove = (
      limit: number,
    ) => sql`delete from health_link where id in (select id from health_link
      where expires_at < now() - interval '6 years' order by expires_at limit ${limit})`;
    const recovery = removalRecovery(
      'health links that ended long ago',
      async (limit) =>
        Number(
          (await store.asSystem(({ db }) => remove(limit).execute(db)))
            .numAffectedRows,
        ),
    );
    return {
      recoveries: [deleting(recovery)],
      drain: async () => undefined,
    };
  },
  routes({ operations, open }: GatewayScopes, deps: OpeningDeps) {
    addHealthLinkRoutes(operations, deps);
    open((scope) => addOpeningRoutes(scope, deps));
    const page = {
      ...deps,
      folder: new URL('./page/', import.meta.url),
      path: VIEWER_PATH,
    };
    open((scope) => addStaticPage(scope, page));
  },
} satisfies Feature;

/** A patient's links, newest first; with `id`, that one. */
async function readLinks(
  tx: AccountTx,
  patientId: string,
  id: string | null = null,
): Promise<HealthLink[]> {
  const { rows } = await sql<{
    link: HealthLink;
  }>`select health_link_json(l) as link from health_link l
    where patient_id = ${patientId} and id = coalesce(${id}::uuid, id)
    order by created_at desc, id desc limit 200`.execute(tx.db);
  return rows.map(({ link }) => link);
}

function addHealthLinkRoutes(
  operations: Operations,
  {
    linkSigningKey,
    publicBaseUrl,
  }: Pick<OpeningDeps, 'linkSigningKey' | 'publicBaseUrl'>,
): void {
  const knownPatientId = async (tx: AccountTx, id: string) =>
    orNotFound('Patient', await findPatient(tx, id)).id;
  const oneOf = async (tx: AccountTx, patientId: string, id: string) =>
    orNotFound('Health link', (await readLinks(tx, patientId, id))[0]);

  operations.write('createHealthLink', async (tx, { params, body, caller }) => {
    const patientId = await knownPatientId(tx, params.id);
    const { expirationInSeconds, passcode, isOneTime, label } = body;
    const id = uuidv7();
    const secret = newSecret();
    const expiresAt = new Date(Date.now() + expirationInSeconds * 1000);
    const key = healthLinkKey(linkSigningKey, secret);
    const stored =
      passcode === undefined ? null : await storedPasscode(passcode);
    const link = shlinkOf(publicBaseUrl, { ...body, secret, key, expiresAt });
    if (link === undefined)
      throw new ConflictError(
        'The public address of this exchange is too long for health links: at most 80 characters',
      );
    await sql`insert into health_link (id, account_id, patient_id, secret_sha256, key_sha256, label, passcode, attempts_left,
        is_one_time, created_by, expires_at)
      values (${id}, ${tx.accountId}, ${patientId}, ${sha256(secret)}, ${sha256(key)}, ${label ?? null}, ${stored},
        ${HEALTH_LINK_ATTEMPTS}, ${isOneTime}, ${caller.actor}, ${expiresAt})`.execute(
      tx.db,
    );
    const viewerUrl = `${publicBaseUrl}${VIEWER_PATH}#${link}`;
    const shown = {
      link,
      viewerUrl,
      qrCode: renderSVG(viewerUrl, { ecc: 'Q' }),
    };
    return created(
      { ...(await oneOf(tx, patientId, id)), ...shown },
      { patientId, targetId: id },
    );
  });

  operations.read('listHealthLinks', async (tx, { params }) =>
    ok({
      healthLinks: await readLinks(tx, await knownPatientId(tx, params.id)),
    }),
  );

  operations.write('revokeHealthLink', async (tx, { params }) => {
    const patientId = await knownPatientId(tx, params.id);
    const { id } = await oneOf(tx, patientId, params.healthLinkId);
    await sql`update health_link set revoked_at = coalesce(revoked_at, now()) where id = ${id}`.execute(
      tx.db,
    );
    return ok(await oneOf(tx, patientId, id), { patientId, targetId: id });
  });
}
