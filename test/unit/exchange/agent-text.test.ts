import { expect, test } from 'vitest';
import { cut } from '../../../src/exchange/delivery/agents/result.ts';

test('a part of a text that an agent reads is cut between characters, and never to nothing', () => {
  expect(cut('aé€😀', 9)).toBe('aé€');
  // Bytes that are no text are decoded to this character: a note may have
  // nothing else.
  expect(cut('\ufffd'.repeat(10), 24)).not.toBe('');
});
