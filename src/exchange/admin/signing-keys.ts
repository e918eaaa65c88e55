import { listPublishedKeys } from '../source-connections/signing-key-store.ts';
import { rotateSigningKeys } from '../source-connections/signing-keys.ts';
import { type AdminResult, type AdminTarget, shortTime } from './command.ts';

/** `signing-keys list`: the keys in our JWKS, and from when until when they sign. */
export async function listSigningKeysCommand({ store }: Pick<AdminTarget, 'store'>): Promise<AdminResult> {
  const keys = await store.asSystem(listPublishedKeys);
  return {
    document: { keys: keys.map(({ publicJwk: _, ...key }) => key) },
    table: {
      head: ['kid', 'algorithm', 'signs from', 'published until'],
      rows: keys.map(({ kid, algorithm, signsFrom, publishedUntil }) => [
        kid,
        algorithm,
        shortTime(signsFrom),
        shortTime(publishedUntil),
      ]),
    },
  };
}

/** `signing-keys rotate`: new keys, which sign after the overlap, or at once. */
export async function rotateSigningKeysCommand(
  { store, openKeyRing }: AdminTarget,
  atOnce: boolean,
): Promise<AdminResult> {
  const keyRing = await openKeyRing();
  await store.asSystem((tx) => rotateSigningKeys(tx, keyRing, atOnce));
  const { document, table } = await listSigningKeysCommand({ store });
  return { document, table };
}
