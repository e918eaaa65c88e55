import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  startTcpProxy,
  type TcpProxy,
} from '../../../bench/soak/mixed/tcp-proxy.ts';

describe('the line to a server', () => {
  let proxy: TcpProxy;
  let close: () => Promise<void>;
  beforeEach(async () => {
    const echo = createServer((socket) =>
      socket.on('error', () => undefined).pipe(socket),
    ).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    proxy = await startTcpProxy((echo.address() as AddressInfo).port);
    close = async () => {
      await proxy.close();
      const closed = once(echo, 'close');
      echo.close();
      await closed;
    };
  });
  afterEach(() => close());

  async function client(): Promise<Socket> {
    const socket = connect(proxy.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    return socket;
  }
  async function echoed(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [answer] = await once(socket, 'data');
    return String(answer);
  }

  test('passes bytes in both directions', async () => {
    expect(await echoed(await client(), 'a')).toBe('a');
  });

  test('resets and refuses connections while it is cut, and takes new ones afterwards', async () => {
    const socket = await client();
    expect(await echoed(socket, 'a')).toBe('a');
    const reset = new Promise((resolve) => socket.once('error', resolve));
    proxy.set('cut');
    expect(await reset).toMatchObject({ code: 'ECONNRESET' });
    const refused = connect(proxy.port, '127.0.0.1');
    refused.on('error', () => undefined);
    await new Promise((resolve) => refused.once('close', resolve));
    proxy.set('open');
    expect(await echoed(await client(), 'b')).toBe('b');
  });

  test('holds bytes back while it is silent, and passes all of them later, in order', async () => {
    const socket = await client();
    expect(await echoed(socket, 'a')).toBe('a');
    proxy.set('silent');
    let received = '';
    socket.on('data', (data) => (received += data));
    socket.write('b');
    const other = await client();
    other.write('c');
    // A line that is open has answered by then.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(received).toBe('');
    proxy.set('open');
    await expect.poll(() => received).toBe('b');
    expect(await echoed(socket, 'd')).toBe('d');
  });
});
