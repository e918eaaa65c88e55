import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { IheError } from '../src/index.ts';
import * as readers from './networks-cases.adapter.ts';

const CASES = new URL('cases/', import.meta.url);

interface NetworkCase {
  message: string;
  contentType?: string;
  expect: Record<string, unknown>;
}

describe.each(Object.entries(readers))('a foreign %s', (kind, read) => {
  const folder = new URL(`${kind}/`, CASES);
  const files = readdirSync(folder).filter((file) =>
    file.endsWith('.expected.json'),
  );

  test.each(files)('is read as the standard has it: %s', async (file) => {
    const one: NetworkCase = JSON.parse(
      readFileSync(new URL(file, folder), 'utf8'),
    );
    const bytes = readFileSync(new URL(one.message, folder));

    const facts = await read(bytes, one.contentType).catch(unreadable);
    expect(facts).toMatchObject(one.expect);
  });
});

/** As the runner of the cases counts it. */
function unreadable(error: unknown) {
  if (!(error instanceof IheError)) throw error;

  return { outcome: 'unreadable' };
}
