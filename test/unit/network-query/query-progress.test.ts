import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  HISTORY_EVENTS_MAX,
  type SourceProgress,
} from '../../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import { SOURCE_RETRIES } from '../../../src/exchange/queries/network-query/rules/retries.ts';
import { QueryProgress } from '../../../src/workflows/exchange/network-query/progress.ts';
import { property } from '../../support/property.ts';

const input = (sources: readonly SourceType[] = SOURCE_TYPES) => ({
  accountId: 'account',
  requestId: 'request',
  run: 0,
  sources: sources.map((source) => ({ source, attempt: 1 })),
  steering: SOURCE_RETRIES,
  historyEventsMax: HISTORY_EVENTS_MAX,
});

const states: SourceProgress['state'][] = [
  'asking',
  'waiting',
  'collecting',
  'backing-off',
  'completed',
  'failed',
];
const step = fc.record({
  source: fc.constantFrom(...SOURCE_TYPES),
  change: fc.oneof(
    fc.record({ attempt: fc.integer({ min: 2, max: 5 }) }),
    fc.record({ state: fc.constantFrom(...states), resources: fc.nat(500) }),
  ),
});

describe('the progress of a query', () => {
  test('begins with every source being asked', () => {
    const { status, sources } = new QueryProgress(input()).snapshot();
    expect(status).toBe('running');
    expect(sources).toEqual(
      SOURCE_TYPES.map((source) => ({
        source,
        attempt: 1,
        state: 'asking',
        resources: 0,
      })),
    );
  });

  property([fc.array(step)])(
    'is running exactly until each of its sources has ended',
    (steps) => {
      const progress = new QueryProgress(input());
      for (const { source, change } of steps) {
        if ('attempt' in change) progress.begin(source, change.attempt);
        else progress.change(source, change);
      }
      const { status, sources } = progress.snapshot();
      const ended = sources.every(
        ({ state }) => state === 'completed' || state === 'failed',
      );
      expect(progress.ended).toBe(ended);
      expect(status === 'running').toBe(!ended);
    },
  );

  property([fc.array(step)])(
    'keeps one entry for each source, in the order of the input',
    (steps) => {
      const progress = new QueryProgress(input());
      for (const { source, change } of steps) progress.change(source, change);
      expect(progress.snapshot().sources.map(({ source }) => source)).toEqual([
        ...SOURCE_TYPES,
      ]);
    },
  );

  test('tells a snapshot that later changes do not touch', () => {
    const progress = new QueryProgress(input());
    const before = progress.snapshot();
    progress.change('hie', { state: 'completed', resources: 7 });
    expect(before.sources[0]?.state).toBe('asking');
  });

  test('passes over changes of a source that is not part of the run', () => {
    const progress = new QueryProgress(input(['hie']));
    progress.change('lab', { state: 'failed' });
    expect(progress.snapshot().sources).toHaveLength(1);
  });

  test('keeps a callback that comes early, for its own attempt only', () => {
    const progress = new QueryProgress(input());
    progress.noteCallback({ source: 'hie', attempt: 2 });
    expect(progress.hasCallback('hie', 1)).toBe(false);
    expect(progress.hasCallback('pharmacy', 2)).toBe(false);
    expect(progress.hasCallback('hie', 2)).toBe(true);
  });

  test('takes a doubled callback as one', () => {
    const progress = new QueryProgress(input());
    progress.noteCallback({ source: 'hie', attempt: 1 });
    progress.noteCallback({ source: 'hie', attempt: 1 });
    progress.takeCallback('hie', 1);
    expect(progress.hasCallback('hie', 1)).toBe(false);
  });

  test('tells each change to who watches it', () => {
    const seen: string[] = [];
    const progress = new QueryProgress(input(['lab']), (now) =>
      seen.push(now.toMarkdown()),
    );
    progress.change('lab', { state: 'failed', reason: 'lab answered 403' });
    expect(seen.at(-1)).toContain('lab answered 403');
  });

  test('says on its page how it ended, why a source failed, and what to type', () => {
    const progress = new QueryProgress(input(['hie', 'lab']));
    progress.change('hie', { state: 'completed', resources: 12 });
    expect(progress.toMarkdown()).toContain(
      'npm run starter -- cancel request',
    );
    progress.change('lab', { state: 'failed', reason: 'lab answered 403' });
    expect(progress.toMarkdown().split('\n')).toEqual([
      '**Query ended as partial: 1 of 2 sources completed**',
      '',
      '- **hie**: completed · attempt 1 · 12 resources',
      '- **lab**: failed · attempt 1 · lab answered 403',
      '',
      '- Query lab again: `npm run starter -- retry request lab`',
    ]);
  });
});
