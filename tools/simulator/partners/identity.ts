import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { escapeHtml } from '../../../src/lib/escape.ts';
import { sendNoticePage } from '../../../src/lib/pages/notice-page.ts';
import { minuteOf } from '../../../src/lib/time.ts';
import type { PartnerSettings } from './settings.ts';
import { SignedCalls } from './signed-call.ts';

const opening = z.object({
  reference: z.uuid(),
  callbackUrl: z.url(),
  returnUrl: z.url(),
  expiresAt: z.iso.datetime(),
});
const sessionOpening = opening.extend({
  person: z.object({
    firstNames: z.array(z.string()).min(1),
    lastNames: z.array(z.string()).min(1),
    dob: z.iso.date(),
  }),
});
const challengeOpening = opening.extend({ subject: z.string() });

interface Verification {
  kind: 'session' | 'challenge';
  opened: z.output<typeof opening>;
  person?: z.output<typeof sessionOpening>['person'];
}

/**
 * The stand-in identity partner. It verifies nothing: pressing the button
 * counts as proof of identity. Sessions are kept in memory only.
 */
export async function identityRoutes(
  app: FastifyInstance,
  options: { secret: string; settings: PartnerSettings; publicUrl?: string },
): Promise<void> {
  const calls = new SignedCalls(options.secret);
  const verifications = new Map<string, Verification>();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );

  const open = (kind: Verification['kind'], schema: typeof opening) =>
    app.post(`/${kind}s`, (request, reply) => {
      const text = String(request.body ?? '');
      if (options.settings.identity.down)
        return reply.code(503).send({ error: 'down' });
      if (!calls.isGenuine(request.headers, text))
        return reply.code(401).send({ error: 'missing or invalid signature' });
      const parsed = schema.safeParse(JSON.parse(text));
      if (!parsed.success)
        return reply.code(400).send({ error: z.prettifyError(parsed.error) });
      const id = randomUUID();
      const { person } = parsed.data as Partial<
        z.output<typeof sessionOpening>
      >;
      const verification = { kind, opened: parsed.data, person };
      verifications.set(id, verification);
      if (options.settings.identity.verifies === 'at-once')
        void reportLater(verification);
      const origin = options.publicUrl ?? `http://${request.headers.host}`;
      return {
        url: `${origin}/identity/verify/${id}`,
        ...(kind === 'challenge' && { method: 'otp' }),
      };
    });
  open('session', sessionOpening);
  open('challenge', challengeOpening);

  async function reportLater(verification: Verification): Promise<void> {
    await sleep(options.settings.identity.delayMs, undefined, { ref: false });
    await report(verification, options.settings.identity.outcome);
  }

  async function report(
    { kind, opened, person }: Verification,
    outcome: string,
  ): Promise<void> {
    const { reference, callbackUrl } = opened;
    const isVerified = outcome !== 'failed';
    const shown =
      outcome === 'somebody-else' ? ELSE : { ...person, dob: person?.dob };
    const content = {
      type: `${kind}.${isVerified ? 'verified' : 'failed'}`,
      reference,
      ...(kind === 'session' &&
        isVerified && {
          subject: `subject-${reference}`,
          person: {
            firstName: shown.firstNames?.[0],
            lastName: shown.lastNames?.[0],
            dob: shown.dob,
          },
        }),
    };
    for (let times = 0; times < options.settings.identity.callbacks; times++)
      await calls.post(callbackUrl, `msg_${reference}`, content);
  }

  const page = (reply: FastifyReply, content: string) =>
    sendNoticePage(reply, 'Simulated identity partner', content);

  app.get<{ Params: { id: string } }>('/verify/:id', (request, reply) => {
    const verification = verifications.get(request.params.id);
    if (verification === undefined)
      return page(reply.code(404), '<p>There is no such verification.</p>');
    const { kind, opened, person } = verification;
    return page(reply, identityPage({ kind, person, ...opened }));
  });

  app.post<{ Params: { id: string } }>(
    '/verify/:id',
    async (request, reply) => {
      const verification = verifications.get(request.params.id);
      if (verification === undefined)
        return page(reply.code(404), '<p>There is no such verification.</p>');
      const chosen = new URLSearchParams(String(request.body ?? '')).get(
        'outcome',
      );
      await report(
        verification,
        chosen === 'failed' ? 'failed' : options.settings.identity.outcome,
      );
      return reply.redirect(verification.opened.returnUrl, 303);
    },
  );
}

const ELSE = {
  firstNames: ['Somebody'],
  lastNames: ['Else'],
  dob: '1950-01-01',
};

/** What the page of a verification says. */
interface Asked {
  kind: 'session' | 'challenge';
  person?: {
    firstNames: readonly string[];
    lastNames: readonly string[];
    dob: string;
  };
  /** Where the browser goes afterwards. */
  returnUrl: string;
  expiresAt: string;
}

/**
 * The page of the stand-in identity partner: who is asked, for what, by whom,
 * and what each button leads to.
 */
export function identityPage({
  kind,
  person,
  returnUrl,
  expiresAt,
}: Asked): string {
  const who =
    person === undefined
      ? 'You are'
      : `${[...person.firstNames, ...person.lastNames].join(' ')}, born ${person.dob}, is`;
  const host = new URL(returnUrl).host;
  const [task, button] =
    kind === 'session'
      ? ['to confirm who they are', 'Confirm that I am this patient']
      : ['to sign in with a second factor', 'Sign in with two factors'];
  return `<p>${escapeHtml(who)} asked ${task}.</p>
<p>Asked by the application at ${escapeHtml(host)}, which wants to collect this patient's medical records from the health networks
for the patient (individual access).</p>
<ul>
<li>${button}: you return to ${escapeHtml(host)}. The records are requested when no further step is open.</li>
<li>Fail: nothing is requested. The application learns only that the identity was not confirmed.</li>
</ul>
<p>The link is valid until ${minuteOf(new Date(expiresAt))}. This partner is simulated: it verifies nothing.</p>
<form method="post"><button name="outcome" value="verified">${button}</button> <button name="outcome" value="failed">Fail</button></form>`;
}
