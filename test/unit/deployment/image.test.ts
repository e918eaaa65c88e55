import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseKeyRing } from '../../../src/lib/key-ring.ts';
import { cloudSecrets } from '../../support/compose-cloud.ts';
import { compose, ROOT, readText } from '../../support/compose-file.ts';

const execute = promisify(execFile);

describe('the image', () => {
  const dockerfile = readText('Dockerfile');
  const copied = [
    ...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm),
  ].flatMap(([, from = '']) => from.split(' '));

  test('is made of files that are there and not kept out of the build', () => {
    const kept = readText('.dockerignore').match(/^!.+$/gm) ?? [];
    expect(copied.length).toBeGreaterThan(3);
    for (const path of copied) {
      expect(existsSync(join(ROOT, path))).toBe(true);
      expect(kept).toContain(`!${path.split('/')[0]}`);
    }
  });

  test('holds no secrets and runs as a plain user', () => {
    expect(readText('.dockerignore')).toMatch(/^deploy\/secrets$/m);
    expect(readText('.gitignore')).toMatch(/^deploy\/secrets\/$/m);
    expect(dockerfile.match(/^USER (.+)$/gm)).toEqual(['USER node']);
    expect(dockerfile).not.toMatch(/\b(API_KEY|PASSWORD|TOKEN)=/);
  });

  test('names no registry', () => {
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24-[a-z-]+$/m);
    expect(dockerfile).not.toMatch(/https?:|--registry/);
  });

  test('installs what the processes import without the development packages', async () => {
    const { dependencies } = JSON.parse(readText('package.json')) as {
      dependencies: Record<string, string>;
    };
    const files = (
      await readdir(join(ROOT, 'src'), { recursive: true })
    ).filter((name) => name.endsWith('.ts'));
    const imported = new Set<string>();
    for (const file of files)
      for (const [, name = ''] of (
        await readFile(join(ROOT, 'src', file), 'utf8')
      ).matchAll(
        /^(?:import(?! type)|export)[^;]*? from '((?:@[\w-]+\/)?[\w.-]+)[^']*';/gm,
      ))
        if (
          !name.startsWith('.') &&
          !name.startsWith('node:') &&
          name !== 'node'
        )
          imported.add(name);
    expect([...imported].filter((name) => !(name in dependencies))).toEqual([]);
  });
});

describe('npm run secrets', () => {
  test('makes exactly the files that docker-compose.yml and docker-compose.cloud.yml mount, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'secrets-'));
    const make = () =>
      execute(process.execPath, ['src/make-secrets.ts', join(folder, 's')], {
        cwd: ROOT,
      });
    const read = async (name: string) =>
      (await readFile(join(folder, 's', name), 'utf8')).trim();
    try {
      await make();
      const mounted = Object.keys({ ...compose.secrets, ...cloudSecrets });
      expect((await readdir(join(folder, 's'))).sort()).toEqual(mounted.sort());
      const [dataKeys, url, password] = await Promise.all(
        ['data-keys', 'database-url', 'service-db-password'].map(read),
      );
      expect(parseKeyRing(dataKeys ?? '').primaryKeyId).toBe('k1');
      expect(url).toContain(`:${password}@postgres:5432/`);
      expect((await stat(join(folder, 's'))).mode & 0o777).toBe(0o700);

      await make();
      expect(await read('data-keys')).toBe(dataKeys);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
