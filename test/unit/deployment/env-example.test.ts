import { describe, expect, test } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import { compose, readText, taken } from '../../support/compose-file.ts';

/** Of the stack on one machine; a deployment has no use for them. */
const EMBEDDED_ONLY = ['TEMPORAL_UI_PORT', 'LOOPBACK_EXCEPT_PORTS'];
/** Read by docker-compose.yml alone. */
const COMPOSE_ONLY = ['IMAGE_TAG', 'TEMPORAL_RETENTION', 'CODEC_ORIGIN'];

const [, fromEnv = '', setByCompose = '', unused = ''] =
  readText('.env.example').split(/^# ── \d\. .*$/m);
const namesIn = (text: string) =>
  [...text.matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);

describe('.env.example', () => {
  test('explains every variable of config.ts that a deployment may set, and no other, once', () => {
    const explained = namesIn(readText('.env.example'));
    expect([...explained].sort()).toEqual(
      [
        ...Object.keys(VARIABLES).filter(
          (name) => !EMBEDDED_ONLY.includes(name),
        ),
        ...COMPOSE_ONLY,
      ].sort(),
    );
  });

  test('part 1 is what docker-compose.yml takes, with its defaults', () => {
    const given = [...fromEnv.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(
      ([, name, value]) => [name, value],
    );
    expect(Object.fromEntries(given)).toEqual(Object.fromEntries(taken));
  });

  test('part 2 is what docker-compose.yml sets itself, part 3 what it does not', () => {
    const set = new Set(
      Object.values(compose.services)
        .flatMap(({ environment = {} }) => Object.keys(environment))
        .map((name) => name.replace(/_FILE$/, '')),
    );
    expect(
      namesIn(setByCompose).filter((name) => !set.has(name ?? '')),
    ).toEqual([]);
    expect(namesIn(unused).filter((name) => set.has(name ?? ''))).toEqual([]);
  });

  test('holds no secret', () => {
    expect(readText('.env.example')).not.toMatch(
      /(whsec_|mdx_|k\d+:)[A-Za-z0-9+/]{8}/,
    );
  });
});
