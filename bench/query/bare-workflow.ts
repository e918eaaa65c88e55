import { proxyActivities } from '@temporalio/workflow';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { BareActivities, BareInput } from './bare.ts';

const { askBare } = proxyActivities<BareActivities>({
  startToCloseTimeout: '1 minute',
});

const SOURCES: SourceType[] = ['hie', 'pharmacy', 'lab'];

/** The floor: three parallel activities and nothing else. */
export async function bareQuery(input: BareInput): Promise<void> {
  await Promise.all(SOURCES.map((source) => askBare({ ...input, source })));
}
