import type { OperationName } from '../../operation.ts';
import { bulkCreateExamples, querySweepExamples } from './bulk-create.ts';
import { cohortExamples } from './cohorts.ts';
import { consentExamples } from './consents.ts';
import { consolidatedExamples } from './consolidated-query.ts';
import { documentExamples } from './documents.ts';
import type { OperationExample } from './example.ts';
import { facilityExamples } from './facilities.ts';
import { embedTokenExamples, identityExamples } from './identity.ts';
import { messageExamples, notificationExamples } from './messages.ts';
import { networkQueryExamples, queryRedriveExamples } from './network-query.ts';
import { patientExamples } from './patients.ts';
import { possibleDuplicateExamples } from './possible-duplicates.ts';
import { settingsExamples, webhookExamples } from './webhooks.ts';

/** A request and its answer for every operation of the interface. */
export const EXAMPLES: Readonly<Record<OperationName, OperationExample>> = {
  ...patientExamples,
  ...possibleDuplicateExamples,
  ...consentExamples,
  ...bulkCreateExamples,
  ...querySweepExamples,
  ...cohortExamples,
  ...networkQueryExamples,
  ...queryRedriveExamples,
  ...identityExamples,
  ...messageExamples,
  ...notificationExamples,
  ...consolidatedExamples,
  ...documentExamples,
  ...facilityExamples,
  ...embedTokenExamples,
  ...settingsExamples,
  ...webhookExamples,
};
