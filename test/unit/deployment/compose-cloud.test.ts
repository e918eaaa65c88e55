import { describe, expect, test } from 'vitest';
import { cloudSecrets, cloudServices } from '../../support/compose-cloud.ts';
import { entryOf, isVariable, readText } from '../../support/compose-file.ts';

/** Checked as docker-compose.yml is: there is no container engine here. */
const ofTemporal = cloudServices.filter(
  ([, { environment = {} }]) => 'TEMPORAL_ADDRESS' in environment,
);
const CREDENTIALS = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CA',
  'TEMPORAL_TLS_CERT',
  'TEMPORAL_TLS_KEY',
];
const fileOf = (variable: string) =>
  variable.toLowerCase().replaceAll('_', '-');

describe('docker-compose.cloud.yml replaces the Temporal server by a cluster elsewhere', () => {
  test('all processes that use Temporal, and a tool that prepares the namespace', () => {
    const names = ofTemporal.map(([name]) => name);
    expect(names.sort()).toEqual(
      [
        'deployment',
        'gateway',
        'receiver',
        'replay',
        'starter',
        'temporal-setup',
        'worker',
        'worker-background',
      ].sort(),
    );
    const setup = ofTemporal.find(([name]) => name === 'temporal-setup')?.[1];
    expect(setup && entryOf(setup)).toBe('src/temporal-setup.ts');
    expect(setup?.profiles).toEqual(['setup']);
  });

  test.each(ofTemporal)(
    '%s: has the address of .env, all credentials, and a way out',
    (_, service) => {
      const { environment = {}, secrets, networks = {} } = service;
      expect(environment.TEMPORAL_ADDRESS).toMatch(/^\$\{TEMPORAL_ADDRESS:\?/);
      for (const variable of CREDENTIALS) {
        expect(environment[`${variable}_FILE`]).toBe(
          `/run/secrets/${fileOf(variable)}`,
        );
        expect(secrets).toContain(fileOf(variable));
        expect(cloudSecrets[fileOf(variable)]?.file).toBe(
          `./deploy/secrets/${fileOf(variable)}`,
        );
      }
      expect(Object.keys(networks)).toContain('edge');
      const names = Object.keys(environment).map((name) =>
        name.replace(/_FILE$/, ''),
      );
      expect(names.filter((name) => !isVariable(name))).toEqual([]);
    },
  );

  test('nothing starts, waits for or names a Temporal server of our own', () => {
    const left = new Set(cloudServices.map(([name]) => name));
    for (const [
      ,
      { image, depends_on: waits = {}, environment = {} },
    ] of cloudServices) {
      expect(image).not.toMatch(/^temporalio\//);
      expect(Object.keys(waits).filter((name) => !left.has(name))).toEqual([]);
      expect(
        Object.values(environment).filter((value) =>
          value.includes('temporal:7233'),
        ),
      ).toEqual([]);
    }
  });

  test('what it takes from .env is explained there', () => {
    const taken = readText('docker-compose.cloud.yml').matchAll(
      /\$\{([A-Z_]+)/g,
    );
    for (const [, name] of taken)
      expect(readText('.env.example')).toMatch(
        new RegExp(`^(# )?${name}=`, 'm'),
      );
  });
});
