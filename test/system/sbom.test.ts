import { execFileSync, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readText } from '../support/compose-file.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Component {
  name: string;
  version: string;
  properties?: { name: string; value: string }[];
}

test('npm run sbom lists every production dependency in CycloneDX, and marks those of development', () => {
  const { scripts, dependencies } = JSON.parse(readText('package.json')) as {
    scripts: { sbom: string };
    dependencies: Record<string, string>;
  };
  const [file = '', ...args] = scripts.sbom.split(' ');
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  const output = execFileSync(file, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio,
  });
  const { bomFormat, components } = JSON.parse(output) as {
    bomFormat: string;
    components: Component[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const production = components.filter(
    ({ properties = [] }) =>
      !properties.some(({ name }) => name === 'cdx:npm:package:development'),
  );
  const names = new Set(production.map(({ name }) => name));
  expect(Object.keys(dependencies).filter((name) => !names.has(name))).toEqual(
    [],
  );
  expect(names.has('vitest')).toBe(false);
  expect(components.map(({ name }) => name)).toContain('vitest');
});
