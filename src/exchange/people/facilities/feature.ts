import { orNotFound } from '../../platform/errors.ts';
import {
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import { checkETag, eTagHeader } from '../../platform/http/etag.ts';
import { created, noContent, ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import {
  createFacility,
  deleteUnusedFacility,
  replaceFacility,
} from './change-facility.ts';
import { findFacility, listFacilities } from './facility-store.ts';
import { serializeFacility } from './serializers.ts';

/** Facilities: E11 and their administration. */
export const facilitiesFeature = {
  open: NOTHING_OPEN,
  routes: ({ operations }: GatewayScopes) => addFacilityRoutes(operations),
} satisfies Feature;

export function addFacilityRoutes(operations: Operations): void {
  operations.read('listFacilities', async (tx) => {
    const facilities = await listFacilities(tx);
    return ok({ facilities: facilities.map(serializeFacility) });
  });

  operations.write('createFacility', async (tx, { body }) => {
    const facility = await createFacility(tx, body);
    return created(serializeFacility(facility), {
      headers: eTagHeader(facility),
      targetId: facility.id,
    });
  });

  operations.read('getFacility', async (tx, { params }) => {
    const facility = orNotFound('Facility', await findFacility(tx, params.id));
    return ok(serializeFacility(facility), { headers: eTagHeader(facility) });
  });

  operations.write('updateFacility', async (tx, { params, headers, body }) => {
    const facility = await replaceFacility(
      tx,
      params.id,
      body,
      checkETag('The facility', headers, body),
    );
    return ok(serializeFacility(facility), {
      headers: eTagHeader(facility),
      targetId: facility.id,
    });
  });

  operations.write('deleteFacility', async (tx, { params, headers, body }) => {
    await deleteUnusedFacility(
      tx,
      params.id,
      checkETag('The facility', headers, body),
    );
    return noContent({ targetId: params.id.toLowerCase() });
  });
}
