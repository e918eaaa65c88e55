import type { FacilityResponse } from '../../../contract/facilities.ts';
import { eTagOf } from '../../platform/http/etag.ts';
import type { StoredFacility } from './facility-store.ts';

export function serializeFacility(facility: StoredFacility): FacilityResponse {
  const { version: _version, tin, ...rest } = facility;
  return { ...rest, tin: tin ?? undefined, eTag: eTagOf(facility) };
}
