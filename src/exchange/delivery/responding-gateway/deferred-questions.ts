import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  type Credentials,
  DISCOVERY_ACTIONS,
  type Envelope,
  GatewayClient,
  type PatientDiscoveryRequest,
  withoutUrn,
} from '#ihe';
import type {
  DeferredDiscoveryInput,
  DeferredDiscoveryStep,
} from '../../../contract/deferred-discovery-workflow.ts';
import {
  deferredDiscoveryWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { KeyRing } from '../../../lib/key-ring.ts';
import type { Logger } from '../../../lib/logger.ts';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import { createWorkLauncher } from '../../platform/workflows/launcher.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import type { Asker } from './asker.ts';
import { concludeDiscovery } from './conclude-discovery.ts';
import { discoveryAnswer } from './discovery-exchange.ts';
import { conceptOf } from './membership-settings.ts';
import { findMembership } from './membership-store.ts';
import { GatewayRefusal } from './refusal.ts';
import { auditGiven } from './transaction.ts';

/** What is kept of a question until it is answered; encrypted. */
interface KeptQuestion {
  request: PatientDiscoveryRequest;
  /** The id of the message that brought it, as written. */
  messageId: string;
  organization: Asker['organization'];
  purpose: Asker['purpose'];
}

export type DeferredQuestionService = ReturnType<
  typeof createDeferredQuestions
>;

const SEND_TIMEOUT_MS = 60_000;

/**
 * Patient discoveries that are answered later: each is a row, and a workflow
 * that delivers its answer.
 */
export function createDeferredQuestions(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
  keyRing: KeyRing;
  idHmacKey: string;
}) {
  const { store, keyRing } = deps;
  const launcher = createWorkLauncher(deps, {
    name: 'deferred patient discoveries',
    id: 'questionId',
    rows: workflowRows<{ questionId: string }>({
      table: 'deferred_question',
      ids: { questionId: 'id' },
      since: 'asked_at',
      open: sql`outcome is null`,
    }),
    notStarted:
      'the workflow of a deferred patient discovery could not be started; reconcile starts it later',
    type: WORKFLOW_TYPES.deferredDiscovery,
    workflowId: deferredDiscoveryWorkflowId,
    input: (accountId, questionId): DeferredDiscoveryInput => ({
      accountId,
      questionId,
    }),
    priority: PRIORITY.monitoring,
    summary: 'Answer to a gateway’s patient discovery',
    end: (tx, id) => endQuestion(tx, id, 'failed'),
  });

  return {
    recovery: launcher.recovery,
    drain: launcher.drain,

    /**
     * Takes a question whose answer goes to the host that is known for its
     * community.
     *
     * @throws {GatewayRefusal}
     */
    async accept(
      asker: Asker,
      request: PatientDiscoveryRequest,
      { messageId = '' }: Envelope,
    ): Promise<void> {
      const { membership, member, community, organization, purpose } = asker;
      const respondTo = request.respondTo ?? '';
      if (!isOfHost(respondTo, member.host))
        throw new GatewayRefusal(
          'deferred',
          'A later answer is sent only by https to the host that is known here for your home community.',
        );
      const id = uuidv7();
      const kept: KeptQuestion = { request, messageId, organization, purpose };
      await store.asAccount(membership.accountId, (tx) =>
        tx.db
          .insertInto('deferred_question')
          .values({
            id,
            account_id: membership.accountId,
            membership_id: membership.id,
            community,
            respond_to: respondTo,
            question: keyRing.encrypt(
              Buffer.from(JSON.stringify(kept)),
              secretOf(id),
            ),
          })
          .execute(),
      );
      launcher.launch(membership.accountId, id);
    },

    /**
     * Sends the answer as of now. A repeated call sends nothing once it was
     * acknowledged; the accounting of disclosures names it once.
     *
     * @throws {IheError} when the gateway does not take it
     */
    async deliver(
      { accountId, questionId }: DeferredDiscoveryInput,
      credentials: Credentials,
      signal: AbortSignal,
    ): Promise<DeferredDiscoveryStep> {
      const question = await readQuestion(
        { store, keyRing },
        accountId,
        questionId,
      );
      if (question === undefined) return { state: 'gone' };
      const { membership, kept, community, respondTo, isAudited } = question;
      const { verdict, patientId } = await concludeDiscovery(
        deps,
        membership,
        kept.request,
      );
      if (!isAudited)
        await store.asAccount(accountId, async (tx) => {
          await auditGiven(
            tx,
            { ...kept, membership, community },
            {
              operation: 'gatewayDiscovery',
              given: [{ patientId, outcome: '200' }],
            },
          );
          await noteSent(tx, questionId);
        });
      const client = new GatewayClient({
        credentials,
        trusted: [membership.trusted],
      });
      try {
        await client.send({
          address: respondTo,
          ...discoveryAnswer(
            membership,
            kept.request,
            verdict,
            DISCOVERY_ACTIONS.deferredAnswer,
          ),
          relatesTo: kept.messageId,
          statement: {
            subject: membership.settings.organizationName,
            organization: membership.settings.organizationName,
            organizationId: withoutUrn(membership.settings.homeCommunity),
            homeCommunityId: withoutUrn(membership.settings.homeCommunity),
            role: conceptOf(membership.settings.samlRole),
            purpose: kept.purpose,
          },
          timeoutMs: SEND_TIMEOUT_MS,
          signal,
        });
      } finally {
        await client.close();
      }
      await store.asAccount(accountId, (tx) =>
        endQuestion(tx, questionId, 'delivered'),
      );
      return { state: 'delivered' };
    },

    async fail({
      accountId,
      questionId,
    }: DeferredDiscoveryInput): Promise<DeferredDiscoveryStep> {
      await store.asAccount(accountId, (tx) =>
        endQuestion(tx, questionId, 'failed'),
      );
      return { state: 'failed' };
    },
  };
}

function isOfHost(address: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' && hostname.toLowerCase() === host.toLowerCase();
}

const secretOf = (id: string): string => `deferred-question/${id}`;

/** Undefined once it is answered or given up, or the membership is paused. */
async function readQuestion(
  { store, keyRing }: { store: Store; keyRing: KeyRing },
  accountId: string,
  id: string,
) {
  return store.asAccount(accountId, async (tx) => {
    const row = await tx.db
      .selectFrom('deferred_question')
      .selectAll()
      .where('id', '=', id)
      .where('outcome', 'is', null)
      .executeTakeFirst();
    if (row?.question == null) return undefined;
    const membership = await findMembership(tx, row.membership_id);
    if (membership?.enabled !== true) return undefined;
    const text = keyRing.decrypt(row.question, secretOf(id)).toString();
    return {
      membership,
      kept: JSON.parse(text) as KeptQuestion,
      community: row.community,
      respondTo: row.respond_to,
      isAudited: row.first_sent_at !== null,
    };
  });
}

async function noteSent(tx: AccountTx, id: string): Promise<void> {
  await tx.db
    .updateTable('deferred_question')
    .set({ first_sent_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/** Ends a question, and forgets whom it describes. */
async function endQuestion(
  tx: AccountTx,
  id: string,
  outcome: 'delivered' | 'failed',
): Promise<void> {
  await tx.db
    .updateTable('deferred_question')
    .set({ outcome, ended_at: sql<Date>`now()`, question: null })
    .where('id', '=', id)
    .where('outcome', 'is', null)
    .execute();
}

/** @returns number of deleted rows */
export async function deleteOldQuestions(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from deferred_question where id in (
      select id from deferred_question where ended_at < now() - interval '30 days'
      order by ended_at limit ${limit})`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}
