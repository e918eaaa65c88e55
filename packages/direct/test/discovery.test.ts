import { lookup as dnsLookup } from 'node:dns';
import { type AddressInfo, createServer, type LookupFunction } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  DiscoveryError,
  findCertificates,
  isMeantFor,
  isTrusted,
} from '../src/index.ts';
import {
  certRecord,
  startDnsServer,
  type TestDnsServer,
} from './support/dns-server.ts';
import { testAuthority } from './support/identities.ts';

const authority = testAuthority();
const domain = authority.identity('domain', 'DNS:direct.bob.example');
const bob = authority.identity('bob', 'email:bob@direct.bob.example');
const stranger = testAuthority().identity('bob', 'DNS:direct.bob.example');
const BOB = 'Bob@direct.bob.example';

let dns: TestDnsServer;
beforeAll(async () => {
  dns = await startDnsServer();
});
afterAll(async () => {
  await dns[Symbol.asyncDispose]();
});
beforeEach(() => {
  dns.records.clear();
  dns.asked.length = 0;
  dns.fault = undefined;
});

const publish = (
  name: string,
  ...of: { certificate: typeof bob.certificate }[]
) =>
  dns.records.set(
    name,
    of.map(({ certificate }) => certRecord(certificate)),
  );

const here: LookupFunction = (name, options, done) =>
  dnsLookup(name.endsWith('.example') ? '127.0.0.1' : name, options, done);

async function found(lookup = here): Promise<string[]> {
  const certificates = await findCertificates(
    BOB,
    async (all) =>
      all.filter((each) =>
        isTrusted(each, all, [authority.anchor], new Date()),
      ),
    { lookup, dnsServers: [dns.server] },
  );

  return certificates.map(({ subject }) => subject);
}

test('a certificate of the address comes before that of its domain', async () => {
  publish('bob.direct.bob.example', bob);
  publish('direct.bob.example', domain);

  expect(await found()).toEqual(['CN=bob']);
  expect(dns.asked).toEqual(['CERT bob.direct.bob.example udp']);
});

test('a place whose certificates are of no use is passed by', async () => {
  publish('bob.direct.bob.example', stranger);
  publish('direct.bob.example', domain, stranger);

  expect(await found()).toEqual(['CN=domain']);
});

test('an answer too large for UDP is asked for by TCP', async () => {
  publish('direct.bob.example', stranger, domain);

  expect(await found()).toEqual(['CN=domain']);
  expect(dns.asked).toContain('CERT direct.bob.example tcp');
});

test('records that are no certificates, or of another type, are left out', async () => {
  dns.records.set('direct.bob.example', [
    certRecord({ raw: Buffer.from('no certificate') }),
    certRecord(domain.certificate, 3),
    { type: 'CERT', data: Buffer.from([0, 1]) },
  ]);

  expect(await found()).toEqual([]);
});

test('of a flood of records, a bounded number is read', async () => {
  dns.records.set('direct.bob.example', [
    ...Array.from({ length: 30 }, () => certRecord(stranger.certificate)),
    certRecord(domain.certificate),
  ]);

  expect(await found()).toEqual([]);
});

test('nobody published is not the same as nobody answered', async () => {
  expect(await found()).toEqual([]);

  dns.fault = 'SERVFAIL';
  await expect(found()).rejects.toThrow(DiscoveryError);
});

test('a silent resolver is given up, and not waited for', async () => {
  dns.fault = 'silent';
  const within = new AbortController();
  const asking = findCertificates(BOB, async (all) => all, {
    lookup: here,
    dnsServers: [dns.server],
    signal: within.signal,
  });
  within.abort(new Error('stopped'));

  await expect(asking).rejects.toThrow('stopped');
});

test('an LDAP server that floods, or says nothing of use, is one that cannot be asked', async () => {
  let send: 'flood' | 'nonsense' = 'flood';
  let sentBytes = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      if (send === 'nonsense') socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      // A message of 100 MB begins; it never ends.
      else {
        socket.write(Buffer.from([0x30, 0x84, 6, 0, 0, 0]));
        const more = () => {
          do sentBytes += 65_536;
          while (socket.writable && socket.write(Buffer.alloc(65_536)));
        };
        socket.on('drain', more);
        more();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  dns.records.set('_ldap._tcp.direct.bob.example', [
    { type: 'SRV', data: { target: 'ldap.bob.example', port } },
  ]);

  await expect(found()).rejects.toThrow('LDAP');
  // The system's buffers hold some more than was read.
  expect(sentBytes).toBeLessThan(10_000_000);
  send = 'nonsense';
  await expect(found()).rejects.toThrow('LDAP');
  server.close();
});

test('an LDAP server is reached only where connections may go, and never by an address in place of a name', async () => {
  let reached = 0;
  const server = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const nowhere: LookupFunction = (_name, _options, done) =>
    done(new Error('not there'), []);
  const at = (target: string) =>
    dns.records.set('_ldap._tcp.direct.bob.example', [
      { type: 'SRV', data: { target, port } },
    ]);

  at('ldap.bob.example');
  await expect(found(nowhere)).rejects.toThrow(DiscoveryError);
  at('127.0.0.1');
  expect(await found()).toEqual([]);
  expect(reached).toBe(0);
  server.close();
});

test('a certificate is used for what its issuer meant it for', () => {
  const signs = authority.identity(
    'signs',
    'DNS:a.example\nkeyUsage=critical,digitalSignature',
  );
  const encrypts = authority.identity(
    'encrypts',
    'DNS:a.example\nkeyUsage=critical,keyEncipherment',
  );
  const uses = ({ certificate }: typeof signs) => [
    isMeantFor(certificate, 'signing'),
    isMeantFor(certificate, 'encrypting'),
  ];

  expect([uses(signs), uses(encrypts), uses(bob)]).toEqual([
    [true, false],
    [false, true],
    [true, true],
  ]);
});
