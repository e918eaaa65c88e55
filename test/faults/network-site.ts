import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { readCredentials } from '#ihe';
import { membershipSettingsSchema } from '../../src/exchange/delivery/responding-gateway/membership-settings.ts';
import { insertMembership } from '../../src/exchange/delivery/responding-gateway/membership-store.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import type { newPerson } from '../support/gateway.ts';
import {
  askerAt,
  STATEMENT,
  type TestAsker,
  THEIR_HOME,
} from '../support/network-members.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../support/stack.ts';
import { test as withStack } from './fault-stack.ts';
import { killPart } from './kill/kill-part.ts';

export interface Site {
  account: StackAccount;
  store: Store;
  /** Asks and sends to the account as another member of its network. */
  asker: TestAsker;
  /** The certificates of that member. */
  member: Awaited<ReturnType<typeof filesIn>>;
}

/** Tests whose account is a member of the stack's network. */
export const test = withStack.extend<{ site: Site }>({
  site: async ({ stack }, use) => {
    const account = await stack.addAccount();
    const { databaseUrl, network } = stack.connection;
    const store = createStore({ databaseUrl, poolMax: 2 });
    const member = await filesIn(network?.member ?? '');
    const id = uuidv7();
    await store.asSystem((tx) =>
      insertMembership(tx, {
        id,
        accountId: account.accountId,
        name: 'Network',
        trusted: member.authority,
        enabled: true,
        settings: membershipSettingsSchema.parse({
          homeCommunity: '2.999.1',
          organizationName: 'Our clinic',
          purposes: ['2.16.840.1.113883.3.18.7.1|TREATMENT'],
          communities: [{ homeCommunity: THEIR_HOME, host: 'localhost' }],
        }),
      }),
    );
    const address = new URL(`/ihe/${id}`, network?.address).href;
    const asker = askerAt(
      address,
      { ...member, credentials: readCredentials(member) },
      member.authority,
      STATEMENT,
    );
    await use({ account, store, asker, member });
    await asker.client.close();
    await store.close();
  },
});

async function filesIn(folder: string) {
  const [certificate = '', privateKey = '', authority = ''] = await Promise.all(
    ['tls.crt', 'tls.key', 'ca.crt'].map((name) =>
      readFile(join(folder, name), 'utf8'),
    ),
  );
  return { certificate, privateKey, authority };
}

export async function addPatient(
  stack: TestStack,
  account: StackAccount,
  person: ReturnType<typeof newPerson>,
): Promise<string> {
  const created = await callGateway(
    stack.connection,
    account,
    'POST',
    `patient?facilityId=${account.facilityId}`,
    { body: person },
  );
  return created.body.id;
}

export const eventsOf = (
  stack: TestStack,
  { accountId }: StackAccount,
  type: string,
) =>
  stack.rows('select id from event where account_id = $1 and type = $2', [
    accountId,
    type,
  ]);

/** SIGKILL to both worker processes; resolves when they run again. */
export const killWorkers = async (stack: TestStack): Promise<void> => {
  await Promise.all([
    killPart(stack, 'worker'),
    killPart(stack, 'worker-background'),
  ]);
};
