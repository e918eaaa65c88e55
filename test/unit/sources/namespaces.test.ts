import { expect, test } from 'vitest';
import {
  isIn,
  messageNamespaceOf,
  namespaceOf,
} from '../../../src/exchange/records/rules/ids.ts';

const ID = '01a202bc-68b1-7424-95c5-4a6f6174e414';

test('an id of a message or a connection is not compared with the answer of another server', () => {
  const ofMessage = `${messageNamespaceOf(ID)}na`;
  const ofConnection = `${namespaceOf(ID)}na`;
  expect([isIn('', 'na'), isIn('', ofMessage), isIn('', ofConnection)]).toEqual(
    [true, false, false],
  );
  expect(isIn(namespaceOf(ID), ofMessage)).toBe(false);
  expect(isIn(messageNamespaceOf(ID), ofMessage)).toBe(true);
});
