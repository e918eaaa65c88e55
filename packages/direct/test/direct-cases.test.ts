import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { direct } from './direct-cases.adapter.ts';

const CASES = new URL('cases/', import.meta.url);
const files = readdirSync(CASES).filter((file) =>
  file.endsWith('.expected.json'),
);

interface DirectCase {
  message: string;
  expect: Record<string, unknown>;
}

test.each(files)(
  'a foreign message is read as the standard has it: %s',
  async (file) => {
    const one: DirectCase = JSON.parse(
      readFileSync(new URL(file, CASES), 'utf8'),
    );

    const facts = await direct(readFileSync(new URL(one.message, CASES)));

    expect(facts).toMatchObject(one.expect);
  },
);
