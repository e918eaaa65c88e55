import { bulkCreateEndpoints } from './bulk-create.ts';
import { cohortEndpoints } from './cohorts.ts';
import { consentEndpoints } from './consents.ts';
import { consolidatedEndpoints } from './consolidated-query.ts';
import { contributionEndpoints } from './contribution.ts';
import { documentEndpoints } from './documents.ts';
import { embedTokenEndpoints } from './embed.ts';
import { facilityEndpoints } from './facilities.ts';
import { healthLinkEndpoints } from './health-links.ts';
import { identityEndpoints } from './identity.ts';
import { messageEndpoints } from './messages.ts';
import { networkDirectoryEndpoints } from './network-directory.ts';
import { networkQueryEndpoints } from './network-query.ts';
import { notificationEndpoints } from './notifications.ts';
import { patientEndpoints } from './patients.ts';
import { possibleDuplicateEndpoints } from './possible-duplicates.ts';
import { queryRedriveEndpoints } from './query-redrive.ts';
import { querySweepEndpoints } from './query-sweep.ts';
import { sentEventEndpoints } from './sent-events.ts';
import { settingsEndpoints } from './settings.ts';
import { webhookEndpoints } from './webhooks.ts';

/**
 * Every operation of the interface. To add one, add a row to the endpoints of
 * its feature's file.
 */
export const endpoints = {
  ...patientEndpoints,
  ...possibleDuplicateEndpoints,
  ...consentEndpoints,
  ...bulkCreateEndpoints,
  ...querySweepEndpoints,
  ...cohortEndpoints,
  ...networkQueryEndpoints,
  ...networkDirectoryEndpoints,
  ...queryRedriveEndpoints,
  ...identityEndpoints,
  ...messageEndpoints,
  ...notificationEndpoints,
  ...consolidatedEndpoints,
  ...contributionEndpoints,
  ...documentEndpoints,
  ...healthLinkEndpoints,
  ...facilityEndpoints,
  ...embedTokenEndpoints,
  ...settingsEndpoints,
  ...webhookEndpoints,
  ...sentEventEndpoints,
} as const;

export type EndpointName = keyof typeof endpoints;
