import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ExchangePlugin } from '@medical-data-exchange/library/worker';
import { WorkflowNotFoundError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { readConnection } from './connection.ts';
import { createReceiver } from './receiver.ts';
import { refreshWorkflowId, SOURCE_ENDED, TASK_QUEUE } from './refresh.ts';
import { connectClient } from './temporal-client.ts';
import { webhookKeyFor } from './webhook-destination.ts';

/**
 * Runs the workflow, and the receiver that turns webhooks into signals. Ctrl-C
 * ends both.
 */
const settings = await readConnection();
const temporal = await connectClient(settings);

const receiver = createReceiver(
  () => key,
  async ({ orchestrationId, sourceEnd }) => {
    if (orchestrationId === undefined || sourceEnd === undefined) return;
    try {
      await temporal.workflow
        .getHandle(refreshWorkflowId(orchestrationId))
        .signal(SOURCE_ENDED);
    } catch (error) {
      // The webhook belongs to another workflow, or to a refresh that has
      // ended.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
);
await once(
  receiver.listen(Number(process.env.RECEIVER_PORT ?? 8095), '127.0.0.1'),
  'listening',
);
const { port } = receiver.address() as AddressInfo;
const key = webhookKeyFor(`http://127.0.0.1:${port}/webhooks`, settings);
await key;

// Before the connection: from now on the SDK logs failures without their texts.
const plugin = new ExchangePlugin({
  dataKeys: settings.dataKeys,
  worker: {
    exchange: { baseUrl: settings.exchangeUrl, apiKey: settings.apiKey },
    idHmacKey: settings.idHmacKey,
  },
});
const connection = await NativeConnection.connect({
  address: settings.temporalAddress,
});
const worker = await Worker.create({
  connection,
  namespace: settings.temporalNamespace,
  taskQueue: TASK_QUEUE,
  workflowsPath: fileURLToPath(
    new URL('./refresh-before-appointment.ts', import.meta.url),
  ),
  plugins: [plugin],
});
console.log(
  `The worker serves "${TASK_QUEUE}"; webhooks are received on port ${port}.`,
);
await worker.run();
await connection.close();
receiver.close();
await temporal.connection.close();
