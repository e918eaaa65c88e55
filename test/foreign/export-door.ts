import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { createExportRunner } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import { registerClientCommand } from '../../src/exchange/operations/admin/clients.ts';
import type { AdminTarget } from '../../src/exchange/operations/admin/command.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { samples } from '../support/deliveries.ts';
import { createFhirDoor, type FhirDoor } from '../support/fhir-door.ts';

/**
 * The FHIR API on a port of its own, with records and a registered client
 * (SMART Backend Services).
 */
export interface ExportDoor {
  door: FhirDoor;
  /** Address of the FHIR API. */
  base: string;
  clientId: string;
  /** File with the client's private keys. */
  privateKeys: string;
}

/**
 * Starts it with three sample patients. Exports are written in this process.
 */
export async function startExportDoor(folder: string): Promise<ExportDoor> {
  const port = await freePort();
  const publicBaseUrl = `http://127.0.0.1:${port}`;
  const door = await createFhirDoor({
    publicBaseUrl,
    bulkExports: {
      launch: (accountId, exportId) => void work({ accountId, exportId }),
      stop: () => undefined,
    },
  });
  async function work(of: {
    accountId: string;
    exportId: string;
  }): Promise<void> {
    const runner = createExportRunner({ ...door, publicBaseUrl });
    await runner.listPatients(of);
    await runner.writeSlices(of);
  }
  for (const sample of samples.slice(0, 3)) await door.addSample(sample);
  const pair = await generateKeyPair('ES384', { extractable: true });
  const keys = async (key: typeof pair.privateKey, use: string) =>
    JSON.stringify({
      keys: [
        { ...(await exportJWK(key)), alg: 'ES384', kid: 'k', key_ops: [use] },
      ],
    });
  const publicKeys = join(folder, 'public.jwks');
  const privateKeys = join(folder, 'private.jwks');
  await writeFile(publicKeys, await keys(pair.publicKey, 'verify'));
  await writeFile(privateKeys, await keys(pair.privateKey, 'sign'));
  const { document } = await registerClientCommand(
    { store: door.store } as AdminTarget,
    {
      account: door.accountId,
      jwksFile: publicKeys,
      scopes: 'system/*.rs',
    },
  );
  await door.gateway.app.listen({ host: '127.0.0.1', port });
  return {
    door,
    base: `${publicBaseUrl}/fhir/R4`,
    clientId: String(document.clientId),
    privateKeys,
  };
}
