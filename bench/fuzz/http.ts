import { execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { callGateway, startTestStack } from '../../test/support/stack.ts';

const VERSION = '4.32.5';
const VENV = fileURLToPath(
  new URL(`../../.cache/schemathesis-${VERSION}`, import.meta.url),
);
const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
const CHECKS = fileURLToPath(
  new URL('schemathesis-checks.py', import.meta.url),
);
/** A share of the time, because an embed token opens few operations. */
const SHARE_OF_EMBED_TOKEN = 0.2;

const run = promisify(execFile);
const print = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Returns the path of the program, installed from PyPI once; undefined, with a
 * word about why, if it cannot be had.
 */
async function findSchemathesis(): Promise<string | undefined> {
  const program = join(VENV, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  print(`Installing schemathesis ${VERSION} from PyPI …`);
  try {
    await run('python3', ['-m', 'venv', VENV]);
    await run(join(VENV, 'bin', 'pip'), [
      'install',
      '--quiet',
      `schemathesis==${VERSION}`,
    ]);
    return program;
  } catch (error) {
    await rm(VENV, { recursive: true, force: true });
    const reason =
      error instanceof Error
        ? error.message.split('\n').slice(-3).join(' ')
        : String(error);
    print(
      `Skipped: schemathesis cannot be had here; it needs python3 (3.10 or newer) with venv, and PyPI. ${reason}`,
    );
    return undefined;
  }
}

/**
 * Checks all operations of the OpenAPI document with this credential. Resolves
 * with the exit code.
 */
async function check(
  program: string,
  of: {
    baseUrl: string;
    header: string;
    seed: number;
    seconds: number;
    folder: string;
  },
): Promise<number> {
  const options = {
    '--header': of.header,
    '--max-time': String(Math.max(1, Math.round(of.seconds))),
    '--seed': String(of.seed),
    '--checks': 'all',
    '--warnings': 'off',
    '--generation-database': 'none',
  };
  const child = spawn(
    program,
    [
      '--config-file',
      CONFIG,
      'run',
      `${of.baseUrl}/openapi.json`,
      ...Object.entries(options).flat(),
    ],
    {
      cwd: of.folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, SCHEMATHESIS_HOOKS: CHECKS },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

const { minutes, seed } = new Command('npm run fuzz:http --')
  .description(
    'Checks a stack made for it with schemathesis: all operations and checks, by API key and by embed token.',
  )
  .option('--minutes <n>', 'duration', Number, 5)
  .option(
    '--seed <n>',
    'the same seed gives the same requests',
    Number,
    randomInt(2 ** 31),
  )
  .parse()
  .opts<{ minutes: number; seed: number }>();

const program = await findSchemathesis();
if (program !== undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-fuzz-http-'));
  const stack = await startTestStack({
    dataDir: join(folder, 'stack'),
    logLevel: 'warn',
  });
  try {
    print(`seed ${seed}`);
    const account = await stack.addAccount();
    const { body } = await callGateway(
      stack.connection,
      account,
      'POST',
      'token/embed',
    );
    const { baseUrl } = stack.connection;
    const seconds = minutes * 60;
    const byKey = await check(program, {
      baseUrl,
      seed,
      folder,
      header: `x-api-key: ${account.apiKey}`,
      seconds: seconds * (1 - SHARE_OF_EMBED_TOKEN),
    });
    const byToken = await check(program, {
      baseUrl,
      seed,
      folder,
      header: `Authorization: Bearer ${body.token}`,
      seconds: seconds * SHARE_OF_EMBED_TOKEN,
    });
    process.exitCode = Math.max(byKey, byToken);
  } finally {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
