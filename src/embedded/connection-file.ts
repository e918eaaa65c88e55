import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { lockHolder } from './stack-lock.ts';

/** How to reach a running stack; holds secrets (the key, the database's password), so it is its owner's only. */
export const connectionSchema = z.object({
  pid: z.number().int().positive(),
  /** Of the gateway. */
  baseUrl: z.url(),
  apiKey: z.string(),
  accountId: z.uuid(),
  facilityId: z.uuid(),
  temporalAddress: z.string(),
  temporalNamespace: z.string(),
  /** Absent for a cluster whose UI we do not know. */
  temporalUiUrl: z.url().optional(),
  /** Opens the UI of our own Temporal in one browser, once; the next link takes its place here. */
  temporalUiLink: z.url().optional(),
  databaseUrl: z.string(),
  simulatorUrl: z.url(),
  /** Of the webhook receiver: `/webhooks` and `/intake` are below it. */
  receiverUrl: z.url(),
  /** Bearer token of the simulator's `/admin`. */
  simulatorAdminToken: z.string().optional(),
  /** For the Temporal CLI, which needs the token too: TEMPORAL_CODEC_ENDPOINT and TEMPORAL_CODEC_AUTH (`Bearer …`). */
  codecUrl: z.url().optional(),
  codecToken: z.string().optional(),
});
export type StackConnection = z.infer<typeof connectionSchema>;

/** Thrown when there is no running stack on the data folder. */
export class NoStackError extends Error {
  override readonly name = 'NoStackError';
}

const fileOf = (dataDir: string): string => join(dataDir, 'connection.json');

export const writeConnection = (dataDir: string, connection: StackConnection): Promise<void> =>
  writeJsonFile(fileOf(dataDir), connection);

export const removeConnection = (dataDir: string): Promise<void> => rm(fileOf(dataDir), { force: true });

/** Reads where the running stack is. Throws NoStackError when there is none, or the one that wrote it is gone. */
export async function readConnection(dataDir: string): Promise<StackConnection> {
  const connection = await readJsonFile(fileOf(dataDir), connectionSchema);
  if (connection === undefined)
    throw new NoStackError(`No stack runs on ${dataDir}; start it with: npm start`);
  if ((await lockHolder(dataDir)) !== connection.pid)
    throw new NoStackError(
      `The stack that wrote ${fileOf(dataDir)} is not running; start it with: npm start`,
    );
  return connection;
}
