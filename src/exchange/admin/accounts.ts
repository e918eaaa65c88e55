import { v7 as uuidv7 } from 'uuid';
import {
  type Dialect,
  insertAccount,
  listAccounts,
  lockAccount,
  updateAccount,
} from '../accounts/account-store.ts';
import { insertAuditEntry } from '../platform/audit/audit-store.ts';
import { type SystemTx, withinAccount } from '../platform/database/database.ts';
import { changedSettings, type SettingOptions } from './account-settings.ts';
import { ADMIN_ACTOR, AdminError, type AdminResult, type AdminTarget, shortTime } from './command.ts';

export interface AccountOptions extends SettingOptions {
  name?: string;
  dialect?: Dialect;
}

/** `accounts create`. All sources are enabled by default. */
export async function createAccountCommand(
  { store }: AdminTarget,
  { name = '', dialect, ...options }: AccountOptions,
): Promise<AdminResult> {
  const id = uuidv7();
  const settings = changedSettings({}, { sources: 'hie,pharmacy,lab', ...options });
  await store.asSystem(async (tx) => {
    await insertAccount(tx, { id, name: checkedName(name), dialect, settings });
    await auditAdmin(tx, id, 'createAccount', id);
  });
  return {
    document: { account: { id, name: name.trim(), dialect: dialect ?? 'interface', settings } },
    lines: [`Created account ${id}. Create its first key with: npm run admin -- keys create --account ${id}`],
  };
}

export async function listAccountsCommand({ store }: AdminTarget): Promise<AdminResult> {
  const accounts = await store.asSystem(listAccounts);
  return {
    document: { accounts },
    table: {
      head: ['account', 'name', 'dialect', 'sources', 'keys', 'created'],
      rows: accounts.map(({ id, name, dialect, settings, activeKeys, createdAt }) => [
        id,
        name,
        dialect,
        Object.entries(settings.sources ?? {})
          .flatMap(([source, { enabled }]) => (enabled ? [source] : []))
          .join(' ') || 'none',
        String(activeKeys),
        shortTime(createdAt),
      ]),
    },
  };
}

/** `accounts set`. Takes effect immediately for API keys, and within five seconds for tokens of our orchestrator. */
export async function changeAccountCommand(
  { store }: AdminTarget,
  accountId: string,
  { name, dialect, ...options }: AccountOptions,
): Promise<AdminResult> {
  const account = await store.asSystem(async (tx) => {
    const known = await lockAccount(tx, accountId);
    if (known === undefined) throw noAccount(accountId);
    const changed = {
      name: name === undefined ? known.name : checkedName(name),
      dialect: dialect ?? known.dialect,
      settings: changedSettings(known.settings, options),
    };
    await updateAccount(tx, accountId, changed);
    await auditAdmin(tx, accountId, 'changeAccount', accountId);
    return { id: accountId, ...changed };
  });
  return {
    document: { account },
    lines: [`${account.name} (${account.dialect})`, JSON.stringify(account.settings, null, 2)],
  };
}

/** Throws AdminError if the account does not exist. */
export async function requireAccount(tx: SystemTx, accountId: string): Promise<void> {
  if ((await lockAccount(tx, accountId)) === undefined) throw noAccount(accountId);
}

export const auditAdmin = (
  tx: SystemTx,
  accountId: string,
  operation: string,
  targetId: string,
): Promise<void> =>
  withinAccount(tx, accountId, (own) =>
    insertAuditEntry(own, { actor: ADMIN_ACTOR, operation, targetId, outcome: 'done' }),
  );

const noAccount = (accountId: string): AdminError =>
  new AdminError(`Account ${accountId} not found; list all accounts with: npm run admin -- accounts list`);

function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length >= 1 && trimmed.length <= 200) return trimmed;
  throw new AdminError('--name must have 1 to 200 characters, such as --name "Harborview"');
}
