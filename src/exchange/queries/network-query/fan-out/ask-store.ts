import { sql } from 'kysely';
import type { SourceStepInput } from '../../../../contract/network-query-workflow.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import {
  integerArray,
  rowsOf,
  textArray,
  uuidArray,
} from '../../../platform/database/pg-arrays.ts';
import {
  type NetworkGateway,
  readGateways,
} from '../../../sources/connections/gateway-store.ts';
import type { ChosenGateway } from '../../../sources/directory/rules/choose-gateways.ts';
import { updateAttempt } from '../attempt-store.ts';
import type {
  GatewayCounts,
  SilentGateways,
} from '../rules/gateway-outcome.ts';
import { NAMED_MAX } from '../rules/query-status.ts';

/** The rows of one attempt. */
const ofAttempt = ({ requestId, source, attempt }: SourceStepInput) =>
  sql`query_id = ${requestId} and source = ${source} and attempt = ${attempt}`;

/** Writes the gateways that an attempt asks, in their order. */
export async function insertAsks(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  {
    patientId,
    connectionId,
    firstPlace,
  }: { patientId: string; connectionId: string; firstPlace: number },
  gateways: readonly (Pick<ChosenGateway, 'because'> &
    Pick<NetworkGateway, 'id' | 'homeCommunity'>)[],
): Promise<void> {
  const ids = uuidArray(gateways.map(({ id }) => id));
  const communities = textArray(
    gateways.map(({ homeCommunity }) => homeCommunity),
  );
  const places = integerArray(gateways.map((_, index) => firstPlace + index));
  const reasons = textArray(gateways.map(({ because }) => because));
  await sql`insert into gateway_ask (query_id, source, attempt, account_id, patient_id, connection_id,
      gateway_id, home_community, place, because)
    select ${requestId}, ${source}, ${attempt}, ${tx.accountId}, ${patientId}, ${connectionId}, *
    from unnest(${ids}::uuid[], ${communities}::text[], ${places}::integer[], ${reasons}::text[])
    on conflict do nothing`.execute(tx.db);
}

/**
 * Begins a step on the gateways of an attempt: what an older step, which may
 * still run after its worker was thought dead, has not written by now, it cannot
 * write any more.
 * @returns the step's number; undefined when the attempt has ended
 */
