import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeError } from '../../../src/starter/errors.ts';
import { prepareOutFolder } from '../../../src/starter/output/out-folder.ts';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const ID = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';

let exchange: Stub;
let folder: string;
beforeEach(async () => {
  exchange = await startStub();
  folder = await mkdtemp(join(tmpdir(), 'out-'));
});
afterEach(async () => {
  await exchange.close();
  await rm(folder, { recursive: true, force: true });
});

describe('where the result cannot be saved, --out is refused before anything is sent:', () => {
  const COMMANDS = [
    ['records', ID, '--format', 'pdf'],
    ['documents', ID],
    ['export'],
    ['bulk', 'samples/panel.csv', '--send-anyway'],
  ];
  const run = (command: readonly string[], out: string) =>
    starter([
      ...command,
      '--out',
      out,
      '--base-url',
      exchange.url,
      '--api-key',
      'key',
    ]);
  const expectRefusal = async (
    command: readonly string[],
    out: string,
    reason: string,
  ) => {
    const { exitCode, stderr } = await run(command, out);
    expect([exitCode, exchange.requests.length]).toEqual([2, 0]);
    expect(stderr).toMatch(
      /^Cannot save into \/.+?: [^\n]+\. Pass (another|a folder as) --out\.\n$/,
    );
    expect(stderr).toContain(reason);
  };

  // Node.js never ends making folders there recursively.
  test.runIf(process.platform === 'linux').each(COMMANDS)(
    '%s below /proc',
    async (...command) => {
      await expectRefusal(
        command,
        '/proc/none/deeper/record',
        'nothing can be created there',
      );
    },
  );

  test.each(COMMANDS)('%s below a file', async (...command) => {
    await writeFile(join(folder, 'file'), '');
    await expectRefusal(
      command,
      join(folder, 'file', 'deeper', 'record'),
      'part of the path is a file',
    );
  });

  test.runIf(process.getuid?.() !== 0).each(COMMANDS)(
    '%s without permission',
    async (...command) => {
      await chmod(folder, 0o500);
      await expectRefusal(
        command,
        join(folder, 'deeper', 'record'),
        'permission denied',
      );
    },
  );

  test.each(COMMANDS)('%s with a name that is too long', async (...command) => {
    await expectRefusal(
      command,
      join(folder, 'x'.repeat(300), 'record'),
      'the name is too long',
    );
  });

  test.each([['documents', ID], ['export']])(
    '%s into a device',
    async (...command) => {
      await expectRefusal(command, '/dev/null', 'it is not a folder');
    },
  );
});

test('folders of --out are made for their owner, and the check leaves nothing in them', async () => {
  const out = join(folder, 'one', 'two');
  await Promise.all([
    prepareOutFolder(out),
    prepareOutFolder(join(folder, 'one')),
  ]);
  expect((await stat(join(folder, 'one'))).mode & 0o777).toBe(0o700);
  expect(await readdir(out)).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'a disk that fills up later is said in words',
  async () => {
    const error: unknown = await writeFile('/dev/full', 'x').catch(
      (failure: unknown) => failure,
    );
    expect(describeError(error)).toEqual({
      exitCode: 1,
      message: 'Cannot write the file: the disk is full.',
    });
  },
);
