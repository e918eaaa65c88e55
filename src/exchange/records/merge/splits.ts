import type {
  RecordOrigins,
  SplitDelivery,
} from '../../../contract/record-origins.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  orNotFound,
} from '../../platform/errors.ts';
import { mergeBatch } from './merge-batch.ts';
import { type DeliveryPlace, lockRecord } from './merge-store.ts';
import { readResourceOrigins, resourceOrigins } from './resource-origins.ts';

/**
 * Takes a delivery out of a consolidated resource, for good: it is a resource
 * of its own from now on.
 *
 * @returns the origins of the delivery's own resource
 * @throws NotFoundError, InvalidRequestError, ConflictError
 */
export async function splitDelivery(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
  { source, sourceId }: SplitDelivery,
): Promise<RecordOrigins> {
  await lockRecord(tx, patientId);
  const origins = await readResourceOrigins(tx, patientId, resourceId);
  if (origins.length === 0) throw new NotFoundError('Resource');
  const chosen = origins.find(
    (origin) => origin.source === source && origin.sourceId === sourceId,
  );
  if (chosen === undefined)
    throw new InvalidRequestError([
      { path: 'sourceId', message: 'is not a delivery of this resource' },
    ]);
  if (chosen.resourceType === 'Patient')
    throw new ConflictError('A Patient cannot be split');
  if (origins.length === 1)
    throw new ConflictError(
      'The resource has no other delivery to split this one from',
    );
  const place: DeliveryPlace = {
    source,
    resourceType: chosen.resourceType,
    sourceId,
  };
  await insertSplit(tx, patientId, place);
  return regroup(tx, patientId, place);
}

/**
 * Undoes a split: the delivery is united again with what it agrees with.
 *
 * @returns the origins of the resource that it belongs to now
 * @throws NotFoundError, ConflictError
 */
export async function joinDelivery(
  tx: AccountTx,
  patientId: string,
  resourceId: string,
): Promise<RecordOrigins> {
  await lockRecord(tx, patientId);
  const origin = orNotFound(
    'Resource',
    (await readResourceOrigins(tx, patientId, resourceId))[0],
  );
  if (!origin.split)
    throw new ConflictError('This resource was not split from another one');
  const { source, resourceType, sourceId } = origin;
  await deleteSplit(tx, patientId, { source, resourceType, sourceId });
  return regroup(tx, patientId, { source, resourceType, sourceId });
}

async function regroup(
  tx: AccountTx,
  patientId: string,
  place: DeliveryPlace,
): Promise<RecordOrigins> {
  await mergeBatch(tx, patientId, [place]);
  const resourceId = await resourceOfDelivery(tx, patientId, place);
  // Its source moved it to another person at this moment, or the like.
  if (resourceId === null)
    throw new ConflictError('The delivery is no longer part of the record');
  return resourceOrigins(tx, patientId, resourceId);
}

async function insertSplit(
  tx: AccountTx,
  patientId: string,
  place: DeliveryPlace,
): Promise<void> {
  await tx.db
    .insertInto('record_split')
    .values(columnsOf({ ...place, patientId, accountId: tx.accountId }))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function deleteSplit(
  tx: AccountTx,
  patientId: string,
  place: DeliveryPlace,
): Promise<void> {
  await tx.db
    .deleteFrom('record_split')
    .where(({ and }) => and(columnsOf({ ...place, patientId })))
    .execute();
}

/** The consolidated resource that a delivery belongs to now. */
export async function resourceOfDelivery(
  tx: AccountTx,
  patientId: string,
  place: DeliveryPlace,
): Promise<string | null> {
  const row = await tx.db
    .selectFrom('merged_place')
    .select('resource_id')
    .where(({ and }) => and(columnsOf({ ...place, patientId })))
    .executeTakeFirst();
  return row?.resource_id ?? null;
}
