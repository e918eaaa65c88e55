import { expect, it } from 'vitest';
import { createDocumentRenderer } from '../../../src/exchange/documents/renderer.ts';
import { loadCcda, loadSamplePatients } from '../../../src/simulator/samples.ts';

const [sample] = loadSamplePatients();
if (sample === undefined) throw new Error('no samples');
const CCDA = loadCcda(sample);
const LIMITS = { heapMb: 384, timeoutMs: 30_000, waitingMax: 8, idleMs: 60_000 };

it('a document that needs too much memory ends with that reason and ends nothing else', async () => {
  const renderer = createDocumentRenderer({ ...LIMITS, heapMb: 16 });
  expect(await renderer.render(CCDA, 'pdf')).toEqual({ kind: 'refused', reason: 'it needs too much memory' });
  await renderer.close();
});

it('a document that takes too long ends with that reason', async () => {
  const renderer = createDocumentRenderer({ ...LIMITS, timeoutMs: 1 });
  expect(await renderer.render(CCDA, 'pdf')).toEqual({ kind: 'refused', reason: 'it took too long' });
  await renderer.close();
});

it('whoever comes when enough are waiting is told to come later; the others get theirs', async () => {
  const renderer = createDocumentRenderer({ ...LIMITS, waitingMax: 2 });
  const rendered = await Promise.all([1, 2, 3].map(() => renderer.render(CCDA, 'html')));
  expect(rendered.map(({ kind }) => kind)).toEqual(['rendered', 'rendered', 'busy']);
  await renderer.close();
});
