import { bulkCreateEndpoints } from './endpoints/bulk-create.ts';
import { cohortEndpoints } from './endpoints/cohort.ts';
import { consolidatedEndpoints } from './endpoints/consolidated.ts';
import { documentEndpoints } from './endpoints/document.ts';
import { embedTokenEndpoints } from './endpoints/embed-token.ts';
import { facilityEndpoints } from './endpoints/facility.ts';
import { identityEndpoints } from './endpoints/identity.ts';
import { messageEndpoints } from './endpoints/message.ts';
import { networkQueryEndpoints } from './endpoints/network-query.ts';
import { notificationEndpoints } from './endpoints/notification.ts';
import { patientEndpoints } from './endpoints/patient.ts';
import { querySweepEndpoints } from './endpoints/query-sweep.ts';
import { settingsEndpoints } from './endpoints/settings.ts';
import { webhookEndpoints } from './endpoints/webhook.ts';

/** Every operation this service answers, by resource. A new one is a row in its resource's file and nowhere else. */
export const endpoints = {
  ...patientEndpoints,
  ...bulkCreateEndpoints,
  ...querySweepEndpoints,
  ...cohortEndpoints,
  ...networkQueryEndpoints,
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
