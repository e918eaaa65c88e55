import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { type Config, ConfigError } from '../../../../config.ts';
import type { Logger } from '../../../../lib/logger.ts';
import { readTlsFolder, type TlsFiles } from '../../../../lib/tls-folder.ts';
import { createIntake, type IntakeDeps } from '../intake.ts';
import { MESSAGE_BYTES_MAX } from '../senders.ts';
import { createMllpAnswer, type MllpAnswer } from './answer.ts';
import { FrameError, framed, MllpFrames } from './frames.ts';
import { type ConnectionPlace, Places } from './places.ts';

export const MLLP_VARIABLES = [
  'MLLP_PORT',
  'MLLP_SENDERS',
  'MLLP_TLS',
] as const;

type MllpConfig = Config<
  (typeof MLLP_VARIABLES)[number] | 'NOTIFICATION_SENDERS' | 'LISTEN_HOST'
>;

/** Interface engines keep a connection open and send when something happens. */
const LIMITS = {
  messageBytes: MESSAGE_BYTES_MAX,
  idleMs: 15 * 60_000,
  firstMessageMs: 60_000,
  frameMs: 60_000,
  connections: 100,
  connectionsOfAddress: 20,
};

/** Listens for MLLP if MLLP_PORT is set. Throws ConfigError. */
export async function openMllp(
  config: MllpConfig,
  deps: IntakeDeps,
): Promise<MllpListener | undefined> {
  if (config.MLLP_PORT === undefined) return undefined;
  const tls =
    config.MLLP_TLS === undefined
      ? undefined
      : await readTlsFolder(config.MLLP_TLS, 'MLLP_TLS');
  const listener = createMllpListener({
    answer: createMllpAnswer({
      intake: createIntake(deps),
      senders: config.NOTIFICATION_SENDERS,
      identities: checked(config, tls),
      logger: deps.logger,
    }),
    tls,
    limits: LIMITS,
    logger: deps.logger,
  });
  listener.server.listen(config.MLLP_PORT, config.LISTEN_HOST);
  await once(listener.server, 'listening');
  deps.logger.info(
    { address: listener.server.address() },
    'listening for mllp',
  );
  return listener;
}

function checked(
  config: MllpConfig,
  tls: TlsFiles | undefined,
): MllpConfig['MLLP_SENDERS'] {
  const known = new Set(config.NOTIFICATION_SENDERS.map(({ name }) => name));
  for (const identity of config.MLLP_SENDERS) {
    if (!known.has(identity.sender))
      throw new ConfigError(
        `MLLP_SENDERS names ${identity.sender}, which NOTIFICATION_SENDERS does not`,
      );
    if ('certificate' in identity && tls?.clientAuthorities === undefined)
      throw new ConfigError(
        'MLLP_SENDERS names a certificate, which needs ca.crt in the folder MLLP_TLS',
      );
  }
  return config.MLLP_SENDERS;
}

interface MllpLimits {
  messageBytes: number;
  /** A connection on which nothing arrives for this long is closed. */
  idleMs: number;
  /**
   * A connection from an address that never sent a genuine message is closed if
   * it sends no message within this time.
   */
  firstMessageMs: number;
  /** Time for a message from its first byte to its last. */
  frameMs: number;
  connections: number;
  connectionsOfAddress: number;
}

export type MllpListener = ReturnType<typeof createMllpListener>;

const HANDSHAKE_MS = 10_000;

/**
 * Names by which a client certificate, verified by the listener's authority,
 * identifies its holder.
 */
function certificateNames(socket: Socket): string[] {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return [];
  const { subject, subjectaltname = '' } = socket.getPeerCertificate();
  const alternative = [
    ...subjectaltname.matchAll(/(?:^|, )DNS:([\w.-]+)(?=,|$)/g),
  ].map(([, name = '']) => name);
  // The common name counts only where no other name is given (RFC 6125).
  return alternative.length > 0 ? alternative : [subject?.CN ?? []].flat();
}

/**
 * Listens for HL7 v2 messages in MLLP frames, any number on each connection,
 * which are answered one after the other in their order. `answer` resolves to
 * undefined if no acknowledgement is possible; then the connection is closed,
 * as it is when a limit is exceeded. With `clientAuthorities`, only clients
 * with a certificate of theirs can connect.
 */
