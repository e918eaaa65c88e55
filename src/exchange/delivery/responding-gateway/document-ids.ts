import { comparableId } from '#ihe';

/*
 * The unique ids of our documents: OIDs made of the documents' UUIDs (ITU-T
 * X.667, arc 2.25), because ITI TF-3 4.2.3.2.26 wants OIDs.
 */

const ARC = '2.25.';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @param id the id of a stored document, a UUID */
export const uniqueIdOf = (id: string): string =>
  `${ARC}${BigInt(`0x${id.replaceAll('-', '')}`)}`;

/** The id of a stored document; undefined for what none of ours can have. */
export function storedIdOf(uniqueId: string): string | undefined {
  const bare = comparableId(uniqueId);
  if (!/^2\.25\.\d{1,39}$/.test(bare)) return undefined;
  const hex = BigInt(bare.slice(ARC.length)).toString(16);
  if (hex.length > 32) return undefined;
  return hex
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A UUID in its one form; undefined for another text. */
export function uuidOf(text: string): string | undefined {
  const bare = comparableId(text).toLowerCase();
  return UUID.test(bare) ? bare : undefined;
}
