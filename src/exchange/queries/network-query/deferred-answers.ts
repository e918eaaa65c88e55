import { createHmac, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { comparableId } from '#ihe';
import type { SystemTx } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { DeferredQuestions } from '../../sources/connectors/connector.ts';
import { connectionKey, type PartStep, partKey } from './attempt-store.ts';

export type DeferredAnswerStore = ReturnType<typeof createDeferredAnswers>;

/** An answer that came late is used for so long. */
const KEPT_FOR = sql`interval '30 days'`;

/** An answer as it came to our address. */
export interface ReceivedAnswer {
  relatesTo: string | undefined;
  discoveryId: string | undefined;
  /** Instead of an answer: names our message, and never our query. */
  isFault: boolean;
  bytes: Buffer;
}

/**
 * Questions that sources answer later, and their answers, in PostgreSQL. An
 * answer waits there until an attempt takes it: the one that asked, or when that
 * has ended, the next one about this patient.
 */
export function createDeferredAnswers({
  store,
  keyRing,
  callbackKey,
  publicBaseUrl,
}: Pick<Platform, 'store' | 'keyRing' | 'callbackKey' | 'publicBaseUrl'>) {
  return {
    questionsOf(step: PartStep, patientId: string): DeferredQuestions {
      const { accountId, requestId, source, attempt, run } = step;
      const connection = connectionKey(step);
      const asker = `${requestId}/${partKey(step)}`;
      return {
        async note({ messageId, discoveryId }) {
          const id = uuidv7();
          await store.asAccount(accountId, (tx) =>
            tx.db
              .insertInto('deferred_discovery')
              .values({
                id,
                account_id: accountId,
                patient_id: patientId,
                connection,
                query_id: requestId,
                source,
                attempt,
                run,
                asked_by: asker,
                message_id: messageId,
                discovery_id: discoveryId,
              })
              .execute(),
          );
          return `${publicBaseUrl}${DEFERRED_PATH}/${tokenOf(callbackKey, id)}`;
        },
        isAnswered: () =>
          store.asAccount(accountId, async (tx) => {
            const row = await tx.db
              .selectFrom('deferred_discovery')
              .select('id')
              .where('asked_by', '=', asker)
              .where('patient_id', '=', patientId)
              .where('answered_at', 'is not', null)
              .where(({ eb, or }) =>
                or([eb('used_by', 'is', null), eb('used_by', '=', asker)]),
              )
              .executeTakeFirst();
            return row !== undefined;
          }),
        take: () =>
          store.asAccount(accountId, async (tx) => {
            const row = await tx.db
              .updateTable('deferred_discovery')
              .set({ used_by: asker })
              .where('id', '=', ({ selectFrom }) =>
                selectFrom('deferred_discovery')
                  .select('id')
                  .where(({ and }) =>
                    and({ patient_id: patientId, connection }),
                  )
                  .where('answered_at', '>', sql<Date>`now() - ${KEPT_FOR}`)
                  .where(({ eb, or }) =>
                    or([eb('used_by', 'is', null), eb('used_by', '=', asker)]),
                  )
                  .orderBy('answered_at', 'desc')
                  .limit(1),
              )
              .returning(['id', 'answer', 'asked_by'])
              .executeTakeFirst();
            if (row?.answer == null) return undefined;
            const { id, answer, asked_by } = row;
            const bytes = keyRing.decrypt(answer, purposeOf(id));
            return { id, bytes, isOwn: asked_by === asker };
          }),
        discard: (id) =>
          store.asAccount(accountId, async (tx) => {
            await tx.db
              .updateTable('deferred_discovery')
              .set({ used_by: 'discarded' })
              .where('id', '=', id)
              .execute();
          }),
      };
    },

    /** Whether a text is a token that we made; others are not looked up. */
    isKnown: (token: string): boolean => idOf(callbackKey, token) !== undefined,

    /**
     * Stores an answer, the first of its question. Undefined unless it names
     * both our message and our query; a fault needs to name our message only.
     */
    receive: (token: string, answer: ReceivedAnswer) =>
      store.asSystem(async (tx) => {
        const id = idOf(callbackKey, token);
        const question =
          id === undefined ? undefined : await findQuestion(tx, id);
        if (id === undefined || question === undefined) return undefined;
        const isItsAnswer =
          isSame(answer.relatesTo, question.message_id) &&
          (answer.isFault || isSame(answer.discoveryId, question.discovery_id));
        if (!isItsAnswer) return undefined;
        const stored = await tx.db
          .updateTable('deferred_discovery')
          .set({
            answered_at: sql<Date>`now()`,
            answer: keyRing.encrypt(answer.bytes, purposeOf(id)),
          })
          .where('id', '=', id)
          .where('answered_at', 'is', null)
          .executeTakeFirst();
        return { ...question, isFirst: stored.numUpdatedRows > 0n };
      }),
  };
}

/** Where answers come to, followed by a token. */
export const DEFERRED_PATH = '/sources/deferred';

const findQuestion = (tx: SystemTx, id: string) =>
  tx.db
    .selectFrom('deferred_discovery as d')
    .leftJoin('network_query_attempt as a', (join) =>
      join
        .onRef('a.query_id', '=', 'd.query_id')
        .onRef('a.source', '=', 'd.source')
        .onRef('a.attempt', '=', 'd.attempt'),
    )
    .select(['d.message_id', 'd.discovery_id', 'd.account_id as accountId'])
    .select(['d.query_id as requestId', 'd.run', 'd.source', 'd.attempt'])
    .select('d.connection')
    .select('a.status')
    .where('d.id', '=', id)
    .executeTakeFirst();

const isSame = (sent: string | undefined, ours: string): boolean =>
  sent !== undefined && comparableId(sent) === comparableId(ours);

const purposeOf = (id: string): string => `deferred-discovery/${id}`;

/** The question's id, with a proof that we made it. */
const tokenOf = (key: string, id: string): string =>
  `${id}.${proofOf(key, id)}`;

function idOf(key: string, token: string): string | undefined {
  const [id = '', proof = ''] = token.split('.');
  const expected = Buffer.from(proofOf(key, id));
  const given = Buffer.from(proof);
  const isProven =
    given.length === expected.length && timingSafeEqual(given, expected);
  return isProven ? id : undefined;
}

const proofOf = (key: string, id: string): string =>
  createHmac('sha256', key)
    .update(`deferred-discovery/${id}`)
    .digest('base64url');
