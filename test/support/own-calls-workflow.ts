import { proxyEndpoints } from '../../src/workflows/orchestrator/endpoint-proxies.ts';

const { writes } = proxyEndpoints({ retry: { maximumAttempts: 1 } });
const exchange = { credentialRef: 'api-key' };
const create = (callId: string, name: string) =>
  writes(callId).createCohort({ exchange, body: { name } });

/** One call. */
export const oneCall = () => create('create', 'once');

/** Two calls under one name, one after the other or at the same time. */
export async function twoCalls(atOnce: boolean): Promise<void> {
  if (atOnce) await Promise.all([create('create', 'a'), create('create', 'b')]);
  else {
    await create('create', 'a');
    await create('create', 'b');
  }
}

/** A call that fails is made again under its name. */
export async function againAfterFailure(): Promise<unknown> {
  return create('create', 'fails').catch(() => create('create', 'works'));
}
