import {
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The certificates of the stack's network, of which it and its simulator are members. */
export interface StackNetwork {
  /** Folders with tls.crt, tls.key and ca.crt: ours, and the simulated gateway's. */
  ours: string;
  theirs: string;
}

/** Makes an authority and two members in the data folder, once. */
export async function ensureNetwork(dataDir: string): Promise<StackNetwork> {
  const network = {
    ours: join(dataDir, 'network', 'ours'),
    theirs: join(dataDir, 'network', 'theirs'),
  };
  if (existsSync(join(network.theirs, 'tls.key'))) return network;
  const authority = { name: 'Network of this machine', ...newKeys() };
  const authorityPem = certificateOf(authority, authority, [BASIC_CONSTRAINTS]);
  const members = {
    'This exchange': network.ours,
    'Simulated gateway': network.theirs,
  };
  for (const [name, folder] of Object.entries(members)) {
    const member = { name, ...newKeys() };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const files = {
      'ca.crt': authorityPem,
      'tls.crt': certificateOf(member, authority, [SUBJECT_ALT_NAME]),
      // Last: it says that the others are there.
      'tls.key': member.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    };
    for (const [file, content] of Object.entries(files))
      await writeFile(join(folder, file), content, { mode: 0o600 });
  }
  return network;
}

interface Subject {
  name: string;
  publicKey: KeyObject;
  privateKey: KeyObject;
}

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

const DAY_MS = 24 * 3_600_000;

/** An X.509 certificate (RFC 5280) as PEM, for ten years. */
function certificateOf(
  subject: Subject,
  issuer: Subject,
  extensions: readonly Buffer[],
): string {
  const algorithm = der(SEQUENCE, oid('1.2.840.113549.1.1.11'), der(NULL));
  const now = Date.now();
  const signed = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    // Positive, whatever its first bit.
    der(INTEGER, Buffer.from([1]), randomBytes(15)),
    algorithm,
    nameOf(issuer),
    der(SEQUENCE, timeOf(now - DAY_MS), timeOf(now + 3_650 * DAY_MS)),
    nameOf(subject),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, ...extensions)),
  );
  const signature = sign('sha256', signed, issuer.privateKey);
  const certificate = der(SEQUENCE, signed, algorithm, bits(signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return [
    '-----BEGIN CERTIFICATE-----',
    ...lines,
    '-----END CERTIFICATE-----',
    '',
  ].join('\n');
}

const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const NULL = 0x05;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
/** In a list of names: a name of DNS, and an address of IP. */
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/** Tag, length and contents (X.690). */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80)
    return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([
    Buffer.from([tag, 0x80 + digits.length, ...digits]),
    content,
  ]);
}

const bits = (bytes: Buffer): Buffer =>
  der(BIT_STRING, Buffer.from([0]), bytes);

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split('.').map(Number);
  const bytes = others.flatMap((number) => {
    const digits = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7)
      digits.unshift(0x80 | (rest & 0x7f));
    return digits;
  });
  return der(OBJECT_ID, Buffer.from([first * 40 + second, ...bytes]));
}

const nameOf = ({ name }: Pick<Subject, 'name'>): Buffer =>
  der(
    SEQUENCE,
    der(
      SET,
      der(SEQUENCE, oid('2.5.4.3'), der(UTF8_STRING, Buffer.from(name))),
    ),
  );

const timeOf = (at: number): Buffer => {
  const digits = new Date(at).toISOString().replace(/\D/g, '');
  return der(UTC_TIME, Buffer.from(`${digits.slice(2, 14)}Z`));
};

/** Critical: this is an authority. */
const BASIC_CONSTRAINTS = der(
  SEQUENCE,
  oid('2.5.29.19'),
  der(BOOLEAN, Buffer.from([0xff])),
  der(OCTET_STRING, der(SEQUENCE, der(BOOLEAN, Buffer.from([0xff])))),
);

/** Both members are on this machine. */
const SUBJECT_ALT_NAME = der(
  SEQUENCE,
  oid('2.5.29.17'),
  der(
    OCTET_STRING,
    der(
      SEQUENCE,
      der(DNS_NAME, Buffer.from('localhost')),
      der(IP_ADDRESS, Buffer.from([127, 0, 0, 1])),
    ),
  ),
);
