import { bulkCreateEndpoints } from './bulk-create-endpoints.ts';
import { cohortEndpoints } from './cohorts-endpoints.ts';
import { consentEndpoints } from './consents-endpoints.ts';
import { consolidatedEndpoints } from './consolidated-query-endpoints.ts';
import { documentEndpoints } from './documents-endpoints.ts';
import { embedTokenEndpoints } from './embed-endpoints.ts';
import { facilityEndpoints } from './facilities-endpoints.ts';
import { identityEndpoints } from './identity-endpoints.ts';
import { messageEndpoints } from './messages-endpoints.ts';
import { networkQueryEndpoints } from './network-query-endpoints.ts';
import { notificationEndpoints } from './notifications-endpoints.ts';
import { patientEndpoints } from './patients-endpoints.ts';
import { possibleDuplicateEndpoints } from './possible-duplicates-endpoints.ts';
import { queryRedriveEndpoints } from './query-redrive-endpoints.ts';
import { querySweepEndpoints } from './query-sweep-endpoints.ts';
import { settingsEndpoints } from './settings-endpoints.ts';
import { webhookEndpoints } from './webhooks-endpoints.ts';

/** Every operation of the interface. To add one, add a row to its feature's `-endpoints.ts`. */
export const endpoints = {
  ...patientEndpoints,
  ...possibleDuplicateEndpoints,
  ...consentEndpoints,
  ...bulkCreateEndpoints,
  ...querySweepEndpoints,
  ...cohortEndpoints,
  ...networkQueryEndpoints,
  ...queryRedriveEndpoints,
  ...identityEndpoints,
  ...messageEndpoints,
  ...notificationEndpoints,
  ...consolidatedEndpoints,
  ...documentEndpoints,
  ...facilityEndpoints,
  ...embedTokenEndpoints,
  ...settingsEndpoints,
  ...webhookEndpoints,
} as const;

export type EndpointName = keyof typeof endpoints;
