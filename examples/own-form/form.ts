import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';

/**
 * A form of your own: what it is sent becomes a signed intake at the receiver,
 * which starts an onboarding.
 */
const dataDir =
  process.env.DATA_DIR ??
  fileURLToPath(new URL('../../.data', import.meta.url));
const PORT = Number(process.env.FORM_PORT ?? 8090);
const BODY_BYTES_MAX = 10_000;

const server = createServer(async (request, response) => {
  const send = (status: number, type: string, text: string) =>
    response
      .writeHead(status, { 'content-type': `${type}; charset=utf-8` })
      .end(text);
  try {
    if (request.url !== '/')
      return send(404, 'text/plain', 'The form is at /\n');
    if (request.method !== 'POST')
      return send(
        200,
        'text/html',
        await readFile(new URL('form.html', import.meta.url), 'utf8'),
      );
    const { status, text } = await postIntake(
      intakeOf(new URLSearchParams(await bodyOf(request))),
    );
    send(status, 'text/plain', text);
  } catch (error) {
    console.error(error);
    send(
      502,
      'text/plain',
      'The request could not be passed on. Is "npm start" running?\n',
    );
  }
});
server.listen(PORT, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object')
    console.log(`The form: http://127.0.0.1:${address?.port}`);
});

/**
 * The job id is made of the patient's id, so that a form that is sent twice
 * starts one onboarding.
 */
function intakeOf(form: URLSearchParams) {
  const field = (name: string) => form.get(name) ?? '';
  const externalId = field('externalId');
  return {
    jobId: `form-${externalId}`,
    patient: {
      firstName: field('firstName'),
      lastName: field('lastName'),
      dob: field('dob'),
      genderAtBirth: field('genderAtBirth'),
      address: [
        {
          addressLine1: field('addressLine1'),
          city: field('city'),
          state: field('state'),
          zip: field('zip'),
          country: 'USA',
        },
      ],
      contact: [{ phone: field('phone') }],
      externalId,
    },
  };
}

async function postIntake(
  intake: ReturnType<typeof intakeOf>,
): Promise<{ status: number; text: string }> {
  const { receiverUrl, facilityId } = await readJson('connection.json');
  const { intakeKey = '' } = await readJson('secrets.json');
  const body = JSON.stringify({ ...intake, facilityId });
  // The same patient data is the same message, however often it is sent.
  const id = createHash('sha256').update(body).digest('hex').slice(0, 32);
  const now = new Date();
  const answer = await fetch(`${receiverUrl}/intake`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(intakeKey).sign(id, now, body),
    },
    body,
  });
  if (answer.status !== 202) {
    const { detail } = (await answer.json()) as { detail?: string };
    return { status: answer.status, text: `Not accepted: ${detail}\n` };
  }
  return {
    status: 202,
    text: `Accepted. Follow it with: npm run starter -- status ${intake.jobId} --wait\n`,
  };
}

const readJson = async (
  file: string,
): Promise<Record<string, string | undefined>> =>
  JSON.parse(await readFile(join(dataDir, file), 'utf8'));

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > BODY_BYTES_MAX) throw new Error('the form is too large');
  }
  return text;
}
