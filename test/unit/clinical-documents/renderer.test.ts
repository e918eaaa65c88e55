import { expect, test } from 'vitest';
import { createDocumentRenderer } from '../../../src/exchange/delivery/documents/renditions.ts';
import { createJobThread } from '../../../src/lib/job-thread.ts';
import { loadSamplePatients } from '../../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../../tools/simulator/samples.ts';
import { closedGate } from '../../support/gate.ts';

const [sample] = loadSamplePatients();
if (sample === undefined) throw new Error('no samples');
const CCDA = loadCcda(sample);
const read = async () => CCDA;
const QUEUE = { atOnce: 2, ofOneAtOnce: 1, waiting: 8, ofOneWaiting: 4 };
const LIMITS = {
  heapMb: 384,
  timeoutMs: 240_000,
  idleMs: 60_000,
  queue: QUEUE,
};

test('a document that needs too much memory ends with that reason and ends nothing else', async () => {
  const renderer = createDocumentRenderer({ ...LIMITS, heapMb: 16 });
  expect(await renderer.render('a', read, 'pdf')).toEqual({
    kind: 'refused',
    reason: 'it needs too much memory',
  });
  await renderer.close();
});

test('a document that takes too long ends with that reason', async () => {
  const renderer = createDocumentRenderer({ ...LIMITS, timeoutMs: 1 });
  expect(await renderer.render('a', read, 'pdf')).toEqual({
    kind: 'refused',
    reason: 'it took too long',
  });
  await renderer.close();
});

test('a job that gets no processor time is not called too long: it may succeed later', async () => {
  const file = new URL('../../support/processor-holder.ts', import.meta.url);
  // Longer than twice the processor time that the start of a thread takes.
  const ofOneJob = 8_000;
  const thread = createJobThread<string, never>(file, {
    heapMb: 64,
    timeoutMs: ofOneJob,
    idleMs: 60_000,
  });
  expect(await thread.run('job')).toEqual({
    kind: 'broken',
    reason: 'it took too long',
    isStarved: true,
  });
  await thread.close();
});

test('an account that has enough waiting is told to come later, and another account gets its turn meanwhile', async () => {
  const renderer = createDocumentRenderer({
    ...LIMITS,
    queue: { ...QUEUE, ofOneWaiting: 2 },
  });
  const gate = closedGate();
  const first = renderer.render('a', () => gate.passed.then(read), 'html');
  const further = [1, 2, 3].map(() => renderer.render('a', read, 'html'));
  expect((await renderer.render('b', read, 'html')).kind).toBe('rendered');
  expect((await further[2])?.kind).toBe('busy');
  gate.open();
  const rendered = await Promise.all([first, ...further]);
  expect(rendered.map(({ kind }) => kind)).toEqual([
    'rendered',
    'rendered',
    'rendered',
    'busy',
  ]);
  await renderer.close();
});

test('what cannot be read fails for itself, and gives its turn on', async () => {
  const renderer = createDocumentRenderer({
    ...LIMITS,
    queue: { ...QUEUE, atOnce: 1 },
  });
  const gone = renderer.render(
    'a',
    () => Promise.reject(new Error('gone')),
    'html',
  );
  const next = renderer.render('a', read, 'html');
  await expect(gone).rejects.toThrow('gone');
  expect((await next).kind).toBe('rendered');
  await renderer.close();
});
