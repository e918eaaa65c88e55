import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mapAtMost } from '../../../src/lib/at-most.ts';
import { UsageError } from '../../../src/starter/errors.ts';
import {
  parseSources,
  parseSubject,
  requestedSources,
} from '../../../src/starter/input/arguments.ts';
import { patientsToOnboard } from '../../../src/starter/input/patients.ts';
import { workflowLink } from '../../../src/temporal/ui-links.ts';

const REQUEST = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';

describe('an id on the command line', () => {
  test('that looks like a request id is a query, or else a job', () => {
    expect(parseSubject(REQUEST)).toEqual({
      kind: 'query-or-onboarding',
      id: REQUEST,
    });
    expect(parseSubject(REQUEST, 'onboarding')).toEqual({
      kind: 'onboarding',
      id: REQUEST,
    });
  });

  test('of any other form is a job: it may carry a record number, so the exchange is not asked', () => {
    expect(parseSubject('MRN-4711')).toEqual({
      kind: 'onboarding',
      id: 'MRN-4711',
    });
  });

  test('may be a workflow id from the Temporal UI', () => {
    expect(parseSubject(`network-query/${REQUEST}/redrive/2`)).toEqual({
      kind: 'query',
      id: REQUEST,
    });
    expect(parseSubject('patient-onboarding/abc').kind).toBe('onboarding');
  });
});

describe('sources', () => {
  test('come in one order, however they were named', () => {
    expect(parseSources('lab, hie')).toEqual(['hie', 'lab']);
    expect(
      requestedSources({ sources: parseSources('pharmacy'), realtime: true }),
    ).toEqual({
      pharmacy: { enabled: true, realtime: true },
    });
  });

  test('that nobody knows are refused by name', () => {
    expect(() => parseSources('hie,dentist')).toThrow(
      'Unknown source: dentist. Expected one or more of hie,pharmacy,lab.',
    );
    expect(() => parseSources(' , ')).toThrow('hie,pharmacy,lab');
  });

  test('without pharmacy have nothing for --realtime', () => {
    expect(() =>
      requestedSources({ sources: ['hie'], realtime: true }),
    ).toThrow(UsageError);
  });
});

describe('patients', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starter-input-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('come from samples, one, several or all', async () => {
    expect(
      (await patientsToOnboard({ sample: ['keith-kiehn'] })).map(
        ({ label }) => label,
      ),
    ).toEqual(['keith-kiehn']);
    expect(
      (await patientsToOnboard({ sample: ['all'] })).length,
    ).toBeGreaterThanOrEqual(6);
  });

  test('from an unknown sample are refused with the list of those there are', async () => {
    await expect(patientsToOnboard({ sample: ['nobody'] })).rejects.toThrow(
      /nobody[\s\S]*keith-kiehn/,
    );
  });

  test('from a file that is no JSON are refused without quoting it', async () => {
    const file = join(folder, 'patient.json');
    await writeFile(file, '{"lastName": "Secret"');
    const refused = await patientsToOnboard({ file }).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(UsageError);
    expect(String(refused)).not.toContain('Secret');
    await expect(
      patientsToOnboard({ file: join(folder, 'none.json') }),
    ).rejects.toThrow('no such file');
  });

  test('are asked for one way, not two or none', async () => {
    await expect(patientsToOnboard({})).rejects.toThrow('either --sample');
    await expect(
      patientsToOnboard({ sample: ['all'], file: 'x' }),
    ).rejects.toThrow('either --sample');
  });
});

describe('a window', () => {
  test('holds at most so many at once, and results keep their order', async () => {
    let running = 0;
    let most = 0;
    const results = await mapAtMost([...Array(50).keys()], 7, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, item % 3));
      running -= 1;
      return item * 2;
    });
    expect(most).toBe(7);
    expect(results).toEqual([...Array(50).keys()].map((item) => item * 2));
  });

  test('begins nothing more after a failure, and lets go what is under way', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const all = mapAtMost([0, 1, 2, 3, 4], 2, async (item) => {
      begun.push(item);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (item === 0) throw new Error('first');
      ended.push(item);
    });
    await expect(all).rejects.toThrow('first');
    expect(begun.length).toBeLessThan(5);
    expect(ended).toEqual(begun.filter((item) => item !== 0));
  });
});

test('the link of a workflow survives the slash in its id', () => {
  expect(
    workflowLink(
      { url: 'http://ui/', namespace: 'default' },
      'network-query/1',
    ),
  ).toBe('http://ui/namespaces/default/workflows/network-query%2F1');
});
