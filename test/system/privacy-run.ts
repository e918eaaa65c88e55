import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import { accountAccess } from '../../src/orchestrator/client/credentials.ts';
import { startOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import {
  hasEnded,
  putCsv,
  startBulkCreate,
  untilStatus,
} from '../support/bulk-create.ts';
import { UNKNOWN_PERSON } from '../support/personal-words.ts';
import { sample } from '../support/simulator.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../support/stack.ts';

/** A record number, as careless callers put it into ids of theirs. */
export const RECORD_NUMBER = 'MRN-4711-0815';
/** Values of requests that are refused. */
export const REFUSED = {
  lastName: 'Refusedname66',
  dob: '1980-13-45',
  phone: 'not-a-phone-7654321',
  firstName: 'Brokentext55',
};
/** Whom the database itself will not take. */
export const TROUBLED = { firstName: 'Pebblina44', lastName: 'Troubledname33' };

const keith = sample('keith-kiehn');
const tamica = sample('tamica-murazik');

/** People of a CSV: one who goes in and is queried, one whose row is wrong. */
export const PANEL = {
  lastName: 'Csvlastname22',
  addressLine1: '8642 Panel Parkway',
  email: 'csv.person@example.org',
  phone: '6175550142',
  wrongLastName: 'Wrongrowname11',
  wrongDob: '1983-14-51',
};

/** Sources that fail, and quote the person when they do. */
export const RULES: FaultRuleInput[] = [
  {
    sample: keith.key,
    source: 'lab',
    operation: 'match',
    fault: {
      type: 'status',
      status: 422,
      body: `no consent of ${keith.fullName}, ${keith.createBody.dob}`,
    },
  },
  {
    sample: tamica.key,
    source: 'pharmacy',
    operation: 'everything',
    times: 2,
    fault: { type: 'status', status: 503, body: `${tamica.fullName} is busy` },
  },
  {
    sample: 'dannie-bogisich',
    source: 'hie',
    operation: 'job',
    fault: { type: 'job-never-ends' },
  },
  {
    sample: 'dannie-bogisich',
    source: 'lab',
    operation: 'match',
    fault: { type: 'status', status: 403, code: 'suppressed' },
  },
  {
    sample: 'isaiah-weber',
    source: 'hie',
    operation: 'job',
    times: 1,
    fault: { type: 'stray', count: 2 },
  },
  {
    sample: 'isaiah-weber',
    source: 'pharmacy',
    operation: 'everything',
    times: 1,
    fault: { type: 'broken-json' },
  },
  {
    sample: 'isaiah-weber',
    source: 'lab',
    operation: 'match',
    fault: { type: 'wrong-patient' },
  },
];

/** Answers 500 to each webhook once, quoting it, then takes it. */
export async function startFailingReceiver(): Promise<{
  url: string;
  taken: Set<string>;
  close(): Promise<void>;
}> {
  const seen = new Set<string>();
  const taken = new Set<string>();
  const server = createServer(async (incoming, answer) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const id = String(incoming.headers['webhook-id']);
    if (seen.has(id)) taken.add(id);
    answer.writeHead(seen.has(id) ? 200 : 500).end(Buffer.concat(parts));
    seen.add(id);
  });
  await new Promise<void>(
    (resolve) => void server.listen(0, '127.0.0.1', resolve),
  );
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    taken,
    close,
  };
}

/** An onboarding as a program starts it; its job id carries a record number. */
export async function onboard(
  { temporal, secrets }: TestStack,
  account: StackAccount,
  job: string,
  patient: typeof keith.createBody,
) {
  const { handle } = await startOnboarding(
    temporal,
    {
      jobId: `${RECORD_NUMBER}/${job}`,
      facilityId: account.facilityId,
      patient,
      metadata: { record: RECORD_NUMBER },
    },
    {
      exchange: accountAccess(account.accountId),
      idHmacKey: secrets.idHmacKey,
    },
  );
  return handle;
}

/**
 * A bulk create with a good row and a wrong one, after a file that is in no
 * format at all; its request.
 */
