import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cp,
  mkdir,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { makeTestFolder } from '../support/test-folder.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const GREETING = "export const greeting: string = 'hello';\n";
const PROGRAM = `import { readFileSync } from 'node:fs';
import { greeting } from './parts/greeting.ts';

interface Said { text: string }
const said: Said = { text: greeting };
console.log(JSON.stringify({
  said: said.text,
  beside: readFileSync(new URL('beside.txt', import.meta.url), 'utf8'),
  url: import.meta.url,
  argv: process.argv.slice(1),
  stack: new Error('here').stack,
}));
`;

/** A project with one program, as it lies where run.mjs does. */
async function project(folder = ''): Promise<string> {
  const root = join(await realpath(await makeTestFolder()), folder);
  for (const part of ['src/parts', 'tools'])
    await mkdir(join(root, part), { recursive: true });
  for (const file of ['run.mjs', 'tsconfig.json', 'package.json'])
    await cp(join(ROOT, file), join(root, file));
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  await writeFile(join(root, 'src/parts/greeting.ts'), GREETING);
  await writeFile(join(root, 'src/beside.txt'), 'beside it');
  await writeFile(join(root, 'src/program.ts'), PROGRAM);
  return root;
}

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

async function run(root: string, ...args: string[]): Promise<Run> {
  const child = spawn(process.execPath, ['run.mjs', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (output.stdout += data));
  child.stderr.on('data', (data) => (output.stderr += data));
  const [code] = await once(child, 'close');
  return { code, ...output };
}

const said = ({ stdout, stderr }: Run) => {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
};
const builds = async (root: string) =>
  (await readdir(join(root, '.cache/programs'))).filter((name) =>
    /^[0-9a-f]{32}$/.test(name),
  );

describe('run.mjs', () => {
  test.each(['', 'Ünsere Daten – 試験/a clone'])(
    'runs a program as Node.js would run it (in "%s")',
    async (folder) => {
      const root = await project(folder);
      const program = join(root, 'src/program.ts');
      for (const _ of ['compiled', 'kept']) {
        const end = await run(root, 'src/program.ts', '--word', 'a b');
        expect(end).toMatchObject({ code: 0, stderr: '' });
        expect(said(end)).toMatchObject({
          said: 'hello',
          beside: 'beside it',
          url: pathToFileURL(program).href,
          argv: [program, '--word', 'a b'],
        });
        expect(said(end).stack).toContain('src/program.ts:11:');
      }
      expect(await builds(root)).toHaveLength(1);
    },
  );

  test('what changed runs at the next start, whatever the time of the file', async () => {
    const root = await project();
    const file = join(root, 'src/parts/greeting.ts');
    const { atime, mtime } = await stat(file);
    expect(said(await run(root, 'src/program.ts')).said).toBe('hello');
    await writeFile(file, GREETING.replace('hello', 'other'));
    await utimes(file, atime, mtime);
    expect(said(await run(root, 'src/program.ts')).said).toBe('other');
    await writeFile(file, GREETING);
    expect(said(await run(root, 'src/program.ts')).said).toBe('hello');
    // What was compiled for the first contents is used again.
    expect(await builds(root)).toHaveLength(2);
    await writeFile(
      join(root, 'src/second.ts'),
      'console.log(\'"second"\');\n',
    );
    expect(said(await run(root, 'src/second.ts'))).toBe('second');
  });

  test('several first starts at once all run, and leave one build', async () => {
    const root = await project();
    const ends = await Promise.all(
      Array.from({ length: 4 }, () => run(root, 'src/program.ts')),
    );
    expect(ends.map((end) => said(end).said)).toEqual(Array(4).fill('hello'));
    expect(new Set(await readdir(join(root, '.cache/programs')))).toEqual(
      new Set([...(await builds(root)), 'all.json']),
    );
  });

  test('a build with a part missing is made again', async () => {
    const root = await project();
    await run(root, 'src/program.ts');
    const record = join(root, '.cache/programs/all.json');
    await writeFile(record, (await readFile(record, 'utf8')).slice(0, 40));
    expect(said(await run(root, 'src/program.ts')).said).toBe('hello');
  });

  test('where nothing can be kept it runs through tsx, and says so', async () => {
    const root = await project();
    await writeFile(join(root, '.cache'), 'a file where the folder would be');
    const end = await run(root, 'src/program.ts', 'word');
    expect(said(end)).toMatchObject({
      said: 'hello',
      argv: [join(root, 'src/program.ts'), 'word'],
    });
    expect(end.stderr).toMatch(
      /^Compiled programs cannot be kept in .* \(E\w+: .+\): .*\n$/,
    );
  });

  test('a package of ES modules is compiled in, and a package within it is its own, not that of the same name beside it', async () => {
    const root = await project();
    await rm(join(root, 'node_modules'));
    await mkdir(join(root, 'node_modules'));
    for (const name of await readdir(join(ROOT, 'node_modules')))
      await symlink(
        join(ROOT, 'node_modules', name),
        join(root, 'node_modules', name),
      );
    const write = async (name: string, type: string, code: string) => {
      await mkdir(join(root, 'node_modules', name), { recursive: true });
      await writeFile(
        join(root, 'node_modules', name, 'package.json'),
        JSON.stringify({ name, type, main: 'index.js' }),
      );
      await writeFile(join(root, 'node_modules', name, 'index.js'), code);
    };
    await write(
      'outer-of-test',
      'module',
      "import inner from 'inner-of-test';\nexport const said = 'outer with '.concat(inner);\n",
    );
    await write(
      'inner-of-test',
      'commonjs',
      "module.exports = 'the one beside';\n",
    );
    await write(
      'outer-of-test/node_modules/inner-of-test',
      'commonjs',
      "module.exports = 'its own';\n",
    );
    await writeFile(
      join(root, 'src/program.ts'),
      "import inner from 'inner-of-test';\nimport { said } from 'outer-of-test';\nconsole.log(JSON.stringify([inner, said]));\n",
    );
    const end = await run(root, 'src/program.ts');
    expect(said(end)).toEqual(['the one beside', 'outer with its own']);
    // Compiled in: it is not looked for any more.
    await writeFile(
      join(root, 'node_modules/outer-of-test/index.js'),
      'throw new Error();\n',
    );
    expect(said(await run(root, 'src/program.ts'))).toEqual(said(end));
  });

  test('code that does not compile is named with its line, and the build before does not run instead', async () => {
    const root = await project();
    await run(root, 'src/program.ts');
    await writeFile(
      join(root, 'src/parts/greeting.ts'),
      'export const greeting = ;\n',
    );
    const { code, stdout, stderr } = await run(root, 'src/program.ts');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /src\/program\.ts does not compile: src\/parts\/greeting\.ts:1: /,
    );
  });

  test.each([
    [[], 'Usage: node run.mjs'],
    [['src/no-such.ts'], 'There is no program src/no-such.ts.'],
  ])('%j: says what it expects, and ends with 2', async (args, message) => {
    const { code, stderr } = await run(ROOT, ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
