import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { AGENT_TOOLS } from '../../src/exchange/delivery/agents/tool-table.ts';
import { EXAMPLES } from '../../src/exchange/platform/http/openapi/examples.ts';
import { newPerson, type TestAccount } from '../support/gateway.ts';
import {
  createCrossAccountEnvironment,
  type Owned,
} from './cross-account-environment.ts';
import { consentBody } from './every-operation/cases/consents.ts';

let env: Awaited<ReturnType<typeof createCrossAccountEnvironment>>;
let owner: TestAccount;
let owned: Owned;
let stranger: TestAccount;
let own: Owned;
beforeAll(async () => {
  env = await createCrossAccountEnvironment();
  [owner, stranger] = [
    await env.base.addAccount(),
    await env.base.addAccount(),
  ];
  [owned, own] = [
    await env.addEverything(owner),
    await env.addEverything(stranger),
  ];
});
afterAll(() => env.close());

/**
 * Whose id stands behind these words of a path. A path that none of them fits
 * needs a line here.
 */
const IN_PATHS: readonly [RegExp, keyof Owned][] = [
  [/consolidated\/query\/:requestId/, 'consolidated'],
  [/network\/query\/:requestId/, 'query'],
  [/network\/redrive\/:requestId/, 'redrive'],
  [/patient\/bulk\/:requestId/, 'bulk'],
  [/patient\/:id/, 'patient'],
  [/record\/:resourceId/, 'patient'],
  [/cohort\/:id/, 'cohort'],
  [/facility\/:id/, 'facility'],
  [/notification\/:id/, 'notification'],
  [/message\/:id/, 'message'],
  [/identity\/session\/:id/, 'session'],
  [/aal2\/challenge\/:id/, 'challenge'],
  [/webhook\/:id/, 'webhook'],
  [/event\/:id/, 'event'],
  [/possible-duplicate\/:id/, 'duplicate'],
  [/consent\/:consentId/, 'consent'],
  [/contribution\/:contributionId/, 'contribution'],
  [/health-link\/:healthLinkId/, 'healthLink'],
];
/** The same for parameters, with what has no owner. */
const IN_QUERIES: Readonly<Record<string, (of: Owned) => string>> = {
  patientId: (of) => of.patient,
  facilityId: (of) => of.facility,
  fileName: (of) => of.fileName,
  externalId: (of) => of.externalId,
  from: () => '2026-01-01T00:00:00Z',
  hieOptOut: () => 'true',
  treatmentRelationship: () => 'false',
};
/**
 * Bodies that name somebody's things, or that have no example in the reference.
 */
const BODIES: Partial<Record<EndpointName, (of: Owned) => unknown>> = {
  updatePatient: () => newPerson(),
  matchPatient: () => newPerson(),
  addPatientToCohorts: (of) => ({ cohortIds: [of.cohort] }),
  addPatientsToCohort: (of) => ({ patientIds: [of.patient] }),
  removePatientsFromCohort: (of) => ({ patientIds: [of.patient] }),
  setPatientFacilities: (of) => ({ facilityIds: [of.facility] }),
  createIdentitySession: (of) => ({
    patientId: of.patient,
    redirectUrl: 'https://app.example.org/',
  }),
  createAal2Challenge: (of) => ({
    proofedIdentityId: of.identity,
    redirectUrl: 'https://app.example.org/',
  }),
  sendMessage: (of) => ({
    destination: 'a@direct.example.org',
    subject: 'x',
    attachments: [of.document],
  }),
  recordConsent: () => consentBody(),
  retryWebhooks: (of) => ({ eventId: of.event }),
  testWebhook: (of) => ({ webhookId: of.webhook }),
  startConsolidatedQuery: () => ({}),
  createEmbedToken: () => ({}),
  rotateSettingsKey: () => ({}),
  rotateWebhookKey: () => ({}),
  updateFacility: () => EXAMPLES.createFacility.body,
  createWebhook: () => ({
    url: 'https://hooks.example.org/theirs',
    types: ['*'],
  }),
  updateWebhook: () => ({ url: 'https://hooks.example.org/theirs' }),
};
/**
 * Ids of patients who are not in the cohort are ignored, whoever they are
 * (E10).
 */
const IGNORES_OTHERS: readonly EndpointName[] = ['removePatientsFromCohort'];

interface Attempt {
  method: Endpoint['method'];
  url: string;
  body: unknown;
  /**
   * A thing is named, so it must not be found; else the answer must only hold
   * nothing of the owner's.
   */
  isAimed: boolean;
  /** All that it says. */
  named: string;
}

/**
 * The operation with the ids of `inPath` in its address, and those of `inBody`
 * in its body and parameters.
 */
