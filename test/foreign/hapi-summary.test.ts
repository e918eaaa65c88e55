import { rm } from 'node:fs/promises';
import type { Bundle, Composition, FhirResource, Resource } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  resourcesIn,
} from '../support/fhir-door.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { createHapi, type HapiServer, hapiMissing } from './hapi-server.ts';

const missing = hapiMissing();

describe.skipIf(missing !== undefined)('HAPI FHIR 8.8 with $summary', () => {
  let folder: string;
  let hapi: HapiServer;
  let door: FhirDoor;
  beforeAll(async () => {
    folder = await makeTestFolder();
    door = await createFhirDoor();
    hapi = await createHapi(folder, { has: 'summary' });
    await hapi.start();
  });
  afterAll(async () => {
    await door?.close();
    await hapi?.stop();
    if (folder !== undefined)
      await rm(folder, { recursive: true, force: true });
  });

  test.each(samples.map((sample) => [sample.key, sample] as const))(
    'and ours agree on %s: what is current, given or planned is the same, and ours has nothing that HAPI leaves out',
    async (_key, sample) => {
      const patientId = await door.addSample(sample);
      const record = (
        await door.pages(`Patient/${patientId}/$everything`)
      ).flatMap(resourcesIn);
      await hapi.call('POST', '', transaction(record));
      const byName = new Map(
        record.map((resource) => [nameOf(resource), resource]),
      );
      const theirs = entriesBySection(
        (await hapi.call(
          'GET',
          `Patient/${patientId}/$summary`,
        )) as unknown as Bundle,
      );
      const ours = entriesBySection(
        await door.bundle(`Patient/${patientId}/$summary`),
      );
      // Where it has no resource, HAPI states one of its own: "no information".
      const theirsOf = (code: string) =>
        (theirs.get(code) ?? []).filter((name) => byName.has(name));
      for (const code of SAME)
        expect(ours.get(code) ?? [], code).toEqual(theirsOf(code));
      for (const [code, names] of ours) {
        // The statements of use are our own: the sources name devices only.
        const delivered = names.filter(
          (name) => !name.startsWith('DeviceUseStatement/'),
        );
        expect(theirsOf(code), code).toEqual(expect.arrayContaining(delivered));
      }
      const left = theirsOf(ACTIVE_PROBLEMS).filter(
        (name) => !ours.get(ACTIVE_PROBLEMS)?.includes(name),
      );
      for (const name of left)
        expect(JSON.stringify(byName.get(name))).toMatch(SOCIAL);
    },
  );
});

const ACTIVE_PROBLEMS = '11450-4';
/**
 * Medications, allergies, immunizations, plans of care. Elsewhere ours has the
 * latest of each kind, or the newest so many.
 */
const SAME = ['10160-0', '48765-2', '11369-6', '18776-5'];
/** What ours lists as social findings, not as problems. */
const SOCIAL = /\((?:finding|situation)\)/;

const nameOf = ({ resourceType, id }: Resource): string =>
  `${resourceType}/${id}`;

const transaction = (resources: readonly FhirResource[]): Bundle => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: resources.map((resource) => ({
    resource,
    request: { method: 'PUT', url: nameOf(resource) },
  })),
});

/** `Type/id` of each entry, by the LOINC code of its section. */
function entriesBySection({ entry = [] }: Bundle): Map<string, string[]> {
  const byUrl = new Map(
    entry.flatMap(({ fullUrl, resource }) =>
      resource === undefined ? [] : [[fullUrl, nameOf(resource)]],
    ),
  );
  const [composition] = entry.map(({ resource }) => resource as Composition);
  return new Map(
    (composition?.section ?? []).map(({ code, entry: entries = [] }) => [
      code?.coding?.[0]?.code ?? '',
      entries
        .map(({ reference = '' }) => byUrl.get(reference) ?? reference)
        .sort(),
    ]),
  );
}
