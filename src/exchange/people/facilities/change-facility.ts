import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import type {
  CreateFacilityBody,
  UpdateFacilityBody,
} from '../../../contract/facilities.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  NotFoundError,
} from '../../platform/errors.ts';
import {
  countFacilityUse,
  deleteFacility,
  type FacilityContent,
  insertFacility,
  lockFacility,
  type StoredFacility,
  updateFacility,
} from './facility-store.ts';

/**
 * Called with the locked facility before it is changed; may throw to reject the
 * change.
 */
type Check = (facility: StoredFacility) => void;

/**
 * Throws InvalidRequestError if another facility of the account has the NPI.
 */
export async function createFacility(
  tx: AccountTx,
  body: CreateFacilityBody,
): Promise<StoredFacility> {
  const id = uuidv7();
  const facility = await insertFacility(tx, {
    id,
    oid: oidOfUuid(id),
    npi: body.npi,
    ...facilityContent(body),
  });
  if (facility !== undefined) return facility;
  throw new InvalidRequestError([
    { path: 'npi', message: `another facility has the NPI ${body.npi}` },
  ]);
}

/**
 * Replaces the content of a facility. The version, and with it the eTag,
 * increases if that makes a difference. Throws NotFoundError, and
 * InvalidRequestError for a different NPI.
 */
export async function replaceFacility(
  tx: AccountTx,
  id: string,
  body: UpdateFacilityBody,
  check: Check,
): Promise<StoredFacility> {
  const known = await requireFacility(tx, id, 'changed');
  check(known);
  if (body.npi !== undefined && body.npi !== known.npi) {
    const message = `cannot be changed; the NPI of this facility is ${known.npi}`;
    throw new InvalidRequestError([{ path: 'npi', message }]);
  }
  const { name, tin, active, address } = known;
  const content = facilityContent({
    ...body,
    active: body.active ?? known.active,
  });
  return isDeepStrictEqual({ name, tin, active, address }, content)
    ? known
    : updateFacility(tx, id, content);
}

/**
 * Deletes a facility. Throws NotFoundError, InvalidRequestError if it has
 * patients, and 423 while a bulk create for it is in progress.
 */
export async function deleteUnusedFacility(
  tx: AccountTx,
  id: string,
  check: Check,
): Promise<void> {
  // Checked before the lock too, because waiting for it would take long if
  // patients are constantly created here.
  refuseWhenUsed(await countFacilityUse(tx, id));
  check(await requireFacility(tx, id, 'deleted'));
  refuseWhenUsed(await countFacilityUse(tx, id));
  await deleteFacility(tx, id);
}

function refuseWhenUsed({
  patients,
  openBulkCreates,
}: {
  patients: number;
  openBulkCreates: number;
}): void {
  if (patients > 0) {
    const message = `this facility still has ${patients} patient${patients === 1 ? '' : 's'}; move them to another facility or delete them first`;
    throw new InvalidRequestError([{ path: '', message }]);
  }
  if (openBulkCreates > 0)
    throw new ExchangeError(
      423,
      'A bulk create for this facility is in progress; wait until it ends, or cancel it',
    );
}

async function requireFacility(
  tx: AccountTx,
  id: string,
  toBe: 'changed' | 'deleted',
): Promise<StoredFacility> {
  const facility = await lockFacility(tx, id, toBe);
  if (facility === undefined) throw new NotFoundError('Facility');
  return facility;
}

function facilityContent(
  body: Omit<CreateFacilityBody, 'npi'>,
): FacilityContent {
  const { addressLine2, ...address } = body.address;
  return {
    name: body.name,
    tin: body.tin ?? null,
    active: body.active ?? true,
    address: addressLine2 ? { ...address, addressLine2 } : address,
  };
}

/**
 * The OID derived from a UUID (ITU-T X.667, arc 2.25): globally unique without
 * registration.
 */
const oidOfUuid = (uuid: string): string =>
  `2.25.${BigInt(`0x${uuid.replaceAll('-', '')}`)}`;
