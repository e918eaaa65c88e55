import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Bundle } from 'fhir/r4.js';
import {
  factsIn,
  notSaid,
  pageOneByDoor,
} from '../../test/support/page-one-doors.ts';
import { SAMPLE_FACTS } from '../../test/support/page-one-facts.ts';
import { readerOf } from '../../test/support/summary-reader.ts';

export interface PageOneResult {
  person: string;
  facts: number;
  /** By door, what it does not say. */
  missing: Record<string, string[]>;
}

/**
 * Whether page one says, on every door, what a clinician looks for in each
 * person of a folder of Bundles (`*.json.gz`) of whom facts are known.
 */
export async function benchPageOne(folder: string): Promise<PageOneResult[]> {
  const results: PageOneResult[] = [];
  for (const file of readdirSync(folder).sort()) {
    const person = Object.keys(SAMPLE_FACTS).find((key) => isFileOf(file, key));
    if (person === undefined) continue;
    const facts = factsIn(SAMPLE_FACTS[person] ?? '');
    const doors = await pageOneByDoor(
      readerOf(resourcesOf(join(folder, file))),
    );
    const missing = Object.fromEntries(
      Object.entries(doors).map(([door, text]) => [door, notSaid(facts, text)]),
    );
    results.push({ person, facts: facts.length, missing });
  }
  return results;
}

/** `keith-kiehn` is in `Keith571_Kiehn525_….json.gz`. */
const isFileOf = (file: string, key: string): boolean =>
  key.split('-').every((part) => plainWords(file).includes(part.toLowerCase()));

const plainWords = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase();

/** With local references in place of `urn:uuid:`. */
function resourcesOf(path: string): object[] {
  const text = gunzipSync(readFileSync(path)).toString();
  const { entry = [] } = JSON.parse(text) as Bundle;
  const names = new Map(
    entry.map(({ fullUrl, resource }) => [
      fullUrl,
      `${resource?.resourceType}/${resource?.id}`,
    ]),
  );
  const local = JSON.stringify(
    entry.map(({ resource }) => resource),
  ).replaceAll(/urn:uuid:[\da-f-]{36}/g, (url) => names.get(url) ?? url);
  return JSON.parse(local) as object[];
}
