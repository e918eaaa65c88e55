import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { starter } from '../support/run-starter.ts';
import type { TestStack } from '../support/stack.ts';

const RUNBOOK = fileURLToPath(
  new URL('../../docs/operations/wrong-patient.md', import.meta.url),
);
const [wrong, right] = loadSamplePatients();

let stack: TestStack;

const run = (...argv: string[]) =>
  starter([...argv, '--data-dir', stack.dataDir, '--json']);

/** A sample person known to the exchange, with what the laboratory has. */
async function onboard(key = ''): Promise<string> {
  const { onboardings } = (
    await run('onboard', '--sample', key, '--sources', 'lab')
  ).json();
  const [{ patientId = '' } = {}] = onboardings as { patientId?: string }[];
  return patientId;
}

const ofLab = (patientId: string) =>
  stack.rows<{ id: string }>(
    `SELECT source_id AS id FROM patient_resource
     WHERE patient_id = $1 AND source = 'lab' AND resource_type = 'Observation' ORDER BY source_id LIMIT 1`,
    [patientId],
  );

/** The commands and the statement of the runbook, as they stand there. */
async function runbook(): Promise<{ commands: string[]; statement: string }> {
  const text = await readFile(RUNBOOK, 'utf8');
  const block = (language: string) =>
    text.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
  return { commands: block('sh').trim().split('\n'), statement: block('sql') };
}

/**
 * Runs each command of the runbook; returns what the queries' timelines and the
 * records say.
 */
async function follow(names: Record<string, string>) {
  const { commands, statement } = await runbook();
  const filled = (text: string) =>
    Object.entries(names).reduce(
      (before, [name, value]) => before.replaceAll(`<${name}>`, value),
      text,
    );
  let status = '';
  for (const command of commands) {
    const argv = filled(command)
      .replace(/^npm run starter -- /, '')
      .replace(/([\w-]+\.json)$/, join(stack.dataDir, `${names.patientId}-$1`))
      .split(' ');
    const result = await run(...argv);
    expect(result, command).toMatchObject({ exitCode: 0 });
    // The first query is the one that the runbook looks at.
    if (argv[0] === 'query')
      names.requestId ??= String(result.json().requestId);
    if (argv[0] === 'status') status = result.stdout;
  }
  const read = (name: string) =>
    readFile(join(stack.dataDir, `${names.patientId}-${name}`), 'utf8');
  return {
    status,
    record: await read('record.json'),
    otherRecord: await read('other-record.json'),
    retired: await stack.rows(filled(statement)),
  };
}

/**
 * The laboratory's ids of all that a record is made of. A report still names a
 * result that has gone, as its source does.
 */
const provenanceIn = (record: string): string[] =>
  [
    ...record.matchAll(
      /"urn:medical-exchange:source:lab:id","valueString":"([^"]+)"/g,
    ),
  ].map(([, id = '']) => id);

/** On a running stack whose sources behave. */
export function describeWrongPatient(runningStack: () => TestStack): void {
  describe('a source corrected a wrong patient; the runbook is followed to the letter', () => {
    beforeAll(() => {
      stack = runningStack();
    });
    afterEach(() => stack.simulator.undoCorrections());

    test('a result that it moved leaves the one record and stands in the other', async () => {
      const patientId = await onboard(wrong?.key);
      const otherPatientId = await onboard(right?.key);
      const [result] = await ofLab(patientId);
      const id = result?.id ?? '';
      await stack.simulator.correct({
        source: 'lab',
        resource: `Observation/${id}`,
        to: right?.key,
      });

      const { status, record, otherRecord, retired } = await follow({
        patientId,
        otherPatientId,
      });
      expect(status).toContain(
        'The source now names another person in 1 resource: it was retired (1 Observation)',
      );
      expect(provenanceIn(record)).not.toContain(id);
      expect(provenanceIn(otherRecord)).toContain(id);
      expect(retired).toMatchObject([
        { source: 'lab', source_id: id, reason: 'moved' },
      ]);
    });

    test('a result that it deleted leaves the record, and comes back when that was the mistake', async () => {
      const patientId = await onboard(wrong?.key);
      const otherPatientId = await onboard(right?.key);
      const [result] = await ofLab(otherPatientId);
      const id = result?.id ?? '';
      await stack.simulator.correct({
        source: 'lab',
        resource: `Observation/${id}`,
      });

      const after = await follow({
        patientId: otherPatientId,
        otherPatientId: patientId,
      });
      expect(after.status).toContain(
        'The source no longer has 1 resource: it was retired (1 Observation)',
      );
      expect(provenanceIn(after.record)).not.toContain(id);
      expect(after.retired).toContainEqual(
        expect.objectContaining({ source_id: id, reason: 'deleted' }),
      );

      await stack.simulator.undoCorrections();
      await rm(join(stack.dataDir, `${otherPatientId}-record.json`));
      await rm(join(stack.dataDir, `${otherPatientId}-other-record.json`));
      const again = await follow({
        patientId: otherPatientId,
        otherPatientId: patientId,
      });
      expect(provenanceIn(again.record)).toContain(id);
    });
  });
}
