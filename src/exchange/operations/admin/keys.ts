import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { EMBED_TOKEN_SECONDS_MAX } from '../../../contract/embed.ts';
import { SCOPES, type Scope } from '../../../contract/scope.ts';
import { instantIn } from '../../../lib/time.ts';
import { listAccounts } from '../../access/accounts/account-store.ts';
import {
  findApiKeys,
  insertApiKey,
  listApiKeys,
  revokeApiKey,
  type StoredKey,
} from '../../access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../access/accounts/rules/api-key.ts';
import { revokeEmbedToken } from '../../access/embed-tokens/token-store.ts';
import {
  findAuditedEmbedToken,
  insertAuditEntriesIn,
} from '../../platform/audit/audit-store.ts';
import { withinAccount } from '../../platform/database/database.ts';
import {
  listPublishedKeys,
  rotateSigningKeys,
} from '../../sources/connections/signing-keys.ts';
import { auditAdmin, ofAccount } from './accounts.ts';
import {
  ADMIN_ACTOR,
  type AdminCommand,
  AdminError,
  shortTime,
} from './command.ts';

export interface CreateKeyOptions {
  account: string;
  label?: string;
  /** Separated by commas. */
  scopes: string;
  /** `90d`, or an ISO 8601 date or time. */
  expires?: string;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * `keys create`. The key is only in the output; only its hash is stored. An
 * account may have any number of keys.
 */
export const createKeyCommand: AdminCommand<[CreateKeyOptions]> = async (
  { store },
  { account: accountId, label, scopes, expires },
) => {
  const id = uuidv7();
  const key = generateApiKey();
  const parts = parseApiKey(key);
  if (parts === undefined)
    throw new Error('generateApiKey returned an invalid key');
  const granted = parseScopes(scopes);
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires);
  await ofAccount(store, accountId, async (tx) => {
    await insertApiKey(tx, {
      id,
      accountId,
      ...parts,
      label,
      scopes: granted,
      expiresAt,
    });
    await auditAdmin(tx, accountId, 'createKey', id);
  });
  return {
    document: {
      key,
      id,
      prefix: parts.prefix,
      accountId,
      scopes: granted,
      expiresAt,
    },
    lines: [
      key,
      '',
      'Save the key now: it is not stored and cannot be shown again.',
    ],
  };
};

export const listKeysCommand: AdminCommand<[string]> = async (
  { store },
  accountId,
) => {
  const keys = await ofAccount(store, accountId, (tx) =>
    listApiKeys(tx, accountId),
  );
  return {
    document: {
      accountId,
      keys: keys.map((key) => ({ ...key, state: keyState(key) })),
    },
    table: {
      head: [
        'prefix',
        'id',
        'label',
        'scopes',
        'created',
        'expires',
        'last used',
        'state',
      ],
      rows: keys.map((key) => [
        key.prefix,
        key.id,
        key.label ?? '–',
        key.scopes.join(' '),
        shortTime(key.createdAt),
        shortTime(key.expiresAt),
        shortTime(key.lastUsedAt),
        keyState(key),
      ]),
    },
  };
};

/**
 * `keys revoke`, by id or prefix (the part before the second `_`). Embed tokens
 * created with the key become invalid too.
 */
export const revokeKeyCommand: AdminCommand<[string]> = async (
  { store },
  idOrPrefix,
) => {
  const { prefix, id } = await store.asSystem(async (tx) => {
    const [key, another] = await findApiKeys(tx, idOrPrefix);
    if (key === undefined)
      throw new AdminError(
        'Key not found; give its id or prefix (mdx_ and eight characters), as listed by: npm run admin -- keys list',
      );
    if (another !== undefined)
      throw new AdminError(
        'Several keys have this prefix; give the id instead',
      );
    if (!(await revokeApiKey(tx, key.id)))
      throw new AdminError(`The key ${key.prefix} has already been revoked`);
    await auditAdmin(tx, key.accountId, 'revokeKey', key.id);
    return key;
  });
  return {
    document: { id, prefix, revoked: true },
    lines: [`Revoked the key ${prefix}. It is invalid from now on.`],
  };
};

