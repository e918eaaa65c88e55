// Makes a SMART Health Link to a patient's summary, and opens it as whoever
// receives it does (docs/health-links.md):
//
// API=<gateway>/medical/v1 KEY=mdx_… node
// examples/health-link/share.mjs <id of a patient>
//
// Everything below "open" is what an app does that has the link and the
// passcode, and no key of the exchange.
import { randomInt } from 'node:crypto';
import { compactDecrypt } from 'jose';

const { API, KEY } = process.env;
const [patientId] = process.argv.slice(2);
if (API === undefined || KEY === undefined || patientId === undefined) {
  console.error(
    'Usage: API=http://…/medical/v1 KEY=mdx_… node examples/health-link/share.mjs <id of a patient>',
  );
  process.exit(2);
}

const post = async (url, body, headers = {}) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, answer: await response.json() };
};
/** The person who may open the link is told the passcode by another way. */
const passcode = String(randomInt(1e6)).padStart(6, '0');
const made = await post(
  `${API}/patient/${patientId}/health-link`,
  { passcode, isOneTime: true, expirationInSeconds: 600 },
  { 'x-api-key': KEY },
);
if (made.status !== 201) {
  console.error(made.answer.detail ?? made.answer.message);
  process.exit(1);
}
console.log(
  `${made.answer.link}\nfor a browser: ${made.answer.viewerUrl}\nuntil ${made.answer.expiresAt}`,
);

await open(made.answer.link, passcode);

async function open(link, code) {
  const { url, key } = JSON.parse(
    Buffer.from(link.replace('shlink:/', ''), 'base64url'),
  );
  const refused = await post(url, { recipient: 'Example', passcode: 'tulips' });
  console.log(
    `with a wrong passcode: ${refused.status}, ${refused.answer.remainingAttempts} attempts are left`,
  );
  const manifest = await post(url, { recipient: 'Example', passcode: code });
  const [file] = manifest.answer.files;
  // A large file is fetched from its location, which is valid for five minutes.
  const jwe = file.embedded ?? (await (await fetch(file.location)).text());
  const { plaintext } = await compactDecrypt(
    jwe,
    Buffer.from(key, 'base64url'),
  );
  const summary = JSON.parse(Buffer.from(plaintext));
  const [{ resource: composition }] = summary.entry;
  console.log(
    `opened: ${composition.title}, ${composition.section.length} sections`,
  );
  const again = await post(url, { recipient: 'Example', passcode: code });
  console.log(`opened again: ${again.status}, because it was for one time`);
}
