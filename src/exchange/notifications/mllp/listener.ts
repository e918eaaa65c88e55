import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { Logger } from '../../../lib/logger.ts';
import { FrameError, framed, MllpFrames } from './frames.ts';

export interface MllpLimits {
  messageBytes: number;
  /** A connection on which nothing arrives for this long is closed. */
  idleMs: number;
  connections: number;
  connectionsOfAddress: number;
}

export interface MllpListener {
  server: Server;
  /** Ends each connection after the message that it is working on, and resolves when all have ended. */
  close(): Promise<void>;
}

const HANDSHAKE_MS = 10_000;

/** Names by which a client certificate, verified by the listener's authority, identifies its holder. */
export function certificateNames(socket: Socket): string[] {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return [];
  const { subject, subjectaltname = '' } = socket.getPeerCertificate();
  const alternative = [...subjectaltname.matchAll(/(?:^|, )DNS:([\w.-]+)(?=,|$)/g)].map(
    ([, name = '']) => name,
  );
  // The common name counts only where no other name is given (RFC 6125).
  return alternative.length > 0 ? alternative : [subject?.CN ?? []].flat();
}

/**
 * Listens for HL7 v2 messages in MLLP frames, any number on each connection, which are answered one after the other in their
 * order. `answer` resolves to the acknowledgement, or to undefined if none is possible; then the connection is closed, as it
 * is when a limit is exceeded. With `clientAuthorities`, only clients with a certificate of theirs can connect.
 */
export function createMllpListener(options: {
  answer(message: Buffer, certificateNames: readonly string[]): Promise<string | undefined>;
  tls?: { cert: string; key: string; clientAuthorities?: string };
  limits: MllpLimits;
  logger: Pick<Logger, 'info' | 'warn'>;
}): MllpListener {
  const { answer, tls, limits, logger } = options;
  /** Open connections, with the message each is working on. */
  const open = new Map<Socket, Promise<void> | undefined>();
  let isClosing = false;

  async function serve(socket: Socket): Promise<void> {
    const frames = new MllpFrames(limits.messageBytes);
    const names = certificateNames(socket);
    for await (const chunk of socket as AsyncIterable<Buffer>)
      for (const message of frames.read(chunk)) {
        const work = respond(socket, message, names);
        open.set(socket, work);
        await work;
        open.set(socket, undefined);
        if (isClosing) return;
      }
  }

  async function respond(socket: Socket, message: Buffer, names: readonly string[]): Promise<void> {
    const ack = await answer(message, names);
    if (ack === undefined) throw new FrameError('a frame without an HL7 v2 message');
    await new Promise<void>((resolve, reject) =>
      socket.write(framed(ack), (error) => (error ? reject(error) : resolve())),
    );
  }

  async function accept(socket: Socket): Promise<void> {
    const { remoteAddress } = socket;
    socket.on('error', () => undefined);
    const ofAddress = [...open.keys()].filter((each) => each.remoteAddress === remoteAddress).length;
    if (isClosing || open.size >= limits.connections || ofAddress >= limits.connectionsOfAddress) {
      if (!isClosing)
        logger.warn({ remoteAddress, open: open.size }, 'mllp connection refused: too many are open');
      socket.destroy();
      return;
    }
    open.set(socket, undefined);
    socket.setTimeout(limits.idleMs, () => socket.destroy());
    try {
      await serve(socket);
    } catch (error) {
      const reason = error instanceof FrameError ? error.message : 'the connection broke';
      logger.info({ remoteAddress, reason }, 'mllp connection closed');
    } finally {
      open.delete(socket);
      socket.destroySoon();
    }
  }

  const server =
    tls === undefined
      ? createServer((socket) => void accept(socket))
      : createTlsServer(
          {
            cert: tls.cert,
            key: tls.key,
            minVersion: 'TLSv1.2',
            handshakeTimeout: HANDSHAKE_MS,
            ...(tls.clientAuthorities === undefined
              ? {}
              : { ca: tls.clientAuthorities, requestCert: true, rejectUnauthorized: true }),
          },
          (socket) => void accept(socket),
        ).on('tlsClientError', ({ message }, { remoteAddress }) =>
          logger.info({ remoteAddress, reason: message }, 'mllp connection refused: no TLS connection'),
        );

  return {
    server,
    async close() {
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, work] of open)
        void (work ?? Promise.resolve()).then(
          () => socket.destroySoon(),
          () => socket.destroy(),
        );
      await closed;
    },
  };
}