export function createMllpListener(options: {
  answer(
    message: Buffer,
    certificateNames: readonly string[],
  ): Promise<MllpAnswer | undefined>;
  tls?: TlsFiles;
  limits: MllpLimits;
  logger: Pick<Logger, 'info' | 'warn'>;
}) {
  const { answer, tls, limits, logger } = options;
  /** Open connections, with the message each is working on. */
  const open = new Map<Socket, Promise<void> | undefined>();
  const places = new Places(limits);
  let isClosing = false;

  async function serve(socket: Socket, place: ConnectionPlace): Promise<void> {
    const frames = new MllpFrames(limits.messageBytes);
    const names = certificateNames(socket);
    // The listener's authority vouches for the holder of a certificate.
    if (socket instanceof TLSSocket && socket.authorized)
      places.noteGenuine(place);
    const closeAfter = (ms: number, reason: string) =>
      setTimeout(() => socket.destroy(new FrameError(reason)), ms);
    let deadline = places.isKnown(place)
      ? undefined
      : closeAfter(limits.firstMessageMs, 'no message came');
    let isOfFrame = false;
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        for (const message of frames.read(chunk)) {
          clearTimeout(deadline);
          isOfFrame = false;
          const work = respond(socket, place, message, names);
          open.set(socket, work);
          await work;
          open.set(socket, undefined);
          if (isClosing) return;
        }
        if (frames.isInside && !isOfFrame) {
          clearTimeout(deadline);
          deadline = closeAfter(limits.frameMs, 'a message did not end');
          isOfFrame = true;
        }
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  async function respond(
    socket: Socket,
    place: ConnectionPlace,
    message: Buffer,
    names: readonly string[],
  ): Promise<void> {
    const answered = await answer(message, names);
    if (answered === undefined)
      throw new FrameError('a frame without an HL7 v2 message');
    if (answered.isOfKnownSender) places.noteGenuine(place);
    place.heardAt = process.hrtime.bigint();
    const frames = answered.acknowledgements.map(framed);
    if (frames.length === 0) return;
    await new Promise<void>((resolve, reject) =>
      socket.write(Buffer.concat(frames), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
  }

  /** Before any handshake, so that silent TLS connections are counted too. */
  function admit(socket: Socket): void {
    const { remoteAddress } = socket;
    socket.on('error', () => undefined);
    if (!isClosing && places.take(socket) !== undefined) return;
    if (!isClosing)
      logger.warn(
        { remoteAddress, open: places.size },
        'mllp connection refused: too many are open',
      );
    socket.destroy();
  }

  async function accept(socket: Socket): Promise<void> {
    const { remoteAddress } = socket;
    socket.on('error', () => undefined);
    const place = places.of(socket);
    if (isClosing || place === undefined) return void socket.destroy();
    open.set(socket, undefined);
    socket.setTimeout(limits.idleMs, () => socket.destroy());
    try {
      await serve(socket, place);
    } catch (error) {
      const reason =
        error instanceof FrameError ? error.message : 'the connection broke';
      logger.info({ remoteAddress, reason }, 'mllp connection closed');
    } finally {
      open.delete(socket);
      socket.destroySoon();
    }
  }

  const server: Server =
    tls === undefined
      ? createServer((socket) => {
          admit(socket);
          void accept(socket);
        })
      : createTlsServer(
          {
            cert: tls.cert,
            key: tls.key,
            minVersion: 'TLSv1.2',
            handshakeTimeout: HANDSHAKE_MS,
            ...(tls.clientAuthorities === undefined
              ? {}
              : {
                  ca: tls.clientAuthorities,
                  requestCert: true,
                  rejectUnauthorized: true,
                }),
          },
          (socket) => void accept(socket),
        )
          .on('connection', admit)
          .on('tlsClientError', ({ message }, { remoteAddress }) =>
            logger.info(
              { remoteAddress, reason: message },
              'mllp connection refused: no TLS connection',
            ),
          );

  return {
    server,
    /**
     * Ends each connection after the message that it is working on, and
     * resolves when all have ended.
     */
    async close() {
      isClosing = true;
      const closed = new Promise<void>((resolve) =>
        server.close(() => resolve()),
      );
      for (const [socket, work] of open)
        void (work ?? Promise.resolve()).then(
          () => socket.destroySoon(),
          () => socket.destroy(),
        );
      await closed;
    },
  };
}
