import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { UnavailableError } from '../../../src/exchange/platform/errors.ts';
import { commandWorkflow } from '../../../src/exchange/platform/workflows/workflow-command.ts';
import { freePort } from '../../../src/lib/free-port.ts';
import { openConnection } from '../../../src/temporal/connection.ts';

const TIMEOUT_MS = 400;

/** A server that takes connections and does with them what `treat` says. */
async function serverThat(treat: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    treat(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

test.each([
  ['refuses connections', () => freePort()],
  ['takes connections and says nothing', () => serverThat(() => undefined)],
  [
    'resets connections when it is asked',
    () =>
      serverThat((socket) =>
        socket.once('data', () => socket.resetAndDestroy()),
      ),
  ],
])(
  'a command to a Temporal server that %s is refused in time as unavailable, and may be repeated',
  async (_, start) => {
    const connection = await openConnection(
      { address: `127.0.0.1:${await start()}` },
      { lazy: true },
    );
    onTestFinished(() => connection.close());
    const refused: unknown = await commandWorkflow(
      new Client({ connection }),
      'some-workflow',
      'cancel',
      {
        timeoutMs: TIMEOUT_MS,
      },
    ).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnavailableError);
    expect((refused as UnavailableError).options.headers).toEqual({
      'retry-after': '5',
    });
  },
);
