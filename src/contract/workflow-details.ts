import type { WORKFLOW_TYPES } from './temporal.ts';

const WORKFLOW_DETAILS = {
  consolidatedQuery: [
    'Builds the result of one consolidated data query from a patient’s merged record and announces it by webhook.',
    '',
    '1. **buildConsolidated** brings the record up to date, streams it into the blob store (as FHIR, html or pdf), and commits the result and its webhook event in one transaction. It queries no source.',
    '2. If that fails permanently, **failConsolidated** ends the query as failed and announces that by webhook.',
  ].join('\n'),

  bulkExport: [
    'Writes the records of a cohort, or of all patients, as NDJSON files (FHIR Bulk Data Access).',
    '',
    '1. **listExportPatients** lists the patients.',
    '2. **exportSlices** writes slices of about 8 MB, each with a checkpoint in PostgreSQL, for half a minute at a time.',
    '3. If that fails permanently, **failExport** ends the export as failed.',
    '',
    'Signals: `pause` and `resume`. A caller cancels it by DELETE on its status URL.',
  ].join('\n'),

  dischargeFollowUp: [
    'Queries the hie source again after a discharge: after 5 and 30 minutes, 4 hours, 1, 2 and 4 days, until a query brings new data.',
    '',
    '1. **askAfterDischarge** starts a background query of the hie source, unless the last one still runs.',
    '2. **lookAfterDischarge** checks whether it brought new data.',
    '',
    'It ends early when the sender withdraws the discharge, the patient opts out or is deleted, a later discharge is followed up, or with the update `cancel`.',
  ].join('\n'),

  messageTransmission: [
    'Sends a message to another provider, by XDR or Direct, and announces the outcome by webhook.',
    '',
    '1. **transmitMessage** hands the message to the gateway of its network (XDR) or to the account’s mail server (Direct), with retries for a day. A gateway’s answer is the end.',
    '2. A Direct message waits for its notification: **checkTransmission** looks after each one (signal `receipt`) and on a timer. Without one it fails after an hour of its mailbox.',
    '3. The outcome and the webhook `message.status` are one transaction. After the last retry **failTransmission** writes it.',
  ].join('\n'),

  directMailbox: [
    'Reads what has come into an account’s mailbox for Direct messages. A schedule starts it; readings of one mailbox do not overlap.',
    '',
    '**readDirectMailbox** takes in each message and each notification once, and notifies senders. It goes on where the last one ended; `npm run admin -- direct list` shows why a mailbox cannot be read.',
  ].join('\n'),

  deferredDiscovery: [
    'Answers the patient discovery of another network member’s gateway, which wanted the answer later.',
    '',
    '1. **deliverDiscoveryAnswer** answers as of now, and sends the answer to the address that the gateway gave, with retries for a day.',
    '2. After the last retry **failDiscoveryAnswer** gives it up.',
  ].join('\n'),

  bulkPatientCreate: [
    'Creates or updates a patient for each row of a CSV.',
    '',
    '1. Waits ten minutes for the upload (signal `uploaded`); without one the request is **expired**.',
    '2. **checkUpload** checks the format of the whole file; a wrong format ends the request as **failed**.',
    '3. **handleRows** creates or updates patients for some seconds at a time, and resumes after the last committed chunk.',
    '4. **finishBulkCreate** joins the result CSV; then `querySweep` starts the post-import queries.',
    '',
    'Control it with the updates `pause`, `resume` and `cancel`.',
  ].join('\n'),

  queryRedrive: [
    'Retries one source of all queries that failed in a given time.',
    '',
    'Each page waits until fewer than 50 of its retries are being asked, and less than 72 % of the source’s limit per minute is',
    'used. A query that was retried or has completed meanwhile is skipped.',
    '',
    'A caller cancels it through the interface, an operator also here; queries already retried continue.',
  ].join('\n'),

  networkQuery: [
    'Collects one patient’s records from several sources in parallel.',
    '',
    '1. **askSource** finds the patient at the source and requests the data. Data that is available at once is collected in the same step.',
    '2. A source that needs time calls back (signal `sourceCallback`). Without a callback, a timer polls it (**collectSource**).',
    '3. Each source’s end is committed together with its webhook event. A failed attempt is retried after a back-off.',
    '',
    'Control it with the updates `retrySource`, `giveUpSource` and `cancelQuery`.',
  ].join('\n'),

  querySweep: [
    'Starts the network queries of all patients of a bulk create, in the order of its file.',
    '',
    'Each page waits until the sweep’s own window has room and less than 72 % of each source’s limit per minute is used; other',
    'queries count towards that limit too. Patients who have opted out of every requested source are skipped.',
    '',
    'The updates `pause`, `resume` and `cancel` control it; queries already started continue.',
  ].join('\n'),
} satisfies Partial<Record<keyof typeof WORKFLOW_TYPES, string>>;

/**
 * What a workflow of the exchange does, as its page in the Temporal UI explains
 * it (Markdown); empty for those that are not started by a request.
 */
export const workflowDetails = (type: string): string =>
  Object.hasOwn(WORKFLOW_DETAILS, type)
    ? WORKFLOW_DETAILS[type as keyof typeof WORKFLOW_DETAILS]
    : '';
