import type { AdminTarget } from '../../src/exchange/operations/admin/command.ts';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import type { BlobNames } from '../../src/exchange/platform/blobs/verify-blobs.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { testKeyRing } from './test-keys.ts';

export interface AdminRun {
  exitCode: number;
  out: string;
  err: string;
  /** biome-ignore lint/suspicious/noExplicitAny: what a program reads */
  document: any;
}

/** Runs one command line of the CLI with `--json` on this database. */
export const runAdminOn = (
  store: Store,
  ...argv: string[]
): Promise<AdminRun> => runAdminWith({ store }, ...argv);

export async function runAdminWith(
  {
    store,
    blobs,
    openAudit = () => Promise.reject(new Error('not asked for here')),
  }: { store: Store; blobs?: BlobNames; openAudit?: AdminTarget['openAudit'] },
  ...argv: string[]
): Promise<AdminRun> {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await runAdmin([...argv, '--json'], {
    write: (text) => void out.push(text),
    writeError: (text) => void err.push(text),
    open: async () => ({
      store: { ...store, close: async () => undefined },
      openKeyRing: async () => testKeyRing(),
      openAudit,
      openTemporal: () => Promise.reject(new Error('not asked for here')),
      openBlobs: async () => {
        if (blobs === undefined) throw new Error('not asked for here');
        const refuse = () => Promise.reject(new Error('not asked for here'));
        return { ...blobs, write: refuse, delete: refuse };
      },
    }),
  });
  const text = out.join('');
  return {
    exitCode,
    out: text,
    err: err.join(''),
    document: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
}
