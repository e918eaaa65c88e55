import { execFileSync } from 'node:child_process';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import {
  type CommandOutcome,
  runCommandLine,
} from '../../../src/lib/command-line.ts';
import { EXIT } from '../../../src/lib/exit-codes.ts';
import { renderTable } from '../../../src/lib/table.ts';
import { addBulkCommands } from '../../../src/starter/command-line/bulk.ts';
import { runStarter } from '../../../src/starter/program.ts';

async function run(
  argv: readonly string[],
  define: (
    program: Command,
    print: (outcome: CommandOutcome) => Promise<void>,
  ) => void,
) {
  const written = { out: '', err: '' };
  const exitCode = await runCommandLine(argv, {
    name: 'tool',
    define,
    describe: (error) => ({
      message: `no: ${(error as Error).message}`,
      exitCode: EXIT.refused,
    }),
    out(text) {
      written.out += text;
    },
    err(text) {
      written.err += text;
    },
  });
  return { exitCode, ...written };
}
const outcome = {
  exitCode: EXIT.partial,
  lines: ['a line', 'another'],
  document: { found: 1 },
};

test('a command prints lines for people, and one document with the exit code for programs', async () => {
  const define = (
    program: Command,
    print: (given: CommandOutcome) => Promise<void>,
  ) =>
    void program
      .command('find')
      .option('--json')
      .action(() => print(outcome));
  expect(await run(['find'], define)).toEqual({
    exitCode: 3,
    out: 'a line\nanother\n',
    err: '',
  });
  const { exitCode, out } = await run(['find', '--json'], define);
  expect([exitCode, JSON.parse(out)]).toEqual([3, { found: 1, exitCode: 3 }]);
});

test('a reader that closes the output, as head does, ends the command with 130 and without a message', async () => {
  let err = '';
  const exitCode = await runCommandLine(['find'], {
    name: 'tool',
    define: (program, print) =>
      void program.command('find').action(() => print(outcome)),
    describe: () => ({
      message: 'The database cannot be reached',
      exitCode: EXIT.error,
    }),
    out: () =>
      Promise.reject(
        Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
      ),
    err: (text) => (err += text),
  });
  expect([exitCode, err]).toEqual([130, '']);
});

test('an error is one message on stderr, and with --json one document on stdout', async () => {
  const define = (program: Command) =>
    void program
      .command('find')
      .option('--json')
      .action(() => Promise.reject(new Error('not there')));
  expect(await run(['find'], define)).toEqual({
    exitCode: 5,
    out: '',
    err: 'no: not there\n',
  });
  const failed = await run(['find', '--json'], define);
  expect(JSON.parse(failed.out)).toEqual({
    error: 'no: not there',
    exitCode: 5,
  });
  const unknown = await run(['found', '--json'], define);
  expect(unknown.exitCode).toBe(EXIT.usage);
  expect(JSON.parse(unknown.out)).toMatchObject({ exitCode: EXIT.usage });
});

test('the shell completes commands, their own commands and their options', async () => {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) };
  await runStarter(['completion'], {
    stdout,
    stderr: stdout,
    interrupted: new AbortController().signal,
  });
  const completed = (...words: string[]): string[] => {
    const typed = words.map((word) => `'${word}'`).join(' ');
    const asked = `COMP_WORDS=(starter ${typed}); COMP_CWORD=${words.length}; _starter; echo "\${COMPREPLY[*]}"`;
    return execFileSync('bash', ['-c', `${written.join('')}\n${asked}`], {
      encoding: 'utf8',
    })
      .trim()
      .split(' ');
  };
  expect(completed('onb')).toEqual(['onboard']);
  expect(completed('cohorts', 'a')).toEqual(['add']);
  expect(completed('bulk', 's')).toEqual(['status']);
  expect(completed('bulk', '--dr')).toEqual(['--dry-run']);
  expect(completed('bulk', 'status', '--o')).toEqual(['--out']);
});

test.each([
  [
    ['bulk', 'status', 'a-job', '--out', 'folder', '--json'],
    { out: 'folder', json: true },
  ],
  [['bulk', 'panel.csv', '--dry-run', '--json'], { dryRun: true, json: true }],
])(
  'options go to the command after whose name they stand: %j',
  async (argv, options) => {
    const given: unknown[] = [];
    await run(argv, (program) => {
      program.enablePositionalOptions();
      addBulkCommands(
        program,
        () =>
          async (...all) =>
            void given.push(all.at(-2)),
      );
    });
    expect(given).toEqual([expect.objectContaining(options)]);
  },
);

test('words of strangers show as they are: they move no cursor, add no line and end no colour of the terminal', async () => {
  const hostile = 'Dr\u001b[2J\u001b]0;title\u0007 R\u202eossi\r\nforged';
  const [, , row] = renderTable(['opened by'], [[hostile]]);
  const { out } = await run(['show'], (program, print) => {
    program
      .command('show')
      .action(() =>
        print({ lines: [row ?? '', '\u001b[31mred\u001b[39m'], document: {} }),
      );
  });
  expect(out).toBe(
    'Dr\\u001b[2J\\u001b]0;title\\u0007 R\\u202eossi\\u000d forged\n\u001b[31mred\u001b[39m\n',
  );
});
