import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.ts';
import { authenticateSender } from '../../../src/exchange/messaging/notifications/senders.ts';

const read = (NOTIFICATION_SENDERS: string) =>
  readConfig(['NOTIFICATION_SENDERS'], { NOTIFICATION_SENDERS })
    .NOTIFICATION_SENDERS;

describe('NOTIFICATION_SENDERS', () => {
  test('names each sender with its secret, and its time zone where it is not UTC', () => {
    expect(
      read(
        'mercy=secret-of-mercy-1=@America/New_York  general=secret-of-general',
      ),
    ).toEqual([
      {
        name: 'mercy',
        secret: 'secret-of-mercy-1=',
        timeZone: 'America/New_York',
      },
      { name: 'general', secret: 'secret-of-general', timeZone: 'UTC' },
    ]);
    expect(
      readConfig(['NOTIFICATION_SENDERS'], {}).NOTIFICATION_SENDERS,
    ).toEqual([]);
  });

  test.each([
    'mercy',
    'mercy=short',
    'mercy=secret-of-mercy-1@Mars/Olympus',
    '=secret-of-mercy-1',
    'a/b=secret-of-mercy-1',
  ])('refuses %j without showing it', (text) => {
    expect(() => read(text)).toThrow(ConfigError);
    expect(() => read(text)).not.toThrow(/secret-of|Mars|short/);
  });
});

describe('a sender', () => {
  const senders = read('mercy=secret-of-mercy-1 general=secret-of-general');
  test.each([
    ['mercy', 'Bearer secret-of-mercy-1', 'mercy'],
    ['mercy', 'bearer secret-of-mercy-1', 'mercy'],
    ['mercy', 'Bearer secret-of-general', undefined],
    ['mercy', 'secret-of-mercy-1', undefined],
    ['mercy', undefined, undefined],
    ['nobody', 'Bearer nobody has this secret', undefined],
  ])('%s with %j is %s', (name, header, expected) => {
    expect(authenticateSender(senders, name, header)?.name).toBe(expected);
  });
});

describe('MLLP_SENDERS', () => {
  const readMllp = (MLLP_SENDERS: string) =>
    readConfig(['MLLP_SENDERS'], { MLLP_SENDERS }).MLLP_SENDERS;

  test('says by what each sender is recognised', () => {
    expect(
      readMllp(
        'mercy=certificate:feed.mercy.example.org  general=EPIC|GENERAL+WEST',
      ),
    ).toEqual([
      { sender: 'mercy', certificate: 'feed.mercy.example.org' },
      { sender: 'general', application: 'EPIC', facility: 'GENERAL WEST' },
    ]);
  });

  test.each([
    'mercy',
    'mercy=EPIC',
    'mercy=|',
    'mercy=certificate:',
    'a/b=EPIC|X',
  ])('refuses %j', (text) => {
    expect(() => readMllp(text)).toThrow(ConfigError);
  });
});