function keyState({
  revokedAt,
  expiresAt,
}: StoredKey): 'active' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt.getTime() <= Date.now()
    ? 'expired'
    : 'active';
}

function parseScopes(text: string): Scope[] {
  const scopes = text.split(',').map((word) => {
    const scope = SCOPES.find((known) => known === word.trim());
    if (scope === undefined)
      throw new AdminError(
        `"${word.trim()}" is not a scope; expected ${SCOPES.join(', ')}`,
      );
    return scope;
  });
  return [...new Set(scopes)];
}

function parseExpiry(text: string): Date {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const time =
    days === undefined
      ? instantIn(text)
      : new Date(Date.now() + Number(days) * DAY_MS);
  if (time !== undefined && time.getTime() > Date.now()) return time;
  throw new AdminError(
    time === undefined
      ? `"${text}" is not a time; expected 90d, 2027-01-31 (UTC) or 2027-01-31T12:00:00Z`
      : `${text} is in the past; give a later time`,
  );
}

/**
 * Revokes an embed token, given itself or its id from the audit (`embed:<id>`).
 * Other tokens of the same key stay valid.
 */
export const revokeEmbedTokenCommand: AdminCommand<[string]> = async (
  { store },
  tokenOrId,
) => {
  const id = tokenOrId.includes('.')
    ? idIn(tokenOrId)
    : tokenOrId.replace(/^embed:/, '');
  await store.asSystem(async (tx) => {
    const made = await findAuditedEmbedToken(tx, id);
    if (made === undefined)
      throw new AdminError(
        'Embed token not found; give the token, or its id from the audit',
      );
    const { accountId, at } = made;
    const expiresAt = new Date(at.getTime() + EMBED_TOKEN_SECONDS_MAX * 1000);
    if (!(await revokeEmbedToken(tx, { tokenId: id, accountId, expiresAt })))
      throw new AdminError(`The embed token ${id} has already been revoked`);
    await auditAdmin(tx, accountId, 'revokeEmbedToken', id);
  });
  return {
    document: { id, revoked: true },
    lines: [`Revoked the embed token ${id}. It is invalid from now on.`],
  };
};

function idIn(token: string): string {
  try {
    return decodeJwt(token).jti ?? '';
  } catch {
    throw new AdminError(
      'The text is not an embed token; give the token, or its id from the audit',
    );
  }
}

/**
 * `signing-keys list`: the keys in our JWKS, and from when until when they
 * sign.
 */
export const listSigningKeysCommand: AdminCommand = async ({ store }) => {
  const keys = await store.asSystem(listPublishedKeys);
  return {
    document: { keys: keys.map(({ publicJwk: _, ...key }) => key) },
    table: {
      head: ['kid', 'algorithm', 'signs from', 'published until'],
      rows: keys.map(({ kid, algorithm, signsFrom, publishedUntil }) => [
        kid,
        algorithm,
        shortTime(signsFrom),
        shortTime(publishedUntil),
      ]),
    },
  };
};

/**
 * `signing-keys rotate`: new keys, which sign after the overlap, or at once.
 * They are those of the installation, so the audit of every account has an
 * entry per new key.
 */
export const rotateSigningKeysCommand: AdminCommand<
  [boolean],
  'store' | 'openKeyRing'
> = async ({ store, openKeyRing }, atOnce) => {
  const keyRing = await openKeyRing();
  await store.asSystem(async (tx) => {
    const operation = atOnce ? 'rotateSigningKeyAtOnce' : 'rotateSigningKey';
    const kids = await rotateSigningKeys(tx, keyRing, atOnce);
    const entries = kids.map((kid) => ({
      actor: ADMIN_ACTOR,
      operation,
      targetId: kid,
      outcome: 'done',
    }));
    for (const { id } of await listAccounts(tx))
      await withinAccount(tx, id, (own) => insertAuditEntriesIn(own, entries));
  });
  const { document, table } = await listSigningKeysCommand({ store });
  return { document, table };
};
