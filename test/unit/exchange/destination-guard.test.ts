import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import {
  BlockedDestinationError,
  checkDestination,
  destinationProblem,
  guardedLookup,
} from '../../../src/exchange/platform/outbox/destination-guard.ts';

const strict = { allowLoopback: false };
const embedded = { allowLoopback: true };

describe('a webhook destination', () => {
  test.each([
    'https://hooks.example.org/a?b=c',
    'https://hooks.example.org:8443/',
    'https://8.8.8.8/x',
    'https://[2606:4700:4700::1111]/x',
  ])('%s is accepted', (url) => {
    expect(destinationProblem(url, strict)).toBeUndefined();
    expect(() => checkDestination(url, strict)).not.toThrow();
  });

  test.each([
    ['http://hooks.example.org/', 'https'],
    ['file:///etc/passwd', 'https'],
    ['https://user:pass@hooks.example.org/', 'user name'],
    ['https://hooks.example.org/#x', 'fragment'],
    ['https://127.0.0.1/', 'this machine'],
    ['https://2130706433/', 'this machine'],
    ['https://0x7f.1/', 'this machine'],
    ['https://[::1]/', 'this machine'],
    ['https://[::ffff:127.0.0.1]/', 'this machine'],
    ['https://localhost/', 'this machine'],
    ['https://a.localhost./', 'this machine'],
    ['https://10.0.0.1/', 'private'],
    ['https://172.16.9.9/', 'private'],
    ['https://192.168.1.1/', 'private'],
    ['https://100.64.0.1/', 'private'],
    ['https://169.254.169.254/', 'private'],
    ['https://0.0.0.0/', 'private'],
    ['https://224.0.0.1/', 'private'],
    ['https://[fd00::1]/', 'private'],
    ['https://[fe80::1]/', 'private'],
    ['https://[::ffff:10.0.0.1]/', 'private'],
    ['https://[64:ff9b::a00:1]/', 'private'],
    ['https://[::127.0.0.1]/', 'private'],
    ['https://[::10.0.0.1]/', 'private'],
    ['https://[64:ff9b:1::a00:1]/', 'private'],
    ['https://[2002:7f00:1::]/', 'private'],
    ['https://168.63.129.16/', 'private'],
    ['https://[::ffff:168.63.129.16]/', 'private'],
    ['https://intranet/', 'public host name'],
    ['https://metadata.google.internal/', 'public host name'],
    ['https://printer.local/', 'public host name'],
    ['nowhere', 'URL'],
  ])('%s is refused', (url, reason) => {
    expect(destinationProblem(url, strict)).toContain(reason);
    expect(() => checkDestination(url, strict)).toThrow(
      BlockedDestinationError,
    );
  });

  test('may be private or plain http where the operator vouches for that very origin', () => {
    const rules = {
      allowLoopback: false,
      trustedOrigins: ['http://receiver:8081', 'https://10.0.0.1'],
    };
    for (const url of ['http://receiver:8081/webhooks', 'https://10.0.0.1/x']) {
      expect(destinationProblem(url, rules)).toBeUndefined();
    }
    for (const url of [
      'http://receiver:8082/',
      'https://receiver:8081/',
      'https://10.0.0.1:8443/',
    ]) {
      expect(destinationProblem(url, rules)).toBeDefined();
    }
    expect(
      destinationProblem('http://user:pass@receiver:8081/', rules),
    ).toContain('user name');
  });

  test('may be plain http on this machine in the embedded stack, and nowhere else', () => {
    expect(
      destinationProblem('http://127.0.0.1:8080/x', embedded),
    ).toBeUndefined();
    expect(
      destinationProblem('http://localhost:8080/x', embedded),
    ).toBeUndefined();
    expect(destinationProblem('http://10.0.0.1/x', embedded)).toBeDefined();
    expect(
      destinationProblem('http://hooks.example.org/x', embedded),
    ).toBeDefined();
  });
});

test('in the embedded stack, no part of the stack itself but the receiver is a destination', () => {
  const rules = { allowLoopback: true, refusedPorts: [7233, 443] };
  for (const host of [
    '127.0.0.1:7233',
    'localhost:7233',
    '[::1]:7233',
    '0x7f.1:7233',
    'a.localhost:7233',
  ])
    expect(destinationProblem(`http://${host}/x`, rules)).toContain(
      'port of this service',
    );
  expect(destinationProblem('https://localhost/x', rules)).toContain(
    'port of this service',
  );
  expect(destinationProblem('http://127.0.0.1:7234/x', rules)).toBeUndefined();
  expect(
    destinationProblem('https://hooks.example.org/x', rules),
  ).toBeUndefined();
});

describe('the look-up of a destination’s socket', () => {
  const lookUp = (
    name: string,
    rules: { allowLoopback: boolean },
    all: boolean,
  ) =>
    new Promise<string | LookupAddress[]>((resolve, reject) => {
      guardedLookup(rules)(name, { all }, (error, address) =>
        error ? reject(error) : resolve(address),
      );
    });

  test('refuses a name that leads to this machine, whichever form is asked for', async () => {
    await expect(lookUp('localhost', strict, true)).rejects.toThrow(
      BlockedDestinationError,
    );
    await expect(lookUp('localhost', strict, false)).rejects.toThrow(
      BlockedDestinationError,
    );
  });

  test('answers in the form that was asked for', async () => {
    expect(await lookUp('localhost', embedded, true)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ family: expect.any(Number) }),
      ]),
    );
    expect(typeof (await lookUp('localhost', embedded, false))).toBe('string');
  });

  test('passes on that a name does not exist', async () => {
    await expect(
      lookUp('does-not-exist.invalid', strict, true),
    ).rejects.toHaveProperty('code');
  });
});
