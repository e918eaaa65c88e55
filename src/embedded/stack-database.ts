import { createStore } from '../exchange/store/database.ts';
import { type SeededAccount, seedDemoAccount } from '../exchange/store/seed.ts';

/** Brings the schema up to date and makes sure of the demo account. */
export async function prepareDatabase(
  databaseUrl: string,
  seed: { apiKey: string; webhookUrl: string; webhookKey: string },
): Promise<SeededAccount> {
  const store = createStore({ databaseUrl, poolMax: 2 });
  try {
    await store.migrate();
    return await seedDemoAccount(store, seed);
  } finally {
    await store.close();
  }
}