function attemptOf(name: EndpointName, inPath: Owned, inBody: Owned): Attempt {
  const { method, path, query, body }: Endpoint = endpoints[name];
  let url = path.replace(':type', 'hie');
  for (const [pattern, kind] of IN_PATHS)
    url = url.replace(pattern, (text) => text.replace(/:\w+/, inPath[kind]));
  if (url.includes(':'))
    throw new Error(`${name}: whose id is in ${url}? Say so in IN_PATHS`);
  const known = Object.keys(
    (query as z.ZodObject | undefined)?.shape ?? {},
  ).filter((key) => key in IN_QUERIES);
  const parameters = new URLSearchParams(
    known.map((key): [string, string] => [
      key,
      IN_QUERIES[key]?.(inBody) ?? '',
    ]),
  );
  const given = BODIES[name]?.(inBody) ?? EXAMPLES[name].body;
  if (
    body !== undefined &&
    given === undefined &&
    !body.safeParse(undefined).success
  )
    throw new Error(`${name}: what does it send? Say so in BODIES`);
  const isList =
    method === 'GET' && !path.includes(':') && !/url|external-id/.test(path);
  const named = [url, parameters, JSON.stringify(given)].join();
  return {
    method,
    url: `${url}?${parameters}`,
    body: body === undefined ? undefined : given,
    named,
    isAimed: !isList && Object.values(inBody).some((id) => named.includes(id)),
  };
}

const attempt = ({ method, url, body }: Attempt, by: TestAccount) =>
  env.app.inject({
    method,
    url,
    headers: { 'x-api-key': by.apiKey },
    ...(body !== undefined && { payload: body as object }),
  });

/** A refusal may repeat what it was asked for. */
function expectNothingOf(
  whose: Owned,
  { named }: Attempt,
  { body }: { body: string },
): void {
  for (const id of Object.values(whose))
    if (!named.includes(id)) expect(body).not.toContain(id);
}

const names = Object.keys(endpoints) as EndpointName[];

describe('with the things of another account in its request', () => {
  test.each(names)(
    '%s finds nothing, shows nothing and changes nothing',
    async (name) => {
      const before = await env.contentOf(owner.accountId);
      const direct = attemptOf(name, owned, owned);
      const answer = await attempt(direct, stranger);
      if (direct.isAimed)
        expect([answer.statusCode, answer.json().name]).toEqual([
          404,
          'NOT_FOUND',
        ]);
      else expect(answer.statusCode).toBeLessThan(500);
      expectNothingOf(owned, direct, answer);

      // At a thing of one's own, with another's in the body.
      const borrowed = attemptOf(name, own, owned);
      if (borrowed.url !== direct.url && borrowed.isAimed) {
        const refused = await attempt(borrowed, stranger);
        if (!IGNORES_OTHERS.includes(name))
          expect([400, 404]).toContain(refused.statusCode);
        expectNothingOf(owned, borrowed, refused);
      }
      expect(await env.contentOf(owner.accountId)).toEqual(before);
    },
  );

  test.each(
    names.filter(
      (name) => endpoints[name].method === 'GET' && name !== 'getDocumentUrl',
    ),
  )('… while its owner is answered by %s', async (name) => {
    const answer = await attempt(attemptOf(name, owned, owned), owner);
    expect(answer.statusCode).toBe(200);
  });
});

/**
 * The tools of agents, with the ids of the owner's things. Those that only find
 * show nothing.
 */
const AGENT_ARGS: Record<keyof typeof AGENT_TOOLS, (of: Owned) => object> = {
  find_patient: (of) => ({ identifier: of.externalId }),
  patient_summary: (of) => ({ patient_id: of.patient }),
  search_results: (of) => ({ patient_id: of.patient }),
  search_medications: (of) => ({ patient_id: of.patient }),
  search_notes: (of) => ({ patient_id: of.patient }),
  read_note: (of) => ({ note_id: of.document }),
  query_status: (of) => ({ request_id: of.query }),
  start_query: (of) => ({
    patient_id: of.patient,
    sources: ['hie'],
    wait_seconds: 0,
  }),
};

test.each(Object.keys(AGENT_ARGS) as (keyof typeof AGENT_TOOLS)[])(
  'an agent of another account finds nothing with %s, is shown nothing and changes nothing',
  async (name) => {
    const before = await env.contentOf(owner.accountId);
    const params = { name, arguments: AGENT_ARGS[name](owned) };
    const call = (by: TestAccount) =>
      env.app.inject({
        method: 'POST',
        url: '/mcp',
        payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        headers: {
          'x-api-key': by.apiKey,
          accept: 'application/json, text/event-stream',
        },
      });
    const { result } = (await call(stranger)).json();
    if (name === 'find_patient')
      expect(result.structuredContent.patients).toEqual([]);
    else
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^404 /) }],
      });
    expectNothingOf(owned, { named: JSON.stringify(params) } as Attempt, {
      body: JSON.stringify(result),
    });
    expect(await env.contentOf(owner.accountId)).toEqual(before);
    // The document's file was never there.
    const answered = (await call(owner)).json().result;
    expect(answered.isError === true).toBe(name === 'read_note');
  },
);
