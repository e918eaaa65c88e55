import { parseArgs } from 'node:util';
import { readConfig } from '../src/config.ts';
import { DataFolderInUseError } from '../src/local-stack/stack-lock.ts';
import { BackupError, backUp, restore } from './embedded/backup/backup.ts';

const USAGE = `npm run backup -- --to <new folder> [--data-dir <folder>]
npm run restore -- --from <backup> --data-dir <new folder>
`;

/** `npm run backup` and `npm run restore`, for the embedded stack. */
const [command, ...rest] = process.argv.slice(2);
try {
  const options = {
    to: { type: 'string' },
    from: { type: 'string' },
    'data-dir': { type: 'string' },
  } as const;
  const { values } = parseArgs({ args: rest, options });
  const dataDir = values['data-dir'] ?? readConfig(['DATA_DIR']).DATA_DIR;
  const lines =
    command === 'backup' && values.to !== undefined
      ? await backUp(dataDir, values.to)
      : command === 'restore' && values.from !== undefined
        ? await restore(values.from, dataDir)
        : undefined;
  if (lines === undefined) process.exitCode = 2;
  process.stdout.write(lines === undefined ? USAGE : `${lines.join('\n')}\n`);
} catch (error) {
  const isAsked =
    error instanceof BackupError || error instanceof DataFolderInUseError;
  process.stderr.write(
    `${error instanceof Error && isAsked ? error.message : String(error)}\n`,
  );
  process.exitCode = 1;
}
