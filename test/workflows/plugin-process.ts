import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { ExchangePlugin } from '../../src/library/worker.ts';

/**
 * A worker of a user of the library: `plugin-process.ts <address> <namespace>
 * <task queue> <exchange> <data keys> <files>`.
 */
const [
  address = '',
  namespace = '',
  taskQueue = '',
  baseUrl = '',
  dataKeys = '',
  files = '',
] = process.argv.slice(2);
const plugin = new ExchangePlugin({
  dataKeys,
  worker: {
    exchange: { baseUrl, apiKey: 'key-of-the-test' },
    idHmacKey: 'key-of-the-tests-only',
    files,
  },
});
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue,
  workflowsPath: fileURLToPath(
    new URL('./plugin-workflows.ts', import.meta.url),
  ),
  activities: {
    failFor: async (name: string) => {
      throw ApplicationFailure.retryable(`no result for ${name}`, 'NoResult', {
        name,
      });
    },
  },
  plugins: [plugin],
});
console.log('the worker polls');
await worker.run();
await connection.close();
