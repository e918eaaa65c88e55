import { join } from 'node:path';
import { CommandError, runCommand } from '../../../src/lib/run-command.ts';
import { fillCache, findCached } from '../../../src/temporal/server-binary/cache.ts';

/** A program that its Go module is built into. The versions are those of docker-compose.yml. */
interface GoProgram {
  readonly fileName: string;
  readonly module: string;
  readonly binary: string;
}

const SERVER = '1.32.0';
const UI = '2.54.1';
const PROGRAMS = {
  server: {
    fileName: `temporal-server-${SERVER}`,
    module: `go.temporal.io/server/cmd/server@v${SERVER}`,
    binary: 'server',
  },
  schema: {
    fileName: `temporal-sql-tool-${SERVER}`,
    module: `go.temporal.io/server/cmd/tools/sql@v${SERVER}`,
    binary: 'sql',
  },
  ui: {
    fileName: `temporal-ui-server-${UI}`,
    module: `github.com/temporalio/ui-server/v2/cmd/server@v${UI}`,
    binary: 'server',
  },
} as const satisfies Record<string, GoProgram>;

/** The paths of the server, its schema tool and its UI. */
export type TemporalPrograms = Readonly<Record<keyof typeof PROGRAMS, string>>;

/** The server alone took ten minutes on two busy cores. */
const BUILD_TIMEOUT_MS = 60 * 60_000;

/** Returns the programs from the cache, and builds what is not there. Throws when there is no Go, or a build fails. */
export async function getTemporalPrograms(log: (line: string) => void): Promise<TemporalPrograms> {
  const paths: [string, string][] = [];
  for (const [name, program] of Object.entries(PROGRAMS))
    paths.push([name, (await findCached(program.fileName)) ?? (await build(program, log))]);
  return Object.fromEntries(paths) as TemporalPrograms;
}

async function build({ fileName, module, binary }: GoProgram, log: (line: string) => void): Promise<string> {
  await runCommand('go', ['version'], { timeoutMs: 10_000 }).catch((error: unknown) => {
    throw error instanceof CommandError && error.code === 'ENOENT'
      ? new Error('Go is not on the PATH')
      : error;
  });
  log(`Building ${module} with Go, once (minutes) …`);
  return fillCache(fileName, async (folder) => {
    const install = ['go', 'install', '-trimpath', '-ldflags=-s -w', module];
    await runCommand('env', [`GOBIN=${folder}`, 'CGO_ENABLED=0', ...install], {
      timeoutMs: BUILD_TIMEOUT_MS,
    });
    return join(folder, binary);
  });
}
