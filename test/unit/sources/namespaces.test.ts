import { expect, test } from 'vitest';
import {
  isInNamespace,
  messageNamespaceOf,
  namespaceOf,
} from '../../../src/exchange/records/rules/ids.ts';

const ID = '01a202bc-68b1-7424-95c5-4a6f6174e414';

test('an id of a message or a connection is not compared with the answer of another server', () => {
  const ofMessage = `${messageNamespaceOf(ID)}na`;
  const ofConnection = `${namespaceOf(ID)}na`;
  expect([
    isInNamespace('', 'na'),
    isInNamespace('', ofMessage),
    isInNamespace('', ofConnection),
  ]).toEqual([true, false, false]);
  expect(isInNamespace(namespaceOf(ID), ofMessage)).toBe(false);
  expect(isInNamespace(messageNamespaceOf(ID), ofMessage)).toBe(true);
});
