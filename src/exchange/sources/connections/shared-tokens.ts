import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { DecryptionError, type KeyRing } from '../../../lib/key-ring.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { SourceFailure } from '../connectors/connector.ts';
import type {
  IssuedToken,
  SharedTokens,
} from '../connectors/http/auth/token-request.ts';
import type { ResolvedSourceConfig } from '../connectors/source-config.ts';

const CLAIM_TOKEN = sqlFile('claim-token.sql', import.meta.url);

/** Longer than a token request may take. */
const CLAIM_MS = 60_000;
const POLL_MS = 200;

/**
 * Tokens in PostgreSQL, encrypted. Whoever finds a token due claims it,
 * requests a new one outside of any transaction and stores it; the others use
 * the old token while it lasts, or wait for the new one.
 */
export function createSharedTokens(
  store: Pick<Store, 'asSystem'>,
  keyRing: KeyRing,
): SharedTokens {
  async function renew(
    name: string,
    purpose: string,
    request: () => Promise<IssuedToken>,
  ) {
    try {
      const token = await request();
      const sealed = keyRing.encrypt(Buffer.from(token.authorization), purpose);
      const renewAt = new Date(token.renewAtMs);
      const endsAt = new Date(token.endsAtMs);
      await store.asSystem((tx) =>
        saveToken(tx, name, {
          sealed,
          renewAt,
          endsAt,
          missingScopes: token.missingScopes,
        }),
      );
      return token;
    } catch (error) {
      await store.asSystem((tx) => releaseToken(tx, name));
      throw error;
    }
  }

  return {
    async obtain(config, request) {
      const { name, purpose } = tokenName(config);
      const giveUpAtMs = Date.now() + CLAIM_MS;
      for (;;) {
        const stored = await store.asSystem((tx) =>
          claimToken(tx, name, CLAIM_MS),
        );
        if (stored.isClaimed) return renew(name, purpose, request);
        const authorization = stored.isEnded
          ? undefined
          : unsealed(keyRing, stored.sealed, purpose);
        if (authorization !== undefined)
          return {
            authorization,
            renewAtMs: stored.renewAt?.getTime() ?? 0,
            endsAtMs: stored.endsAt?.getTime() ?? 0,
            ...(stored.missingScopes === null
              ? {}
              : { missingScopes: stored.missingScopes }),
          };
        // Encrypted for other credentials, or with a key that is gone.
        const { sealed } = stored;
        if (!stored.isEnded && sealed !== null)
          await store.asSystem((tx) => forgetToken(tx, name, sealed));
        else if (Date.now() >= giveUpAtMs)
          throw new SourceFailure(
            'transport',
            `${config.source} did not answer the token request`,
          );
        else await delay(POLL_MS);
      }
    },

    async discard(config, authorization) {
      const { name, purpose } = tokenName(config);
      await store.asSystem(async (tx) => {
        const sealed = await readToken(tx, name);
        if (
          sealed !== undefined &&
          unsealed(keyRing, sealed, purpose) === authorization
        )
          await forgetToken(tx, name, sealed);
      });
    },
  };
}

/**
 * The credentials are part of the purpose, so a token obtained with other
 * credentials does not decrypt.
 */
function tokenName({
  connectionKey,
  networkKey,
  baseUrl,
  auth,
  purposeOfUse,
}: ResolvedSourceConfig) {
  const credentials = hash(
    'sha256',
    JSON.stringify([baseUrl.href, auth]),
    'base64url',
  );
  // A token that was requested for one purpose must not be used for another
  // one.
  const ofServer =
    auth.kind === 'udap' ? `${connectionKey}/${purposeOfUse}` : connectionKey;
  // Those of a network are deleted with the connection to it.
  const name =
    networkKey === undefined ? ofServer : `${networkKey}/${ofServer}`;
  return { name, purpose: `source-token/${name}/${credentials}` };
}

function unsealed(
  keyRing: KeyRing,
  sealed: Buffer | null,
  purpose: string,
): string | undefined {
  if (sealed === null) return undefined;
  try {
    return keyRing.decrypt(sealed, purpose).toString('utf8');
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

export interface StoredToken {
  sealed: Buffer | null;
  isDue: boolean;
  isEnded: boolean;
  renewAt: Date | null;
  endsAt: Date | null;
  missingScopes: string[] | null;
}

/**
 * The token of this name, and whether the caller is to request a new one: at
 * most one caller at a time is.
 */
async function claimToken(
  tx: SystemTx,
  name: string,
  claimMs: number,
): Promise<StoredToken & { isClaimed: boolean }> {
  const claim = sql`now() + ${claimMs} * interval '1 millisecond'`;
  const { rows } = await CLAIM_TOKEN<StoredToken & { isClaimed: boolean }>({
    name,
    claim,
  }).execute(tx.db);
  const [row] = rows;
  // Deleted between the two reads: the next call inserts it.
  const never = {
    sealed: null,
    renewAt: null,
    endsAt: null,
    missingScopes: null,
  };
  return row ?? { ...never, isDue: true, isEnded: true, isClaimed: false };
}

/** Stores a new token and ends the claim. */
async function saveToken(
  tx: SystemTx,
  name: string,
  token: {
    sealed: Buffer;
    renewAt: Date;
    endsAt: Date;
    missingScopes?: readonly string[];
  },
): Promise<void> {
  await tx.db
    .updateTable('source_token')
    .set({
      ...columnsOf(token),
      missing_scopes:
        token.missingScopes === undefined ? null : [...token.missingScopes],
      requested_until: null,
    })
    .where('name', '=', name)
    .execute();
}

/** Ends a claim without a token, so that the next caller tries at once. */
async function releaseToken(tx: SystemTx, name: string): Promise<void> {
  await tx.db
    .updateTable('source_token')
    .set({ requested_until: null })
    .where('name', '=', name)
    .execute();
}

/** Forgets the stored token if it is still this one. */
async function forgetToken(
  tx: SystemTx,
  name: string,
  sealed: Buffer,
): Promise<void> {
  await tx.db
    .updateTable('source_token')
    .set({ sealed: null, renew_at: null, ends_at: null })
    .where(({ and }) => and({ name, sealed }))
    .execute();
}

async function readToken(
  tx: SystemTx,
  name: string,
): Promise<Buffer | undefined> {
  const row = await tx.db
    .selectFrom('source_token')
    .select('sealed')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.sealed ?? undefined;
}
