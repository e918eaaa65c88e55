import type { Client } from '@temporalio/client';

const refuse = (): never => {
  throw new Error('Temporal does not run here');
};
const unreachable: unknown = new Proxy(refuse, {
  get: () => unreachable,
  apply: refuse,
});

/** Fails every call, as a Temporal that is down. */
export const NO_TEMPORAL = unreachable as Client;