export async function beginGatewayStep(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<number | undefined> {
  const row = await updateAttempt(tx, step)
    .set((eb) => ({
      gateway_step: eb('gateway_step', '+', 1),
      gateway_step_at: sql<Date>`now()`,
      is_told_of_answer: false,
    }))
    .where('status', '=', 'running')
    .returning('gateway_step')
    .executeTakeFirst();
  return row?.gateway_step;
}

/** The workflow was signalled to begin a step: not again before a while. */
export async function noteSignalledStep(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<void> {
  await updateAttempt(tx, step)
    .set({ gateway_step_at: sql<Date>`now()` })
    .execute();
}

/**
 * Whether a step may still write. Holds the attempt until the transaction ends,
 * so that it does not end in between.
 */
export async function maySaveAsks(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  gatewayStep: number,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('network_query_attempt')
    .select('gateway_step')
    .where(({ and }) =>
      and({ query_id: requestId, source, attempt, status: 'running' }),
    )
    .forShare()
    .executeTakeFirst();
  return row?.gateway_step === gatewayStep;
}

export interface ClaimedAsk {
  gatewayId: string;
  connectionId: string;
  place: number;
  state: 'open' | 'waiting';
  /** How often it was asked, this time included. */
  tries: number;
  /** Later answers that have come so far. */
  answers: number;
  /** One of them is not used yet. */
  isAnswered: boolean;
}

/**
 * Claims gateways that are due for a step, in their order. Those that an older
 * step has claimed and not written are due. A claim whose commit was not
 * confirmed may be made again: it is the same try. The limit stands in a CTE:
 * PostgreSQL may run a subquery for each row, and then each run claims as many.
 *
 * @param except the gateways that this step is asking already
 */
export async function claimAsks(
  tx: AccountTx,
  step: SourceStepInput,
  gatewayStep: number,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<ClaimedAsk[]> {
  if (!(await maySaveAsks(tx, step, gatewayStep))) return [];
  const claimed = await rowsOf(
    tx,
    sql<ClaimedAsk>`
      with due as materialized (
        select gateway_id as id from gateway_ask
        where ${ofAttempt(step)} and state in ('open', 'waiting') and (next_try_at is null or next_try_at <= now())
          and gateway_id <> all(${uuidArray(except)}::uuid[])
        order by place limit ${limit} for update skip locked)
      update gateway_ask set claimed_step = ${gatewayStep},
        tries = tries + case when claimed_step = ${gatewayStep} then 0 else 1 end
      from due where ${ofAttempt(step)} and gateway_id = due.id
      returning gateway_id as "gatewayId", connection_id as "connectionId", place, state, tries, answers,
        answers > answers_used as "isAnswered"`,
  );
  return claimed.sort((one, other) => one.place - other.place);
}

/**
 * Ends the gateways that the step before was asking when its process ended, and
 * not for the first time: one of them ends each process that asks it.
 * @returns how many there were
 */
export async function failLastClaimed(
  tx: AccountTx,
  step: SourceStepInput,
  gatewayStep: number,
  reason: string,
): Promise<number> {
  if (!(await maySaveAsks(tx, step, gatewayStep))) return 0;
  const failed =
    await sql`update gateway_ask set state = 'failed', reason = ${reason}, claimed_step = null, ended_at = clock_timestamp()
    where ${ofAttempt(step)} and state in ('open', 'waiting') and claimed_step is not null`.execute(
      tx.db,
    );
  return Number(failed.numAffectedRows ?? 0);
}

/** What a gateway's answer, or its failure, comes to. */
export interface AskResult {
  gatewayId: string;
  state: 'open' | 'waiting' | 'found' | 'nobody' | 'failed';
  reason?: string;
  /** For `open` and `waiting`: when it is due again. */
  waitMs?: number;
  /** Of the claim: what comes after that makes it due. */
  answers: number;
}

/**
 * Writes results, in a set; those of gateways that another step has claimed by
 * now, or that were ended otherwise, are dropped.
 * @returns the gateways whose results were written
 */
export async function saveAsks(
  tx: AccountTx,
  step: SourceStepInput,
  gatewayStep: number,
  results: readonly AskResult[],
): Promise<string[]> {
  if (results.length === 0) return [];
  if (!(await maySaveAsks(tx, step, gatewayStep))) return [];
  const ids = uuidArray(results.map(({ gatewayId }) => gatewayId));
  const states = textArray(results.map(({ state }) => state));
  const reasons = textArray(results.map(({ reason }) => reason ?? null));
  const waits = integerArray(results.map(({ waitMs }) => waitMs ?? 0));
  const answers = integerArray(results.map((result) => result.answers));
  const rows = await rowsOf(
    tx,
    sql<{ id: string }>`
      update gateway_ask set state = given.state, reason = given.reason, claimed_step = null, answers_used = given.answers,
        next_try_at = case when given.state = 'waiting' and gateway_ask.answers > given.answers then now()
          when given.state in ('open', 'waiting') then now() + given.wait_ms * interval '1 millisecond' end,
        ended_at = case when given.state not in ('open', 'waiting') then clock_timestamp() end
      from unnest(${ids}::uuid[], ${states}::text[], ${reasons}::text[], ${waits}::integer[],
        ${answers}::integer[]) as given(id, state, reason, wait_ms, answers)
      where ${ofAttempt(step)} and gateway_id = given.id and claimed_step = ${gatewayStep}
        and gateway_ask.state in ('open', 'waiting')
      returning gateway_id as id`,
  );
  return rows.map(({ id }) => id);
}

/** How the gateways of an attempt stand. */
export async function countAsks(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<GatewayCounts & { nextDueMs: number | undefined }> {
  const [row] = await rowsOf(
    tx,
    sql<GatewayCounts & { next_due_ms: number | null }>`
      select count(*) as asked, count(*) filter (where state = 'found') as found,
        count(*) filter (where state = 'nobody') as nobody, count(*) filter (where state = 'failed') as failed,
        count(*) filter (where state in ('open', 'waiting')) as waiting,
        (extract(epoch from min(coalesce(next_try_at, now())) filter (where state in ('open', 'waiting')) - now()) * 1000)::float8
          as next_due_ms
      from gateway_ask where ${ofAttempt(step)}`,
  );
  const { next_due_ms = null, ...counts } = row ?? {
    asked: 0,
    found: 0,
    nobody: 0,
    failed: 0,
    waiting: 0,
  };
  return { ...counts, nextDueMs: next_due_ms ?? undefined };
}

/** So many reasons of gateways are named. */
const REASONS_MAX = 3;

/** Which gateways of an attempt failed, and why. */
export async function readSilentGateways(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<SilentGateways> {
  const reasons = await rowsOf(
    tx,
    sql<{ reason: string; gateways: number }>`
      select coalesce(reason, 'no reason') as reason, count(*) as gateways from gateway_ask
      where ${ofAttempt(step)} and state = 'failed' group by 1 order by 2 desc, 1 limit ${REASONS_MAX}`,
  );
  const first = await rowsOf(
    tx,
    sql<{ id: string; homeCommunity: string }>`
      select gateway_id as id, home_community as "homeCommunity" from gateway_ask
      where ${ofAttempt(step)} and state = 'failed' order by place limit ${NAMED_MAX}`,
  );
  const gateways = await readGateways(
    tx,
    first.map(({ id }) => id),
  );
  const names = first.map(
    ({ id, homeCommunity }) => gateways.get(id)?.name ?? homeCommunity,
  );
  return { names, reasons };
}

/** Ends what is still open of an attempt that ends, in one statement. */
export async function endOpenAsks(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<void> {
  await sql`update gateway_ask set state = 'failed', reason = 'the query ended before it answered', ended_at = clock_timestamp()
    where ${ofAttempt(step)} and state in ('open', 'waiting')`.execute(
    tx.db.later,
  );
}

/**
 * A gateway's later answer has come: it is due now.
 * @returns whether the workflow is to be told; it is not told again before its
 *   next step
 */
export async function noteAnswer(
  tx: AccountTx,
  step: Omit<SourceStepInput, 'accountId' | 'run'>,
  gatewayId: string,
): Promise<'no gateway' | 'tell' | 'told'> {
  const of = { ...step, accountId: tx.accountId, run: 0 };
  const due =
    await sql`update gateway_ask set answers = answers + 1, next_try_at = now()
    where ${ofAttempt(of)} and gateway_id::text = ${gatewayId}`.execute(tx.db);
  if (due.numAffectedRows === 0n) return 'no gateway';
  const told = await updateAttempt(tx, of)
    .set({ is_told_of_answer: true })
    .where('is_told_of_answer', '=', false)
    .executeTakeFirst();
  return told.numUpdatedRows > 0n ? 'tell' : 'told';
}
