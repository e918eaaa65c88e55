import { describe, expect, test } from 'vitest';
import { samples } from '../../support/deliveries.ts';
import {
  factsIn,
  notSaid,
  pageOneByDoor,
} from '../../support/page-one-doors.ts';
import { SAMPLE_FACTS } from '../../support/page-one-facts.ts';
import { WRITTEN_PEOPLE } from '../../support/page-one-people.ts';
import { readerOf, sampleReader } from '../../support/summary-reader.ts';

const PEOPLE = [
  ...samples.map(({ key }) => ({
    name: key,
    reader: () => sampleReader(key),
    facts: factsIn(SAMPLE_FACTS[key] ?? ''),
  })),
  ...WRITTEN_PEOPLE.map(({ name, resources, facts }) => ({
    name,
    reader: () => readerOf(resources),
    facts: factsIn(facts),
  })),
];

describe('page one says what a clinician looks for, on every door:', () => {
  test.each(PEOPLE)('$name', async ({ reader, facts }) => {
    expect(facts).toHaveLength(20);
    const doors = await pageOneByDoor(reader());
    const missing = Object.entries(doors).map(([door, text]) => [
      door,
      notSaid(facts, text),
    ]);
    expect(Object.fromEntries(missing)).toEqual({
      html: [],
      pdf: [],
      embedded: [],
      'health link and IPS': [],
      agents: [],
    });
  });
});
