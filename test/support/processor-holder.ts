import { parentPort } from 'node:worker_threads';

/**
 * A thread whose jobs get no processor time: each stands still, as on a machine
 * that is busy with other work.
 */
parentPort?.on('message', () =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000),
);
