import { createFacilityBodySchema } from '../../../contract/facilities.ts';
import { createFacility } from '../../people/facilities/change-facility.ts';
import { listFacilities } from '../../people/facilities/facility-store.ts';
import { withinAccount } from '../../platform/database/database.ts';
import { InvalidRequestError } from '../../platform/errors.ts';
import { auditAdmin, requireAccount } from './accounts.ts';
import { AdminError, type AdminResult, type AdminTarget } from './command.ts';

export interface CreateFacilityOptions {
  account: string;
  name: string;
  npi: string;
  tin?: string;
  addressLine1: string;
  addressLine2?: string;
  city: string;
  state: string;
  zip: string;
}

/** `facilities create`, with the same validation as the API operation "create facility". */
export async function createFacilityCommand(
  { store }: AdminTarget,
  { account: accountId, name, npi, tin, ...address }: CreateFacilityOptions,
): Promise<AdminResult> {
  const body = createFacilityBodySchema.safeParse({ name, npi, tin, address });
  if (!body.success)
    throw new AdminError(
      body.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'),
    );
  const facility = await store.asSystem(async (tx) => {
    await requireAccount(tx, accountId);
    const made = await withinAccount(tx, accountId, (own) => createFacility(own, body.data)).catch(
      (error: unknown) => {
        throw error instanceof InvalidRequestError ? new AdminError(error.message) : error;
      },
    );
    await auditAdmin(tx, accountId, 'createFacility', made.id);
    return made;
  });
  return { document: { facility }, lines: [`Created facility ${facility.id} (${facility.name}).`] };
}

export async function listFacilitiesCommand({ store }: AdminTarget, accountId: string): Promise<AdminResult> {
  await store.asSystem((tx) => requireAccount(tx, accountId));
  const facilities = await store.asAccount(accountId, (tx) => listFacilities(tx));
  return {
    document: { accountId, facilities },
    table: {
      head: ['facility', 'name', 'npi', 'active'],
      rows: facilities.map(({ id, name, npi, active }) => [id, name, npi, active ? 'yes' : 'no']),
    },
  };
}
