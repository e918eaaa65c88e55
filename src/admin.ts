import { givenVariables, readConfig } from './config.ts';
import { readConnection } from './embedded/connection-file.ts';
import type { AdminTarget } from './exchange/admin/command.ts';
import type { CommonOptions } from './exchange/admin/program.ts';
import { runAdmin } from './exchange/admin/run.ts';
import { createStore } from './exchange/store/database.ts';
import { renderTable } from './starter/table.ts';

/** `npm run admin`: accounts, facilities, API keys, audit; on DATABASE_URL, or on the running embedded stack. */
process.exitCode = await runAdmin(process.argv.slice(2), {
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  open,
  renderTable,
});

async function open({ dataDir }: CommonOptions): Promise<AdminTarget> {
  // A data folder that is named counts more than a database that happens to be in the environment.
  const { DATABASE_URL } = dataDir === undefined ? givenVariables(['DATABASE_URL']) : {};
  if (DATABASE_URL !== undefined) return { store: createStore({ databaseUrl: DATABASE_URL, poolMax: 2 }) };
  const connection = await readConnection(dataDir ?? readConfig(['DATA_DIR']).DATA_DIR);
  return { store: createStore({ databaseUrl: connection.databaseUrl, poolMax: 2 }) };
}
