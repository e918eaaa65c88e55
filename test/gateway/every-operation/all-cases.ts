import type { EndpointName } from '../../../src/contract/endpoints.ts';
import { bulkCreateCases } from './cases/bulk-creates.ts';
import { cohortCases } from './cases/cohorts.ts';
import { consentCases } from './cases/consents.ts';
import { consolidatedCases } from './cases/consolidated.ts';
import { contributionCases } from './cases/contribution.ts';
import { documentCases } from './cases/documents.ts';
import { embedTokenCases } from './cases/embed-tokens.ts';
import { facilityCases } from './cases/facilities.ts';
import { healthLinkCases } from './cases/health-links.ts';
import { identityCases } from './cases/identity.ts';
import { messageCases } from './cases/messages.ts';
import { networkQueryCases } from './cases/network-queries.ts';
import { notificationCases } from './cases/notifications.ts';
import { patientCases } from './cases/patients.ts';
import { possibleDuplicateCases } from './cases/possible-duplicates.ts';
import { sentEventCases } from './cases/sent-events.ts';
import { settingsCases } from './cases/settings.ts';
import { webhookCases } from './cases/webhooks.ts';
import type { OperationCases } from './operation-cases.ts';

/** Of every row of the endpoint table; one without cases does not compile. */
export const ALL_CASES = {
  ...patientCases,
  ...possibleDuplicateCases,
  ...consentCases,
  ...bulkCreateCases,
  ...cohortCases,
  ...networkQueryCases,
  ...healthLinkCases,
  ...identityCases,
  ...messageCases,
  ...notificationCases,
  ...consolidatedCases,
  ...contributionCases,
  ...documentCases,
  ...facilityCases,
  ...embedTokenCases,
  ...settingsCases,
  ...webhookCases,
  ...sentEventCases,
} satisfies Record<EndpointName, OperationCases>;
