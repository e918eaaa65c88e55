import type { X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer } from 'node:net';
import { type Answer, decode, encode } from 'dns-packet';
import type { DnsServer } from '../../src/index.ts';

/** A resolver of this process: records by lower-case name. */
export interface TestDnsServer extends AsyncDisposable {
  server: DnsServer;
  records: Map<string, TestRecord[]>;

  /** Names that it was asked for, with the way. */
  asked: string[];

  /** How it fails: it answers nothing, or with an error. */
  fault: 'silent' | 'SERVFAIL' | undefined;
}

export type TestRecord =
  | { type: 'CERT'; data: Buffer }
  | { type: 'SRV'; data: { target: string; port: number; priority?: number } };

/** A CERT record of the type PKIX, or of another one. */
export const certRecord = (
  { raw }: Pick<X509Certificate, 'raw'>,
  type = 1,
): TestRecord => ({
  type: 'CERT',
  data: Buffer.concat([Buffer.from([0, type, 0, 0, 0]), raw]),
});

const UDP_BYTES = 1_232;
const TRUNCATED = 0x0200;
const SERVFAIL = 2;
const NXDOMAIN = 3;

export async function startDnsServer(): Promise<TestDnsServer> {
  const records = new Map<string, TestRecord[]>();
  const asked: string[] = [];
  const stand: Pick<TestDnsServer, 'fault'> = { fault: undefined };

  function answerTo(query: Buffer, way: 'udp' | 'tcp'): Buffer | undefined {
    const { id, questions } = decode(query);
    const [question] = questions ?? [];
    const name = question?.name.toLowerCase() ?? '';
    asked.push(`${question?.type} ${name} ${way}`);
    if (stand.fault === 'silent') return undefined;
    const of = records.get(name) ?? [];
    const code =
      stand.fault === 'SERVFAIL' ? SERVFAIL : of.length === 0 ? NXDOMAIN : 0;
    const answers = of.map((each) => ({ name, ttl: 60, ...each }) as Answer);
    const packet = { type: 'response' as const, id, questions };
    const whole = encode({ ...packet, flags: code, answers });
    return way === 'udp' && whole.length > UDP_BYTES
      ? encode({ ...packet, flags: TRUNCATED })
      : whole;
  }

  const tcp = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const answer = answerTo(bytes.subarray(2), 'tcp');
      if (answer === undefined) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answer.length);
      // In pieces, as networks have it.
      socket.write(length.subarray(0, 1));
      setImmediate(() =>
        socket.end(Buffer.concat([length.subarray(1), answer])),
      );
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (query, { port: from, address }) => {
    const answer = answerTo(query, 'udp');
    if (answer !== undefined) udp.send(answer, from, address);
  });
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));

  return Object.assign(stand, {
    server: { host: '127.0.0.1', port },
    records,
    asked,
    async [Symbol.asyncDispose]() {
      udp.close();
      await new Promise((resolve) => tcp.close(resolve));
    },
  });
}
