import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * `open`: bytes pass. `cut`: connections are reset and refused. `silent`:
 * connections stay, but nothing passes, as behind a firewall that drops
 * packets; it passes later. `delayMs`: everything arrives that much later.
 */
export type Line = 'open' | 'cut' | 'silent' | { delayMs: number };

/**
 * A TCP connection to a server on this machine, whose line can be disturbed.
 */
export interface TcpProxy {
  readonly port: number;
  set(line: Line): void;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let line: Line = 'open';
  const changes = new EventEmitter().setMaxListeners(0);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (line === 'cut') return void client.resetAndDestroy();
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      // An end of either side, or a reset, ends the connection.
      void forward(socket, other).catch(() => socket.destroy());
    }
  });

  async function forward(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from) {
      if (typeof line === 'object') await sleep(line.delayMs);
      while (line === 'silent') await once(changes, 'change');
      if (!to.write(chunk))
        await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
    to.end();
  }

  function reset(): void {
    for (const socket of sockets) socket.resetAndDestroy();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      line = next;
      changes.emit('change');
      if (next === 'cut') reset();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      changes.emit('change');
      reset();
      await closed;
    },
  };
}
