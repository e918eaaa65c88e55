import type { DataConverter } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { SEARCH_ATTRIBUTES } from '../../src/contract/temporal.ts';
import { IndexedValueType } from '../../src/temporal/proto.ts';
import { getTimeSkippingServer } from '../../src/temporal/server-binary.ts';
import { installTestRuntime } from './temporal-runtime.ts';

/** The SDK gives a server five seconds to start, which no setting changes, and kills it then. */
const STARTS_MAX = 48;
const TOO_SLOW = /did not start within/;

/** A server of its own with our search attributes, whose clock leaps over waits while a test waits for a result. */
export async function startTimeSkippingServer(
  dataConverter: DataConverter,
): Promise<TestWorkflowEnvironment> {
  installTestRuntime();
  const environment = await start(dataConverter);
  // This server can add search attributes, but not list them, which registerSearchAttributes does first.
  await environment.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(
      Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [
        name,
        type === 'Keyword'
          ? IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
          : IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
      ]),
    ),
  });
  return environment;
}

/** On a machine that is busy enough, a server needs longer than the SDK gives it: that says nothing about what is tested. */
async function start(dataConverter: DataConverter): Promise<TestWorkflowEnvironment> {
  const path = await getTimeSkippingServer();
  for (let starts = 1; ; starts++) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
        client: { dataConverter },
      });
    } catch (error) {
      if (starts === STARTS_MAX || !TOO_SLOW.test(String(error))) throw error;
    }
  }
}
