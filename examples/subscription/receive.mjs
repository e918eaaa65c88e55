// A receiver of FHIR Subscriptions in one file, without packages:
//
// BASE=<gateway>/fhir/R4 KEY=mdx_… node
// examples/subscription/receive.mjs ['Observation?category=laboratory' …]
//
// It subscribes to what changes about patients (the arguments are filters),
// prints the number and the focus of each event, asks for the numbers that it
// missed, and deletes its subscription when it is interrupted.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

const { BASE = '', KEY = '', ENDPOINT } = process.env;
const GUIDE =
  'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition';
const secret = randomBytes(24).toString('base64url');

async function call(method, path, body) {
  const response = await fetch(`${BASE}/${path}`, {
    method,
    headers: { 'x-api-key': KEY, 'content-type': 'application/fhir+json' },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/**
 * The parameters of the first entry, by name, with the events of the
 * notification.
 */
function statusIn({ entry: [{ resource }] }) {
  const paramOf = (list, name) =>
    Object.entries(list.find((each) => each.name === name) ?? {}).find(
      ([key]) => key.startsWith('value'),
    )?.[1];
  const events = resource.parameter.filter(
    ({ name }) => name === 'notification-event',
  );
  return {
    type: paramOf(resource.parameter, 'type'),
    events: events.map(({ part }) => ({
      number: Number(paramOf(part, 'event-number')),
      focus: paramOf(part, 'focus')?.reference ?? 'may no longer be seen',
    })),
  };
}

const seen = new Set();
function note({ number, focus }) {
  if (seen.has(number)) return; // A notification may come twice.
  seen.add(number);
  console.log(`event ${number}: ${focus}`);
}

let subscription;
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', async () => {
    if (request.headers.authorization !== `Bearer ${secret}`)
      return response.writeHead(401).end();
    const { type, events } = statusIn(JSON.parse(text));
    console.log(type);
    for (const event of events) note(event);
    response.writeHead(200).end();
    // A number that is missing: notifications may overtake each other, so a
    // real receiver waits a little before it asks.
    const last = Math.max(0, ...seen);
    const missing = Array.from(
      { length: last },
      (_, index) => index + 1,
    ).filter((number) => !seen.has(number));
    if (missing.length === 0 || subscription === undefined) return;
    const query = `eventsSinceNumber=${missing[0]}&eventsUntilNumber=${missing.at(-1)}`;
    try {
      const { events: missed } = statusIn(
        await call('GET', `Subscription/${subscription.id}/$events?${query}`),
      );
      for (const event of missed) note(event);
    } catch (error) {
      console.log(`cannot ask for what is missing now: ${error.message}`); // The next notification asks again.
    }
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

subscription = await call('POST', 'Subscription', {
  resourceType: 'Subscription',
  status: 'requested',
  reason: 'Example',
  criteria: 'http://hl7.org/fhir/us/core/SubscriptionTopic/patient-data-feed',
  _criteria: {
    extension: process.argv.slice(2).map((filter) => ({
      url: `${GUIDE}/backport-filter-criteria`,
      valueString: filter,
    })),
  },
  channel: {
    type: 'rest-hook',
    endpoint: ENDPOINT ?? `http://127.0.0.1:${server.address().port}/`,
    header: [`Authorization: Bearer ${secret}`],
    payload: 'application/fhir+json',
    _payload: {
      extension: [
        { url: `${GUIDE}/backport-payload-content`, valueCode: 'id-only' },
      ],
    },
  },
});
console.log(`subscription ${subscription.id}`);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await call('DELETE', `Subscription/${subscription.id}`);
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
