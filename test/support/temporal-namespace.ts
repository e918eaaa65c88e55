import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { openConnection } from '../../src/temporal/connection.ts';
import { registerSearchAttributes } from '../../src/temporal/register-search-attributes.ts';

/**
 * A Temporal namespace of its own, with our search attributes: for tests that
 * run whole worker processes, whose task queues and schedules have fixed names
 * and would meet those of other test files in `default`.
 */
export async function createTestNamespace(): Promise<string> {
  const namespace = `test-${randomUUID()}`;
  const connection = await openConnection({
    address: inject('temporalAddress'),
  });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
    await untilServed(() => registerSearchAttributes(connection, namespace));
    await untilServed(() =>
      connection.workflowService.listWorkflowExecutions({
        namespace,
        query: 'RequestId = "none"',
      }),
    );
    return namespace;
  } finally {
    await connection.close();
  }
}

/** A new namespace reaches the server's parts one after the other. */
async function untilServed(attempt: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (tries === 300) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