export async function importPanel(
  stack: TestStack,
  account: StackAccount,
): Promise<string> {
  const person = (lastName: string, dob: string) =>
    `${RECORD_NUMBER},Pebblina44,${lastName},${dob},F,${PANEL.addressLine1},Boston,MA,02108,${PANEL.phone},${PANEL.email}\n`;
  const header =
    'id,firstName,lastName,dob,gender,addressLine1,city,state,zip,phone,email\n';
  const rows =
    person(PANEL.lastName, '1972-03-21') +
    person(PANEL.wrongLastName, PANEL.wrongDob);
  const csvFile = join(stack.dataDir, 'panel-of-the-caller.csv');
  const send = async (text: string) => {
    await writeFile(csvFile, text);
    const { requestId, uploadUrl } = await startBulkCreate(stack, account);
    await putCsv(account, uploadUrl, csvFile);
    return untilStatus(stack, account, requestId, hasEnded, {
      timeoutMs: 240_000,
    });
  };
  const refused = await send(rows);
  const taken = await send(header + rows);
  if (
    refused.status !== 'failed' ||
    taken.counts.created !== 1 ||
    taken.counts.failed !== 1
  )
    throw new Error(`${refused.status}, ${JSON.stringify(taken.counts)}`);
  return taken.requestId;
}

/** `POST /intake` as an EHR sends it. */
export async function sendIntake(
  { connection, secrets }: TestStack,
  body: object,
): Promise<number> {
  const text = JSON.stringify(body);
  const id = `${RECORD_NUMBER}/message`;
  const now = new Date();
  const answer = await request(`${connection.receiverUrl}/intake`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secrets.intakeKey).sign(id, now, text),
    },
    body: text,
  });
  await answer.body.dump();
  return answer.statusCode;
}

/**
 * Requests that are refused, by us or by the database; their statuses in order.
 */
export async function sendBadRequests(
  stack: TestStack,
  account: StackAccount,
): Promise<number[]> {
  const { connection, rows } = stack;
  const create = (changes: object) =>
    callGateway(
      connection,
      account,
      'POST',
      `patient?facilityId=${account.facilityId}`,
      {
        body: { ...UNKNOWN_PERSON, ...changes },
        idempotencyKey: `${RECORD_NUMBER}/bad`,
      },
    );
  const { firstName, ...badValues } = REFUSED;
  const refused = await create({
    ...badValues,
    contact: [{ phone: REFUSED.phone }],
  });
  const broken = await request(`${connection.baseUrl}/medical/v1/patient`, {
    method: 'POST',
    headers: {
      'x-api-key': account.apiKey,
      'content-type': 'application/json',
    },
    body: `{"firstName": "${firstName}`,
  });
  await broken.body.dump();
  const unknownId = await callGateway(
    connection,
    account,
    'GET',
    `patient/${RECORD_NUMBER}`,
  );

  // What a database says of a row it does not take quotes the row, over several
  // lines.
  await rows(`create function refuse_troubled() returns trigger language plpgsql as $$ begin
    if new.last_names[1] ilike '${TROUBLED.lastName}' then
      raise exception E'refused:\n%', new.first_names using detail = new::text; end if;
    return new; end $$`);
  await rows(
    'create trigger refuse_troubled before insert on patient for each row execute function refuse_troubled()',
  );
  const troubled = await create(TROUBLED);
  await rows('drop trigger refuse_troubled on patient');
  await rows('select $1::uuid', [
    `${TROUBLED.firstName} ${TROUBLED.lastName}`,
  ]).catch(() => undefined);
  return [refused.status, broken.statusCode, unknownId.status, troubled.status];
}

/**
 * The signature below a webhook, so that a forged one is refused and logged as
 * such.
 */
export async function sendForgedWebhook({
  connection,
}: TestStack): Promise<number> {
  const body = JSON.stringify({
    meta: { messageId: RECORD_NUMBER, type: keith.fullName },
  });
  const answer = await request(`${connection.receiverUrl}/webhooks`, {
    method: 'POST',
    headers: {
      'x-metriport-signature': createHmac('sha256', 'wrong')
        .update(body)
        .digest('hex'),
    },
    body,
  });
  await answer.body.dump();
  return answer.statusCode;
}
