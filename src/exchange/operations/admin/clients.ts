import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import {
  findClient,
  insertClient,
  listClients,
  revokeClient,
} from '../../access/fhir-clients/client-store.ts';
import { parseFhirScope } from '../../access/fhir-clients/rules/fhir-scopes.ts';
import {
  FHIR_PATH,
  RESPONDER_PATH,
} from '../../platform/http/operation-outcome.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';
import { auditAdmin, ofAccount } from './accounts.ts';
import { type AdminCommand, AdminError, shortTime } from './command.ts';
import type { CreateKeyOptions } from './keys.ts';

export interface RegisterClientOptions
  extends Pick<CreateKeyOptions, 'account' | 'label'> {
  jwksUrl?: string;
  jwksFile?: string;
  /** Separated by blanks or commas. */
  scopes: string;
  /** It is a network's, called `label`. */
  network?: boolean;
}

/**
 * `clients register`: a program that gets tokens of the FHIR API with a key
 * pair of its own.
 */
export const registerClientCommand: AdminCommand<
  [RegisterClientOptions]
> = async ({ store }, options) => {
  const { account: accountId, label, network: isNetwork } = options;
  const scopes = parseScopes(options.scopes);
  if (isNetwork && label === undefined)
    throw new AdminError(
      'A network needs its name: --label; disclosures name it as the recipient',
    );
  const keys = await keysOf(options.jwksUrl, options.jwksFile);
  const id = uuidv7();
  await ofAccount(store, accountId, async (tx) => {
    await insertClient(tx, { id, accountId, label, keys, scopes, isNetwork });
    await auditAdmin(tx, accountId, 'registerClient', id);
  });
  return {
    document: {
      clientId: id,
      accountId,
      label,
      scopes,
      jwksUrl: options.jwksUrl,
    },
    lines: [
      id,
      '',
      `This is the client_id. The client finds the token endpoint at <gateway>${isNetwork ? RESPONDER_PATH : FHIR_PATH}/.well-known/smart-configuration.`,
    ],
  };
};

export const listClientsCommand: AdminCommand<[string]> = async (
  { store },
  accountId,
) => {
  const clients = await ofAccount(store, accountId, (tx) =>
    listClients(tx, accountId),
  );
  return {
    document: {
      accountId,
      clients: clients.map(
        ({ id, label, scopes, jwks_url, created_at, revoked_at }) => ({
          clientId: id,
          label,
          scopes,
          jwksUrl: jwks_url,
          createdAt: created_at,
          revokedAt: revoked_at,
        }),
      ),
    },
    table: {
      head: ['client id', 'label', 'scopes', 'keys', 'created', 'state'],
      rows: clients.map(
        ({ id, label, scopes, jwks_url, created_at, revoked_at }) => [
          id,
          label ?? '–',
          scopes.join(' '),
          jwks_url ?? 'given',
          shortTime(created_at),
          revoked_at === null ? 'active' : 'revoked',
        ],
      ),
    },
  };
};

/** `clients revoke`. Its tokens are invalid from now on. */
export const revokeClientCommand: AdminCommand<[string]> = async (
  { store },
  id,
) => {
  await store.asSystem(async (tx) => {
    const client = await findClient(tx, id);
    if (client === undefined)
      throw new AdminError(
        'Client not found; give its id, as listed by: npm run admin -- clients list',
      );
    if (!(await revokeClient(tx, id)))
      throw new AdminError('The client has already been revoked');
    await auditAdmin(tx, client.account_id, 'revokeClient', id);
  });
  return {
    document: { clientId: id, revoked: true },
    lines: [`Revoked the client ${id} and its tokens.`],
  };
};

function parseScopes(text: string): string[] {
  const scopes = text.split(/[\s,]+/).filter((word) => word !== '');
  const known = scopes.map((scope) => {
    const parsed = parseFhirScope(scope, (type) => SERVED_TYPES.includes(type));
    if (parsed === undefined)
      throw new AdminError(
        `"${scope}" is not a scope; expected system/*.rs or system/<Type>.rs`,
      );
    return parsed;
  });
  if (known.length === 0)
    throw new AdminError('Give at least one scope, such as system/*.rs');
  return [...new Set(known)].sort();
}

async function keysOf(
  url: string | undefined,
  file: string | undefined,
): Promise<{ jwks: JSONWebKeySet } | { jwksUrl: string }> {
  if ((url === undefined) === (file === undefined))
    throw new AdminError('Give either --jwks-url or --jwks-file');
  if (url !== undefined) {
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
      throw new AdminError('--jwks-url must be an https address');
    return { jwksUrl: url };
  }
  const text = await readFile(file ?? '', 'utf8').catch((cause: unknown) => {
    throw new AdminError('The file of --jwks-file cannot be read', { cause });
  });
  return { jwks: parseJwks(text) };
}

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'];

function parseJwks(text: string): JSONWebKeySet {
  try {
    const jwks = JSON.parse(text) as JSONWebKeySet;
    createLocalJWKSet(jwks);
    if (jwks.keys.length > 0 && jwks.keys.length <= 20) {
      if (
        jwks.keys.some((key) => PRIVATE_MEMBERS.some((member) => member in key))
      )
        throw new AdminError(
          'The file contains a private key; give the public keys only',
        );
      return jwks;
    }
  } catch (error) {
    if (error instanceof AdminError) throw error;
  }
  throw new AdminError(
    'The file is not a JSON Web Key Set with 1 to 20 keys: {"keys": [ … ]}',
  );
}
