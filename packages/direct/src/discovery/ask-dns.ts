import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import { type Answer, decode, encode, RECURSION_DESIRED } from 'dns-packet';
import { DiscoveryError } from './discovery-error.ts';

/** A resolver that answers by UDP and TCP. */
export interface DnsServer {
  host: string;
  port: number;
}

export type DnsType = 'CERT' | 'SRV';

const DNS_PORT = 53;
const SERVERS_MAX = 3;
/** A packet may be lost. */
const ROUNDS = 2;
const ANSWER_WITHIN_MS = 2_500;
/** What passes without being cut to pieces on the way (RFC 9715). */
const UDP_BYTES = 1_232;

/** The resolvers of this machine. */
export const systemDnsServers = (): DnsServer[] =>
  getServers().map((each) => {
    const [, bracketed, plain, port] =
      /^(?:\[(.+)\]|([\d.]+))(?::(\d+))?$/.exec(each) ?? [];

    return {
      host: bracketed ?? plain ?? each,
      port: port === undefined ? DNS_PORT : Number(port),
    };
  });

/**
 * Asks a resolver for the records of a name, by UDP, and by TCP where the
 * answer is too large for that (RFC 7766). `node:dns` does not know CERT.
 *
 * @returns none for a name that does not exist, or has no such records
 * @throws {DiscoveryError} when no resolver answers, or it fails
 */
export async function askDns<Type extends DnsType>(
  name: string,
  type: Type,
  servers: readonly DnsServer[],
  signal: AbortSignal,
): Promise<Extract<Answer, { type: Type }>[]> {
  const query = encode({
    type: 'query',
    id: randomInt(0x10000),
    flags: RECURSION_DESIRED,
    questions: [{ name, type, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: UDP_BYTES,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });

  for (let round = 0; round < ROUNDS; round++)
    for (const server of servers.slice(0, SERVERS_MAX)) {
      const answer = await answerOf(server, query, signal);
      signal.throwIfAborted();
      const records = answer && recordsIn(answer);
      if (records !== undefined)
        return records.filter(
          (each): each is Extract<Answer, { type: Type }> => each.type === type,
        );
    }

  throw new DiscoveryError('DNS does not answer');
}

/** Undefined when there was none in time. */
async function answerOf(
  server: DnsServer,
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const soon = () =>
    AbortSignal.any([signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
  try {
    const answer = await byUdp(server, query, soon());

    return isTruncated(answer) ? await byTcp(server, query, soon()) : answer;
  } catch {
    return undefined;
  }
}

function byUdp(
  { host, port }: DnsServer,
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' });

  return new Promise<Buffer>((resolve, reject) => {
    signal.addEventListener('abort', reject);
    socket.on('error', reject);
    socket.on('message', (bytes) => {
      if (isAnswerTo(query, bytes)) resolve(bytes);
    });
    // Connected, so that nobody else can answer.
    socket.on('connect', () => socket.send(query));
    socket.connect(port, host);
  }).finally(() => socket.close());
}

async function byTcp(
  { host, port }: DnsServer,
  query: Buffer,
  signal: AbortSignal,
): Promise<Buffer> {
  const socket = connect({ host, port, signal });
  try {
    socket.write(streamQuery(query));
    let received = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      const end = received.length < 2 ? Infinity : 2 + received.readUInt16BE(0);
      if (received.length < end) continue;

      const answer = received.subarray(2, end);
      if (isAnswerTo(query, answer)) return answer;
      break;
    }
    throw new DiscoveryError('DNS does not answer');
  } finally {
    socket.destroy();
  }
}

/** With its length before it. */
function streamQuery(query: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);

  return Buffer.concat([length, query]);
}

const HEADER_BYTES = 12;
const IS_ANSWER = 0x80;
const IS_TRUNCATED = 0x02;
const RCODE = 0x0f;
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

/** By the number of the question. */
const isAnswerTo = (query: Buffer, bytes: Buffer): boolean =>
  bytes.length >= HEADER_BYTES &&
  bytes.readUInt16BE(0) === query.readUInt16BE(0) &&
  (bytes.readUInt8(2) & IS_ANSWER) !== 0;

const isTruncated = (answer: Buffer): boolean =>
  (answer.readUInt8(2) & IS_TRUNCATED) !== 0;

/** Undefined for a resolver that failed, or whose answer cannot be read. */
function recordsIn(answer: Buffer): Answer[] | undefined {
  const code = answer.readUInt8(3) & RCODE;
  if (code === NO_SUCH_NAME) return [];
  if (code !== NO_ERROR) return undefined;

  try {
    return decode(answer).answers ?? [];
  } catch {
    return undefined;
  }
}
