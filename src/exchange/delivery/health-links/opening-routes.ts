import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { TEXT_LENGTH_MAX } from '../../../contract/bounds.ts';
import type { HealthLink } from '../../../contract/health-links.ts';
import { FairQueue, QueueFullError } from '../../../lib/lanes.ts';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { ExchangeError, OverloadError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import { countRequest } from '../../platform/http/plugins/request-share.ts';
import { auditLink } from '../../platform/http/signed-link-route.ts';
import { strangersLookUp } from '../../platform/limits/strangers-look-up.ts';
import { signLink, verifyLink } from '../../platform/links/signed-link.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { ipsDocument } from '../fhir-api/summary/ips-document.ts';
import {
  encrypted,
  HEALTH_LINK_PATH,
  healthLinkKey,
  isPasscode,
  SECRET,
  sha256,
} from './health-link.ts';

export type OpeningDeps = Pick<
  GatewayPlatform,
  'store' | 'linkSigningKey' | 'publicBaseUrl'
> & {
  records: RecordKeeper;
};
interface Link extends Pick<HealthLink, 'id' | 'isOneTime' | 'status'> {
  accountId: string;
  patientId: string;
  keySha256: Buffer;
  passcode: Buffer | null;
  attemptsLeft: number;
  isDenied: boolean;
  openedLately: number;
}
type ByLink = FastifyRequest<{ Params: { secret: string } }>;

const OPENED = sqlFile('opened-link.sql', import.meta.url);
const OPENING = sqlFile('opening.sql', import.meta.url);

const NAMELESS = {
  error: 'is required: who opens the link, a person or an organization',
};
const recipient = z
  .string(NAMELESS)
  .trim()
  .min(1, NAMELESS)
  .max(TEXT_LENGTH_MAX);
const passcode = z.string().max(TEXT_LENGTH_MAX).default('');
const manifestBody = z.object({
  recipient,
  passcode,
  embeddedLengthMax: z.int().min(0).optional(),
});

const OPENINGS_PER_MINUTE = 10;
/**
 * Documents and passcodes that a gateway works on: of the holder of one link
 * one at a time.
 */
const DOCUMENTS = {
  atOnce: 2,
  ofOneAtOnce: 1,
  waiting: 64,
  ofOneWaiting: 2 * OPENINGS_PER_MINUTE,
};
const FILE_LIFETIME_MS = 5 * 60_000;
const JOSE = 'application/jose';

/**
 * The same for every link that does not open, so that nothing can be learned
 * from it.
 */
const ended = () =>
  new ExchangeError(404, 'There is no such health link, or it has ended');

/** Before the document is made, and again when the opening is noted. */
function refuseTooOften({ openedLately }: Link): void {
  if (openedLately >= OPENINGS_PER_MINUTE)
    throw new ExchangeError(429, TOO_OFTEN, {
      headers: { 'retry-after': '60' },
    });
}
const TOO_OFTEN = `This link was opened ${OPENINGS_PER_MINUTE} times in the last minute; try again later`;

/**
 * What a SMART Health Link addresses, without an API key: its manifest (POST),
 * and the file that a manifest names (GET). The document is made when it is
 * asked for, so it is under the consents and policies of that moment.
 */
export function addOpeningRoutes(
  app: FastifyInstance,
  deps: OpeningDeps,
): void {
  const { store, linkSigningKey, publicBaseUrl } = deps;
  const path = `${HEALTH_LINK_PATH}/:secret`;
  const schema = { hide: true };
  const config = { operation: 'openHealthLink' };
  // Viewers of others run in browsers, which ask before they send.
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'content-type',
    });
    reply.header('cache-control', 'no-store');
  });
  app.options(
    `${HEALTH_LINK_PATH}/*`,
    { schema, config },
    async (_request, reply) => reply.code(204).send(),
  );

  const turns = new FairQueue(DOCUMENTS);
  /** One after the other for a link, and a few at a time in all. */
  const inTurn = <T>({ id }: Link, work: () => Promise<T>): Promise<T> =>
    turns.run(id, work).catch((error: unknown) => {
      if (error instanceof QueueFullError)
        throw new OverloadError(
          'gateway',
          'Too many health links are being opened; try again shortly',
        );
      throw error;
    });

  app.post<{ Params: { secret: string }; Body: z.output<typeof manifestBody> }>(
    path,
    { bodyLimit: 8_192, schema: { ...schema, body: manifestBody }, config },
    async (request, reply) => {
      const { recipient: by, ...wanted } = request.body;
      const link = await readLink(request);
      refuseTooOften(link);
      return inTurn(link, async () => {
        // Those before it may have used up what the link allows.
        const current = await readLink(request);
        refuseTooOften(current);
        await requirePasscode(request, current, wanted.passcode);
        const { embeddedLengthMax = Number.POSITIVE_INFINITY } = wanted;
        const embedded =
          embeddedLengthMax === 0
            ? undefined
            : await fileOf(request, reply, current);
        const target = {
          accountId: current.accountId,
          targetId: await noteOpening(request, by),
        };
        const token = signLink(
          linkSigningKey,
          'health-link-file',
          target,
          Date.now() + FILE_LIFETIME_MS,
        );
        const location = `${publicBaseUrl}${HEALTH_LINK_PATH}/${request.params.secret}/file/${token}`;
        const isEmbedded =
          embedded !== undefined && embedded.length <= embeddedLengthMax;
        const file = {
          contentType: 'application/fhir+json',
          ...(isEmbedded ? { embedded } : { location }),
        };
        return reply.send({
          files: [file],
          status: current.isOneTime ? 'finalized' : 'can-change',
        });
      });
    },
  );

  app.get<{ Params: { secret: string; token: string } }>(
    `${path}/file/:token`,
    {
      exposeHeadRoute: false,
      schema,
      config: { operation: 'readHealthLinkFile' },
    },
    async (request, reply) => {
      const named = verifyLink(
        linkSigningKey,
        'health-link-file',
        request.params.token,
      );
      if (named.kind !== 'valid') throw ended();
      const link = await readLink(request, 'used');
      return inTurn(link, async () => {
        const isNew = await store.asAccount(link.accountId, (tx) =>
          isUnread(tx, named.targetId, link.id),
        );
        if (!isNew) throw ended();
        const file = await fileOf(request, reply, link);
        await withLink(
          request,
          async (tx, { id, patientId }) => {
            const { numAffectedRows } =
              await sql`update health_link_opening set fetched_at = now()
            where id = ${named.targetId} and link_id = ${id} and fetched_at is null`.execute(
                tx.db,
              );
            if (numAffectedRows !== 1n) throw ended();
            await auditLink(tx, request, {
              operation: 'readHealthLinkFile',
              patientId,
              targetId: id,
            });
          },
          'used',
        );
        return reply.type(JOSE).send(file);
      });
    },
  );

  const accountOf = strangersLookUp(store, (hashes) =>
    store.asSystem((tx) => accountsOfLinks(tx, hashes)),
  );

  /**
   * The link as it is now, which nothing locks.
   *
   * @throws ExchangeError 404 unless it opens now (or has the status `also`)
   */
  async function readLink(
    request: ByLink,
    also?: Link['status'],
  ): Promise<Link> {
    const accountId = await ownerOf(request);
    return store.asAccount(accountId, (tx) => linkIn(tx, request, also));
  }

  /** Works with the link in one transaction that locks it. @throws as readLink */
  async function withLink<T>(
    request: ByLink,
    work: (tx: AccountTx, link: Link) => Promise<T>,
    also?: Link['status'],
  ): Promise<T> {
    const accountId = await ownerOf(request);
    const hash = sha256(request.params.secret);
    return store.asAccount(accountId, async (tx) => {
      // First, in a statement of its own: what is counted after it includes
      // what others did while this one waited for the lock.
      await sql`select from health_link where secret_sha256 = ${hash} for update`.execute(
        tx.db.later,
      );
      return work(tx, await linkIn(tx, request, also));
    });
  }

  async function ownerOf({ params: { secret } }: ByLink): Promise<string> {
    const accountId = SECRET.test(secret)
      ? await accountOf(sha256(secret).toString('hex'))
      : undefined;
    if (accountId === undefined) throw ended();
    return accountId;
  }

  async function linkIn(
    tx: AccountTx,
    request: ByLink,
    also?: Link['status'],
  ): Promise<Link> {
    const { secret } = request.params;
    const [link] = (await OPENED<Link>({ hash: sha256(secret) }).execute(tx.db))
      .rows;
    if (link === undefined) throw ended();
    request.refusalNotes = {
      by: { accountId: tx.accountId, actor: 'link' },
      targetId: link.id,
    };
    const isOfKey = link.keySha256.equals(
      sha256(healthLinkKey(linkSigningKey, secret)),
    );
    if (!['active', also].includes(link.status) || link.isDenied || !isOfKey)
      throw ended();
    return link;
  }

  /**
   * Compares the passcode, which takes its time, while nothing is locked; what
   * came of it is only said under the lock that counts it.
   *
   * @throws ExchangeError 401 for a wrong one
   */
  async function requirePasscode(
    request: ByLink,
    { passcode: stored }: Link,
    given: string,
  ): Promise<void> {
    if (stored === null || (await isPasscode(stored, given))) return;
    const remainingAttempts = await withLink(
      request,
      async (tx, { id, attemptsLeft }) => {
        await sql`update health_link set attempts_left = attempts_left - 1 where id = ${id}`.execute(
          tx.db,
        );
        return attemptsLeft - 1;
      },
    );
    throw new ExchangeError(401, 'The passcode is wrong or missing', {
      code: 'wrong-passcode',
      members: { remainingAttempts },
    });
  }

  async function fileOf(
    request: ByLink,
    reply: FastifyReply,
    link: Link,
  ): Promise<string> {
    const { accountId, patientId } = link;
    countRequest(request, reply, accountId);
    await deps.records.merge(accountId, patientId);
    const document = await ipsDocument(store, {
      accountId,
      patientId,
      base: `${publicBaseUrl}${FHIR_PATH}`,
    });
    return encrypted(
      healthLinkKey(linkSigningKey, request.params.secret),
      fhirJson(document),
    );
  }

  /** Notes who opened the link, in one transaction with its use. */
  const noteOpening = (request: ByLink, by: string): Promise<string> =>
    withLink(request, async (tx, link) => {
      refuseTooOften(link);
      const { id: linkId, accountId, patientId } = link;
      const opening = {
        id: uuidv7(),
        linkId,
        accountId,
        patientId,
        recipient: by,
        remoteAddress: request.ip,
      };
      await OPENING(opening).execute(tx.db);
      await auditLink(tx, request, {
        operation: 'openHealthLink',
        patientId,
        targetId: linkId,
      });
      return opening.id;
    });
}

/** The account of each of these links, by the hash of its secret in hex. */
async function accountsOfLinks(
  { db }: SystemTx,
  hashes: readonly string[],
): Promise<Map<string, string>> {
  const secrets = hashes.map((hash) => Buffer.from(hash, 'hex'));
  const { rows } = await sql<{ hash: Buffer; accountId: string }>`
    select secret_sha256 as hash, account_id as "accountId" from health_link
    where secret_sha256 = any(${secrets}::bytea[])`.execute(db);
  return new Map(
    rows.map(({ hash, accountId }) => [hash.toString('hex'), accountId]),
  );
}

/** Whether the file that an opening named has not been read yet. */
async function isUnread(
  { db }: AccountTx,
  openingId: string,
  linkId: string,
): Promise<boolean> {
  const { rows } = await sql`select from health_link_opening
    where id = ${openingId} and link_id = ${linkId} and fetched_at is null`.execute(
    db,
  );
  return rows.length > 0;
}
